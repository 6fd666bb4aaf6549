//! Sends a call to a replica and returns its response.
//!
//! Until the first byte has gone to the client, a replica that fails is replaced by another one, once. A request that was
//! written and lost may have ended the engine, so it is written at most twice in all, see [`crate::quarantine`].

use crate::body::{ResponseBody, StreamBody, StreamContext};
use crate::error::{CallError, UpstreamRejection};
use crate::json::edits::Edits;
use crate::quarantine::MAX_LOSSES;
use crate::request::{Operation, StreamOptions};
use crate::resolve::Target;
use crate::response::chat_stream::ChatStream;
use crate::response::{BadUpstreamResponse, TokenMeter, chat, embeddings, upstream_error};
use crate::response_memory::{BodyGrant, NoBodyMemory, ResponseMemory};
use crate::translate::Dialect;
use crate::upstream::Exchange;
use crate::{Call, Dataplane, PlacementNote, Response, ResponseFormat, hold};
use bytes::{Bytes, BytesMut};
use domain::model::Upstream;
use fleet::backend::BackendId;
use fleet::connect::is_local_failure;
use fleet::{Backend, Slot};
use http::StatusCode;
use http1::ResponseHead;
use http1::client::{CollectError, ExchangeError, Request, SendError};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// The maximum size of a response that is not streamed.
const MAX_RESPONSE_BYTES: usize = 64 << 20;
/// A larger response is normalized on another thread.
const NORMALIZE_INLINE: usize = 128 << 10;
/// The maximum size of an error body.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// The maximum `Retry-After` of an engine; the timers of some clients overflow on more.
const MAX_RETRY_AFTER_SECS: u64 = 3600;
/// Smaller requests are copied into one buffer, which is cheaper than a vectored write.
const COPY_BELOW: usize = 16 << 10;
/// Enough for the head of nearly every request.
const HEAD_CAPACITY: usize = 512;

/// Why one attempt at a replica failed.
#[derive(Debug)]
enum AttemptError {
    /// The replica does not accept connections.
    Unreachable(String),
    /// The connection broke before the request was written, or inside of the response.
    Lost(String),
    /// The connection broke after the request was written and before the response began: the request may have ended the
    /// engine, or the replica closed a connection from the pool just as it was taken.
    Crashed { cause: String, on_reused: bool },
    /// The replica returned a server error or an invalid response.
    Bad(String),
    /// No connection could be opened for a reason on our side.
    Ours(String),
    /// The replica is at its capacity.
    Busy { retry_after_secs: Option<u64> },
    /// Another replica would return the same.
    Final(CallError),
}

impl AttemptError {
    fn into_call_error(self, target: &Target) -> CallError {
        match self {
            Self::Busy { .. } if matches!(target, Target::Dedicated(_)) => CallError::Overloaded,
            Self::Unreachable(_) | Self::Ours(_) => CallError::NotServing { retry_after_secs: None },
            Self::Lost(cause) | Self::Crashed { cause, .. } | Self::Bad(cause) => CallError::BadGateway { cause },
            Self::Busy { retry_after_secs } => CallError::NotServing { retry_after_secs },
            Self::Final(error) => error,
        }
    }

    /// One word for traces.
    fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Lost(_) | Self::Crashed { .. } | Self::Bad(_) => "bad_gateway",
            Self::Ours(_) => "no_connection",
            Self::Busy { .. } => "busy",
            Self::Final(error) => error.code(),
        }
    }

    /// Whether the engine did its work and the request is to blame that the result cannot be used.
    fn is_of_the_request(&self) -> bool {
        matches!(self, Self::Final(CallError::Invalid { .. }))
    }

    fn cause(&self) -> Option<String> {
        match self {
            Self::Unreachable(cause)
            | Self::Lost(cause)
            | Self::Crashed { cause, .. }
            | Self::Bad(cause)
            | Self::Ours(cause) => Some(cause.clone()),
            Self::Busy { .. } => Some("the replica is at its capacity".into()),
            Self::Final(_) => None,
        }
    }
}

/// The retries of a call.
#[derive(Default)]
struct Retries {
    /// The call was moved to another replica.
    moved: bool,
    /// The request was sent again to the same replica, on a fresh connection.
    resent: bool,
    /// How often the request was written and lost before its response began.
    losses: u8,
}

/// One attempt at a replica.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    replica: &'a Backend,
    call: &'a Call,
    /// Set if the call may not reuse what the replica has cached for others.
    cache_salt: Option<&'a str>,
    /// The estimated tokens of the prompt.
    prompt: u64,
    needs_fresh_connection: bool,
}

/// The normalized response of a replica.
enum UpstreamResponse {
    Whole(Bytes, TokenMeter, Option<Box<dyn BodyGrant>>),
    Stream(Box<StreamBody>),
}

impl Dataplane {
    pub(crate) async fn relay(&self, call: &mut Call, target: Target, mut slot: Slot) -> Result<Response, CallError> {
        let mut tried = Vec::new();
        let mut retries = Retries::default();
        let prompt = call.request.prompt_tokens(target.route().model.context_length);
        loop {
            let began = call.begin_attempt(slot.replica());
            let cache_salt = target.isolates_cache().then(|| call.caller.cache_salt(&self.salt_secret));
            let needs_fresh_connection = retries.resent;
            let attempt = Attempt { replica: slot.replica(), call: &*call, cache_salt, prompt, needs_fresh_connection };
            let error = match self.attempt(attempt, began).await {
                Ok(response) => return Ok(self.respond(response, slot, call)),
                Err(error) if may_drop_limit(&error, call) && call.tap.drop_limit() => {
                    call.tap.attempt_failed(error.reason());
                    continue;
                }
                Err(error) => error,
            };
            retries.losses += u8::from(matches!(error, AttemptError::Crashed { .. }));
            record_failure(slot.replica(), &error);
            call.tap.attempt_failed(error.reason());
            if !error.is_of_the_request() {
                call.tap.forgive_prompt();
            }
            tried.push(slot.replica().id);
            drop(slot);
            match Box::pin(self.pick_another(&target, call, &error, &tried, &mut retries)).await {
                Some(Ok(next)) => slot = next,
                Some(Err(error)) => {
                    self.note_losses(call, retries.losses);
                    return Err(error);
                }
                None => {
                    self.note_losses(call, retries.losses);
                    let cause = error.cause();
                    call.tap.note(|record| record.cause = cause);
                    return Err(error.into_call_error(&target));
                }
            }
        }
    }

    /// A slot for the next attempt after a failed one, or `None` if the call is not retried. Calls are moved once, except
    /// that a call to an endpoint tries all of its replicas if they are busy. Without another replica, a call that was lost
    /// on a reused connection is sent again to the same one.
    async fn pick_another(
        &self,
        target: &Target,
        call: &Call,
        error: &AttemptError,
        tried: &[BackendId],
        retries: &mut Retries,
    ) -> Option<Result<Slot, CallError>> {
        if matches!(error, AttemptError::Final(_)) || retries.losses >= MAX_LOSSES {
            return None;
        }
        let tries_all = matches!((error, target), (AttemptError::Busy { .. }, Target::Dedicated(_)));
        let may_move = tries_all || !retries.moved;
        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), tried);
        let (route, now) = (target.route(), Instant::now());
        if may_move && let Ok(slot) = route.pool.pick(|| search.prompt(), tried, now) {
            retries.moved |= !tries_all;
            return Some(Ok(slot));
        }
        let (lost, tried_before) = tried.split_last()?;
        if matches!(error, AttemptError::Crashed { on_reused: true, .. })
            && !retries.resent
            && let Ok(slot) = route.pool.pick(|| search.prompt(), tried_before, now)
        {
            retries.resent = true;
            return Some(Ok(slot));
        }
        match (error, target) {
            (
                AttemptError::Unreachable(_) | AttemptError::Lost(_) | AttemptError::Crashed { .. },
                Target::Dedicated(endpoint),
            ) if may_move => {
                retries.moved = true;
                hold::replace(endpoint, *lost, search).await
            }
            _ => None,
        }
    }

    async fn attempt(&self, attempt: Attempt<'_>, began: Instant) -> Result<UpstreamResponse, AttemptError> {
        let limit = self.timeouts.first_byte;
        tokio::time::timeout_at((began + limit).into(), pin!(self.exchange(attempt)))
            .await
            .unwrap_or(Err(AttemptError::Final(CallError::UpstreamTimeout { limit })))
    }

    async fn exchange(&self, attempt: Attempt<'_>) -> Result<UpstreamResponse, AttemptError> {
        let exchange = self.send(attempt).await?;
        match &attempt.call.request.operation {
            Operation::Chat { streaming: Some(options) } => open_stream(exchange, options, attempt).await,
            Operation::Chat { streaming: None } | Operation::Embeddings(_) => self.read_whole(exchange, attempt).await,
        }
    }

    /// Sends the request and checks the head of the response.
    async fn send(&self, attempt: Attempt<'_>) -> Result<Exchange, AttemptError> {
        let request = self.upstream_request(attempt);
        let Attempt { replica, call, prompt, .. } = attempt;
        let on_written = || call.tap.prompt_was_sent(prompt);
        let connection = match attempt.needs_fresh_connection {
            true => Box::pin(self.connections.open(replica)).await,
            false => self.connections.get(replica).await,
        };
        let mut connection = connection.map_err(|error| connect_error(&error))?;
        let mut sent = connection.send(&request, on_written).await;
        if let Err(error) = &sent
            && connection.was_used
            && !error.is_written
        {
            // The replica closed an idle connection just as it was taken, and cannot have acted on the request.
            connection = Box::pin(self.connections.open(replica)).await.map_err(|error| connect_error(&error))?;
            sent = connection.send(&request, on_written).await;
        }
        self.connections.pool.put_back_buffer(request.start);
        let head = sent.map_err(|error| send_error(&error, connection.was_used))?;
        let mut exchange = self.connections.exchange(connection, replica);
        if head.status != StatusCode::OK {
            let is_bounded = |_| Ok::<_, Infallible>(());
            let body = exchange.collect(MAX_ERROR_BYTES, self.timeouts.idle, is_bounded).await.unwrap_or_default();
            return Err(status_error(&head, &body));
        }
        if call.request.is_stream() != head.is_event_stream() || head.is_encoded {
            return Err(AttemptError::Bad(format!("unexpected response type {}", head.media_type)));
        }
        Ok(exchange)
    }

    async fn read_whole(
        &self,
        mut exchange: Exchange,
        Attempt { call, prompt, .. }: Attempt<'_>,
    ) -> Result<UpstreamResponse, AttemptError> {
        let mut memory = ResponseMemory::new(&*self.memory, &call.caller.workspace);
        let whole = exchange.collect(MAX_RESPONSE_BYTES, self.timeouts.idle, |bytes| memory.grow_for(bytes));
        let whole = whole.await.map_err(collect_error)?;
        let (request, meter) = (&call.request, TokenMeter::new(prompt));
        let normalized = if whole.len() <= NORMALIZE_INLINE {
            normalize(&whole, &request.model, &request.operation, &call.dialect, meter)
        } else {
            Box::pin(self.normalize_elsewhere(whole, call, meter)).await
        };
        let (response, meter) = normalized.map_err(bad_response)?;
        Ok(UpstreamResponse::Whole(response, meter, memory.into_grant()))
    }

    /// On another thread: nothing else on this core would be served meanwhile.
    async fn normalize_elsewhere(
        &self,
        whole: Bytes,
        call: &Call,
        meter: TokenMeter,
    ) -> Result<(Bytes, TokenMeter), BadUpstreamResponse> {
        let turn = Arc::clone(&self.normalizing).acquire_owned().await.expect("the semaphore is never closed");
        let Call { request, dialect, .. } = call;
        let (model, operation, dialect) = (request.model.clone(), request.operation.clone(), dialect.clone());
        let normalized = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            normalize(&whole, &model, &operation, &dialect, meter)
        });
        normalized.await.unwrap_or(Err(BadUpstreamResponse::Unexpected("the response could not be read")))
    }

    /// The request as it is sent: the head, and the client's body with our edits.
    fn upstream_request(&self, Attempt { replica, call, cache_salt, .. }: Attempt<'_>) -> Request {
        let Upstream { model, continuous_usage, engine, .. } = &replica.upstream;
        let mut edits: Edits<'_> = call.request.upstream_edits(model, *continuous_usage, call.tap.limit());
        if let (Some(engine), Some(salt)) = (engine, cache_salt) {
            call.request.isolate_cache(*engine, salt, &mut edits);
        }
        let body = &call.request.body;
        let length = edits.length(body.len());
        let is_small = body.len() < COPY_BELOW;
        let mut start = self.connections.pool.take_buffer(HEAD_CAPACITY + if is_small { length } else { 0 });
        write_head(replica, call, length, &mut start);
        if is_small {
            edits.write_to(body, &mut start);
            return Request { start, rest: Vec::new() };
        }
        Request { start, rest: edits.pieces(body) }
    }

    fn respond(&self, response: UpstreamResponse, mut slot: Slot, call: &mut Call) -> Response {
        let mut tap = call.tap.take();
        tap.first_byte();
        let rate_limits = tap.rate_limits();
        slot.replica().succeeded();
        let placement = call.shows_placement.then(|| PlacementNote {
            replica: Arc::clone(&slot.replica().name),
            cached_estimate: slot.cached_estimate(),
        });
        match response {
            UpstreamResponse::Whole(bytes, meter, memory) => {
                tap.meter(&meter);
                meter.teach(&slot);
                Response {
                    format: ResponseFormat::Json,
                    rate_limits,
                    placement,
                    body: ResponseBody::whole(bytes, tap, memory),
                }
            }
            UpstreamResponse::Stream(mut stream) => {
                tap.note(|record| record.streamed = true);
                slot.first_event();
                let cut = self.cut.subscribe();
                stream.begin(StreamContext { slot, tap, error_event: call.error_event }, self.timeouts.idle, cut);
                Response {
                    format: ResponseFormat::EventStream,
                    rate_limits,
                    placement,
                    body: ResponseBody::Stream(stream),
                }
            }
        }
    }
}

/// Reads, normalizes, meters and translates a response that is not streamed.
fn normalize(
    response: &Bytes,
    model: &str,
    operation: &Operation,
    dialect: &Dialect,
    mut meter: TokenMeter,
) -> Result<(Bytes, TokenMeter), BadUpstreamResponse> {
    let normalized = match operation {
        Operation::Chat { .. } => chat::normalize(response, model, &mut meter),
        Operation::Embeddings(options) => embeddings::normalize(response, model, options, &mut meter),
    };
    let translated = dialect.translate(normalized?, meter.tokens().0)?;
    Ok((translated, meter))
}

fn collect_error(error: CollectError<NoBodyMemory>) -> AttemptError {
    match error {
        CollectError::Exchange(ExchangeError::Stalled(limit)) => {
            AttemptError::Final(CallError::UpstreamTimeout { limit })
        }
        CollectError::Exchange(error) => connection_error(&error),
        CollectError::NoMemory(missing) => AttemptError::Final(missing.into()),
        other @ CollectError::TooLarge(_) => AttemptError::Bad(other.to_string()),
    }
}

/// Waits for the first event, so that a failure before it becomes an error with its own status.
async fn open_stream(
    mut exchange: Exchange,
    options: &StreamOptions,
    Attempt { call, prompt, .. }: Attempt<'_>,
) -> Result<UpstreamResponse, AttemptError> {
    let request = &call.request;
    let translator = call.dialect.stream();
    let mut stream = ChatStream::new(&request.model, options, request.choices(), prompt, translator);
    loop {
        let written = match exchange.data().await {
            Some(Ok(data)) => stream.pass(data),
            // Engines send the head of a stream at once, so this is still prefill.
            Some(Err(ExchangeError::Connection(error))) => {
                return Err(AttemptError::Crashed { cause: error.to_string(), on_reused: false });
            }
            Some(Err(error)) => return Err(connection_error(&error)),
            None => stream.end(),
        };
        let (written, error) = match written {
            Ok(written) => (written, None),
            Err(error) => (stream.take_written(), Some(error)),
        };
        match error {
            // Complete events are sent first; the error follows them.
            _ if !written.is_empty() => {
                return Ok(UpstreamResponse::Stream(Box::new(StreamBody::new(written, error, exchange, stream))));
            }
            Some(error) => return Err(bad_response(error)),
            None => {}
        }
    }
}

/// Whether the engine rejected the limit that we added to a call without one, because it does not fit next to the prompt.
/// Such an engine has room for fewer tokens than the limit, so the call is still bounded without it.
fn may_drop_limit(error: &AttemptError, call: &Call) -> bool {
    matches!(error, AttemptError::Final(CallError::Rejected { context_length: true, .. }))
        && !call.request.estimate.has_limit()
}

/// Updates health and circuit breaker of the replica.
fn record_failure(replica: &Backend, error: &AttemptError) {
    match error {
        AttemptError::Unreachable(cause) => {
            if replica.unreachable() {
                tracing::warn!(replica.name = %replica.name, cause, "replica {} is unreachable", replica.name);
            }
        }
        AttemptError::Lost(_)
        | AttemptError::Crashed { on_reused: false, .. }
        | AttemptError::Bad(_)
        | AttemptError::Final(CallError::UpstreamTimeout { .. }) => replica.failed(Instant::now()),
        AttemptError::Ours(cause) => tracing::error!(cause, "could not open a connection"),
        AttemptError::Crashed { on_reused: true, .. } | AttemptError::Busy { .. } | AttemptError::Final(_) => {}
    }
}

fn connect_error(error: &io::Error) -> AttemptError {
    let cause = format!("cannot connect: {error}");
    if is_local_failure(error) { AttemptError::Ours(cause) } else { AttemptError::Unreachable(cause) }
}

fn send_error(error: &SendError, on_reused: bool) -> AttemptError {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let cause = format!("no response: {error}");
    // Not an invalid response.
    let is_end = matches!(error.cause.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe);
    if error.is_written && is_end { AttemptError::Crashed { cause, on_reused } } else { AttemptError::Lost(cause) }
}

fn connection_error(error: &ExchangeError) -> AttemptError {
    match error {
        ExchangeError::Connection(_) => AttemptError::Lost(error.to_string()),
        ExchangeError::Stalled(_) => AttemptError::Bad(error.to_string()),
    }
}

fn bad_response(error: BadUpstreamResponse) -> AttemptError {
    match error {
        BadUpstreamResponse::Ignored(param) => AttemptError::Final(CallError::Invalid {
            param: param.into(),
            why: "is not supported by this model".into(),
        }),
        other @ (BadUpstreamResponse::NotJson(_)
        | BadUpstreamResponse::Unexpected(_)
        | BadUpstreamResponse::Reported(_)) => AttemptError::Bad(other.to_string()),
    }
}

/// The meaning of a status other than 200.
fn status_error(head: &ResponseHead, body: &[u8]) -> AttemptError {
    let status = match head.status {
        StatusCode::BAD_REQUEST => UpstreamRejection::BadRequest,
        StatusCode::PAYLOAD_TOO_LARGE => UpstreamRejection::TooLarge,
        StatusCode::UNPROCESSABLE_ENTITY => UpstreamRejection::Unprocessable,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let seconds = head.retry_after_secs.map(|seconds| seconds.min(MAX_RETRY_AFTER_SECS));
            return AttemptError::Busy { retry_after_secs: seconds };
        }
        status => {
            let cause = format!("status {}: {}", status.as_u16(), upstream_error::message(body));
            return match status.is_server_error() {
                true => AttemptError::Bad(cause),
                false => AttemptError::Final(CallError::BadGateway { cause }),
            };
        }
    };
    let error = upstream_error::read(body);
    let message = if error.message.is_empty() { "the model rejected the request".into() } else { error.message };
    AttemptError::Final(CallError::Rejected {
        status,
        message,
        param: error.param,
        context_length: error.context_length,
    })
}

/// Writes the headers that are the same for every call, then those of this call.
fn write_head(replica: &Backend, call: &Call, length: usize, text: &mut BytesMut) {
    text.extend_from_slice(match call.request.operation {
        Operation::Chat { .. } => &replica.template.chat,
        Operation::Embeddings(_) => &replica.template.embeddings,
    });
    for (name, value) in &call.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"x-request-id: ");
    text.extend_from_slice(call.tap.request_id().as_bytes());
    text.extend_from_slice(b"\r\ncontent-length: ");
    text.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    text.extend_from_slice(b"\r\n\r\n");
}
