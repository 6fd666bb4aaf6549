//! Sends a call to a replica and brings the answer back.
//!
//! As long as no byte has gone to the client, a replica that fails is replaced by another, once.

use crate::answer::chat_stream::ChatStream;
use crate::answer::{Meter, Nonsense, chat, embeddings, upstream_error};
use crate::body::{AnswerBody, Served, StreamBody};
use crate::probe::{Ask, Streaming};
use crate::refusal::{Refusal, Rejection};
use crate::resolve::Target;
use crate::upstream::Exchange;
use crate::{Answer, Call, Dataplane, Form, hold};
use bytes::{Bytes, BytesMut};
use domain::model::Upstream;
use fleet::backend::BackendId;
use fleet::connect::is_local_failure;
use fleet::{Backend, Lease};
use http::StatusCode;
use http1::ResponseHead;
use http1::client::{CollectError, ExchangeError, Request};
use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};

/// The most bytes of an answer that comes at once.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// The most bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// The longest wait that an engine may ask for; the timers of some clients overflow on more.
const MAX_RETRY_AFTER_SECS: u64 = 3600;
/// Small requests are copied into one piece, which is cheaper than writing several.
const COPY_BELOW: usize = 16 << 10;
/// More than the head of a request has, as a rule.
const ROOM_FOR_HEAD: usize = 512;

/// What a replica did wrong.
#[derive(Debug)]
enum Failure {
    /// Nobody answers at its address.
    Unreachable(String),
    /// It broke off without an answer.
    Lost(String),
    /// It answered with an error of its own, or made no sense.
    Bad(String),
    /// We could not even try; that is not its fault.
    Ours(String),
    /// It has no room.
    Busy { retry_after_secs: Option<u64> },
    /// Another replica would do no better.
    Final(Refusal),
}

impl Failure {
    fn into_refusal(self, target: &Target) -> Refusal {
        match self {
            Self::Busy { .. } if matches!(target, Target::Dedicated(_)) => Refusal::Overloaded,
            Self::Unreachable(_) | Self::Ours(_) => Refusal::NotServing { retry_after_secs: None },
            Self::Lost(cause) | Self::Bad(cause) => Refusal::BadGateway { cause },
            Self::Busy { retry_after_secs } => Refusal::NotServing { retry_after_secs },
            Self::Final(refusal) => refusal,
        }
    }

    /// In one word, for a trace.
    fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Lost(_) | Self::Bad(_) => "bad_gateway",
            Self::Ours(_) => "no_connection",
            Self::Busy { .. } => "busy",
            Self::Final(refusal) => refusal.code(),
        }
    }

    fn cause(&self) -> Option<String> {
        match self {
            Self::Unreachable(cause) | Self::Lost(cause) | Self::Bad(cause) | Self::Ours(cause) => Some(cause.clone()),
            Self::Busy { .. } => Some("the replica has no room".into()),
            Self::Final(_) => None,
        }
    }
}

/// What a replica answered, ready for the client.
enum Brought {
    Whole(Bytes, Meter),
    Stream(Box<StreamBody>),
}

impl Dataplane {
    pub(crate) async fn relay(&self, target: Target, mut lease: Lease, call: &mut Call) -> Result<Answer, Refusal> {
        let mut tried = Vec::new();
        let mut retried = false;
        let mut may_resend = true;
        loop {
            let began = call.begin_attempt(lease.replica());
            let failure = match self.attempt(lease.replica(), call, began, &mut may_resend).await {
                Ok(brought) => return Ok(self.hand_over(brought, lease, call)),
                Err(failure) => failure,
            };
            judge(lease.replica(), &failure);
            call.tap.attempt_failed(failure.reason());
            tried.push(lease.replica().id);
            drop(lease);
            match Box::pin(self.elsewhere(&target, call, &failure, &tried, &mut retried)).await {
                Some(Ok(next)) => lease = next,
                Some(Err(refusal)) => return Err(refusal),
                None => {
                    let cause = failure.cause();
                    call.tap.note(|record| record.cause = cause);
                    return Err(failure.into_refusal(&target));
                }
            }
        }
    }

    /// Another place for a call that was not answered. One that failed is tried once more; one that found no room at a
    /// replica of an endpoint asks all others, too, before it is told so.
    async fn elsewhere(
        &self,
        target: &Target,
        call: &Call,
        failure: &Failure,
        tried: &[BackendId],
        retried: &mut bool,
    ) -> Option<Result<Lease, Refusal>> {
        let asks_all = matches!((failure, target), (Failure::Busy { .. }, Target::Dedicated(_)));
        if matches!(failure, Failure::Final(_)) || (*retried && !asks_all) {
            return None;
        }
        *retried |= !asks_all;
        let seeker = call.seeker(tried);
        if let Ok(lease) = target.route().pool.pick(seeker.prefix, tried, Instant::now()) {
            return Some(Ok(lease));
        }
        match (failure, target, tried.last()) {
            (Failure::Unreachable(_) | Failure::Lost(_), Target::Dedicated(endpoint), Some(lost)) => {
                hold::replace(endpoint, *lost, seeker).await
            }
            _ => None,
        }
    }

    /// One replica, one try.
    async fn attempt(
        &self,
        replica: &Backend,
        call: &Call,
        began: Instant,
        may_resend: &mut bool,
    ) -> Result<Brought, Failure> {
        let limit = self.timeouts.first_byte;
        tokio::time::timeout_at((began + limit).into(), pin!(self.exchange(replica, call, may_resend)))
            .await
            .unwrap_or(Err(Failure::Final(Refusal::UpstreamTimeout { limit })))
    }

    async fn exchange(&self, replica: &Backend, call: &Call, may_resend: &mut bool) -> Result<Brought, Failure> {
        let exchange = self.send(replica, call, may_resend).await?;
        match &call.probe.ask {
            Ask::Chat { streaming: Some(streaming) } => open_stream(exchange, streaming, call).await,
            Ask::Chat { streaming: None } | Ask::Embeddings(_) => bring_whole(exchange, call, self.timeouts.idle).await,
        }
    }

    /// Sends the request and waits for a good head.
    async fn send(&self, replica: &Backend, call: &Call, may_resend: &mut bool) -> Result<Exchange, Failure> {
        let request = self.request(replica, call);
        let mut connection = self.connections.get(replica).await.map_err(|error| connect_failure(&error))?;
        let mut sent = connection.send(&request).await;
        if sent.is_err() && connection.was_used && std::mem::take(may_resend) {
            // Usually the replica closed an idle connection just as it was taken, which is not a failure.
            connection = Box::pin(self.connections.open(replica)).await.map_err(|error| connect_failure(&error))?;
            sent = connection.send(&request).await;
        }
        self.connections.pool.put_back_buffer(request.start);
        let head = sent.map_err(|error| Failure::Lost(format!("no answer: {error}")))?;
        let mut exchange = self.connections.exchange(connection, replica);
        if head.status != StatusCode::OK {
            let body = exchange.collect(MAX_ERROR_BYTES, self.timeouts.idle).await.unwrap_or_default();
            return Err(refused(&head, &body));
        }
        if call.probe.is_stream() != head.is_event_stream() || head.is_encoded {
            return Err(Failure::Bad(format!("an answer of type {}", head.media_type)));
        }
        Ok(exchange)
    }

    /// The request as it is written: the head, and the client's body with what was changed in it.
    fn request(&self, replica: &Backend, call: &Call) -> Request {
        let Upstream { model, continuous_usage, .. } = &replica.upstream;
        let edits = call.probe.upstream_edits(model, *continuous_usage, call.tap.clamp());
        let body = &call.probe.body;
        let length = edits.length(body.len());
        let is_small = body.len() < COPY_BELOW;
        let mut start = self.connections.pool.take_buffer(ROOM_FOR_HEAD + if is_small { length } else { 0 });
        write_head(replica, call, length, &mut start);
        if is_small {
            edits.write_to(body, &mut start);
            return Request { start, rest: Vec::new() };
        }
        Request { start, rest: edits.pieces(body) }
    }

    fn hand_over(&self, brought: Brought, lease: Lease, call: &mut Call) -> Answer {
        let mut tap = call.tap.take();
        tap.first_byte();
        let standings = tap.standings();
        lease.replica().succeeded();
        match brought {
            Brought::Whole(bytes, meter) => {
                tap.meter(&meter);
                Answer { form: Form::Json, standings, body: AnswerBody::whole(bytes, tap) }
            }
            Brought::Stream(mut stream) => {
                tap.note(|record| record.streamed = true);
                let cut = self.cut.subscribe();
                stream.begin(Served { lease, tap, dress: call.dress }, self.timeouts.idle, cut);
                Answer { form: Form::EventStream, standings, body: AnswerBody::Stream(stream) }
            }
        }
    }
}

async fn bring_whole(mut exchange: Exchange, call: &Call, silence: Duration) -> Result<Brought, Failure> {
    let whole = exchange.collect(MAX_ANSWER_BYTES, silence).await.map_err(|error| match error {
        CollectError::Exchange(ExchangeError::Stalled(limit)) => Failure::Final(Refusal::UpstreamTimeout { limit }),
        CollectError::Exchange(error) => broken(&error),
        other @ CollectError::TooLarge(_) => Failure::Bad(other.to_string()),
    })?;
    let mut meter = Meter::new(call.probe.prompt_bytes());
    let model = &call.probe.model;
    let put_right = match &call.probe.ask {
        Ask::Chat { .. } => chat::put_right(&whole, model, &mut meter),
        Ask::Embeddings(wanted) => embeddings::put_right(&whole, model, wanted, &mut meter),
    };
    put_right.map(|answer| Brought::Whole(answer, meter)).map_err(nonsense)
}

/// Waits for the first event, so that whatever fails before it is an error with a status of its own.
async fn open_stream(mut exchange: Exchange, streaming: &Streaming, call: &Call) -> Result<Brought, Failure> {
    let mut stream = ChatStream::new(&call.probe.model, streaming, call.probe.prompt_bytes());
    loop {
        let written = match exchange.data().await {
            Some(Ok(data)) => stream.pass(data),
            Some(Err(error)) => return Err(broken(&error)),
            None => stream.end(),
        };
        let (written, broken) = match written {
            Ok(written) => (written, None),
            Err(error) => (stream.take_written(), Some(error)),
        };
        match broken {
            // What was whole goes out first, and the stream breaks behind it.
            _ if !written.is_empty() => {
                return Ok(Brought::Stream(Box::new(StreamBody::new(written, broken, exchange, stream))));
            }
            Some(error) => return Err(nonsense(error)),
            None => {}
        }
    }
}

fn judge(replica: &Backend, failure: &Failure) {
    match failure {
        Failure::Unreachable(cause) => {
            if replica.unreachable() {
                tracing::warn!(replica.name = %replica.name, cause, "replica {} cannot be reached", replica.name);
            }
        }
        Failure::Lost(_) | Failure::Bad(_) | Failure::Final(Refusal::UpstreamTimeout { .. }) => {
            replica.failed(Instant::now());
        }
        Failure::Ours(cause) => tracing::error!(cause, "no connection could be opened"),
        Failure::Busy { .. } | Failure::Final(_) => {}
    }
}

fn connect_failure(error: &io::Error) -> Failure {
    let cause = format!("cannot connect: {error}");
    if is_local_failure(error) { Failure::Ours(cause) } else { Failure::Unreachable(cause) }
}

fn broken(error: &ExchangeError) -> Failure {
    match error {
        ExchangeError::Connection(_) => Failure::Lost(error.to_string()),
        ExchangeError::Stalled(_) => Failure::Bad(error.to_string()),
    }
}

fn nonsense(error: Nonsense) -> Failure {
    match error {
        Nonsense::Ignored(param) => {
            Failure::Final(Refusal::Invalid { param: param.into(), why: "is not supported by this model".into() })
        }
        other @ (Nonsense::NotJson(_) | Nonsense::Unexpected(_) | Nonsense::Reported(_)) => {
            Failure::Bad(other.to_string())
        }
    }
}

/// What a status other than 200 means.
fn refused(head: &ResponseHead, body: &[u8]) -> Failure {
    let rejection = match head.status {
        StatusCode::BAD_REQUEST => Rejection::BadRequest,
        StatusCode::PAYLOAD_TOO_LARGE => Rejection::TooLarge,
        StatusCode::UNPROCESSABLE_ENTITY => Rejection::Unprocessable,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let seconds = head.retry_after_secs.map(|seconds| seconds.min(MAX_RETRY_AFTER_SECS));
            return Failure::Busy { retry_after_secs: seconds };
        }
        status if status.is_server_error() => {
            return Failure::Bad(format!("status {}: {}", status.as_u16(), upstream_error::message(body)));
        }
        status => {
            let cause = format!("status {}: {}", status.as_u16(), upstream_error::message(body));
            return Failure::Final(Refusal::BadGateway { cause });
        }
    };
    let error = upstream_error::read(body);
    let message = if error.message.is_empty() { "the model refused the request".into() } else { error.message };
    Failure::Final(Refusal::Rejected {
        status: rejection,
        message,
        param: error.param,
        context_length: error.context_length,
    })
}

/// What is the same for every call, then what is this call's own.
fn write_head(replica: &Backend, call: &Call, length: usize, text: &mut BytesMut) {
    text.extend_from_slice(match call.probe.ask {
        Ask::Chat { .. } => &replica.template.chat,
        Ask::Embeddings(_) => &replica.template.embeddings,
    });
    for (name, value) in &call.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"x-request-id: ");
    text.extend_from_slice(call.tap.request().as_bytes());
    text.extend_from_slice(b"\r\ncontent-length: ");
    text.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    text.extend_from_slice(b"\r\n\r\n");
}
