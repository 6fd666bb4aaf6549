//! Sends a call to a replica and returns its response.
//!
//! Until the first byte has gone to the client, a replica that fails is replaced by another one, once. A request that was
//! written and lost may have ended the engine, so it is written at most twice in all, see [`crate::quarantine`]. After the
//! first byte, a stream continues at another replica only if its model has failover, see [`crate::failover`].

mod attempt_error;
mod failover;
mod send;
mod whole;

use crate::body::{ResponseBody, StreamBody, StreamContext};
use crate::error::CallError;
use crate::failover::Continuation;
use crate::quarantine::{Losses, MAX_LOSSES};
use crate::request::{Operation, StreamOptions};
use crate::resolve::{Target, lacking};
use crate::response::TokenMeter;
use crate::response::chat_stream::ChatStream;
use crate::response::native::NativeEvents;
use crate::response_memory::{BodyGrant, KeptMemory};
use crate::upstream::Exchange;
use crate::usage_tap::FailedAttempt;
use crate::waiting::{Wait, WaitEnd, WaitFor};
use crate::{Call, Dataplane, PlacementNote, Response, ResponseFormat, hold};
pub(crate) use attempt_error::AttemptError;
pub(crate) use attempt_error::collect_error;
use attempt_error::{bad_response, connection_error};
use bytes::Bytes;
use dialects::NativeRequest;
use domain::model::ReasoningNames;
use domain::{CallClass, Caller};
use fleet::backend::{BackendId, Health};
use fleet::breaker::Witness;
use fleet::{Backend, Slot};
use http1::client::ExchangeError;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
pub(crate) use whole::NORMALIZE_INLINE;

/// The retries of a call.
#[derive(Default)]
struct Retries {
    /// The call was moved to another replica.
    moved: bool,
    /// The request was sent again to the same replica, on a fresh connection.
    resent: bool,
    /// How often the request was written and lost before its response began.
    losses: Losses,
}

/// One attempt at a replica.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    replica: &'a Arc<Backend>,
    call: &'a Call,
    /// Set if the call may not reuse what the replica has cached for others.
    cache_salt: Option<&'a str>,
    /// The estimated tokens of the prompt.
    prompt: u64,
    /// The context length of the model.
    context_length: u64,
    reasoning_names: ReasoningNames,
    needs_fresh_connection: bool,
    /// The stream keeps its text, so that another replica can continue it.
    keeps_text: bool,
    /// Set if the replica is to continue the response of another one.
    continuation: Option<&'a Continuation>,
}

impl<'a> Attempt<'a> {
    /// The request in the client's own API, with its token limit, if the replica speaks this API. A call whose limit the engine
    /// has rejected is translated, because Anthropic's API requires one.
    fn native(&self) -> Option<(&'a NativeRequest, u64)> {
        let native = self.call.request.native.as_ref()?;
        self.replica.upstream.native.contains(&native.api).then_some((native, self.call.tap.limit()?))
    }

    /// A stream that does not begin is the fault of the engine. A response that arrives as a whole may just be long.
    fn timed_out(&self, limit: Duration) -> AttemptError {
        if self.call.request.asks_for_stream() || self.replica.health() == Health::Down {
            AttemptError::Final(CallError::UpstreamTimeout { limit })
        } else {
            AttemptError::TimedOutWhole { limit }
        }
    }
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
        let route = target.route();
        // The replicas of an endpoint may have started since the call was resolved.
        if let Some(invalid) = lacking(&call.request.operation, &route) {
            return Err(invalid.into());
        }
        let context_length = route.model.context_length;
        let prompt = call.request.prompt_tokens(context_length, route.pool.prompt_ratio());
        call.tap.prompt_has(call.request.text_bytes());
        let keeps_text = route.model.failover && call.request.asks_for_stream() && call.request.can_be_continued();
        loop {
            if matches!(target, Target::Dedicated(_)) {
                // The autoscaler reads the prompts in flight, also those at the only replica of an endpoint.
                slot.count_prompt(prompt);
            }
            let began = call.begin_attempt(slot.replica());
            let cache_salt = target.isolates_cache().then(|| call.caller.cache_salt(&self.salt_secret));
            let needs_fresh_connection = retries.resent;
            let attempt = Attempt {
                replica: slot.replica(),
                call: &*call,
                cache_salt,
                prompt,
                context_length,
                reasoning_names: route.model.chat.reasoning_names,
                needs_fresh_connection,
                keeps_text,
                continuation: None,
            };
            let is_native = attempt.native().is_some();
            let error = match self.attempt(attempt, began).await {
                Ok(response) => {
                    self.note_served(call, retries.losses);
                    let mut response = self.respond(response, slot, call);
                    if let Some(placement) = response.placement.as_mut().filter(|_| target.shares_cache()) {
                        placement.cached_estimate = None;
                    }
                    if let ResponseBody::Stream(stream) = &mut response.body
                        && keeps_text
                    {
                        stream.keep(self.keep(call, target, tried, prompt));
                    }
                    return Ok(response);
                }
                Err(error) if is_native && may_drop_limit(&error, call) => {
                    // What was passed through may be longer than its translation, next to which the limit may fit.
                    call.tap.attempt_failed(error.reason());
                    call.tap.attempt_ended(FailedAttempt::Rejected);
                    call.request.native = None;
                    continue;
                }
                Err(error) if may_drop_limit(&error, call) && call.tap.drop_limit() => {
                    call.tap.attempt_failed(error.reason());
                    call.tap.attempt_ended(FailedAttempt::Rejected);
                    continue;
                }
                Err(error) => error,
            };
            if matches!(error, AttemptError::Crashed { .. }) {
                retries.losses.add(slot.replica().lost(Instant::now()), began);
            }
            record_failure(slot.replica(), &error, &call.caller);
            call.tap.attempt_failed(error.reason());
            if let AttemptError::Untranslatable { meter, .. } = &error {
                meter.teach(&slot);
                call.tap.meter(meter);
            }
            if let Some(end) = error.end() {
                call.tap.attempt_ended(end);
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
        if error.is_final() || retries.losses.count >= MAX_LOSSES {
            return None;
        }
        if retries.losses.count > 0 && self.loses_too_many(call) {
            return None;
        }
        let tries_all = matches!((error, target), (AttemptError::Busy { .. }, Target::Dedicated(_)));
        let may_move = tries_all || !retries.moved;
        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), tried);
        let (route, now) = (target.route(), Instant::now());
        if may_move && let Ok(slot) = route.pool.pick(call.class, || search.prompt(), tried, now) {
            retries.moved |= !tries_all;
            return Some(Ok(slot));
        }
        let (lost, tried_before) = tried.split_last()?;
        if matches!(error, AttemptError::Crashed { on_reused: true, .. })
            && !retries.resent
            && let Ok(slot) = route.pool.pick(call.class, || search.prompt(), tried_before, now)
        {
            retries.resent = true;
            return Some(Ok(slot));
        }
        match (error, target) {
            (
                AttemptError::Unreachable(_)
                | AttemptError::Lost(_)
                | AttemptError::Crashed { .. }
                | AttemptError::Cut(_),
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
        let mut exchange = pin!(self.exchange(attempt));
        let running = self.running_attempt(attempt.call, attempt.replica, began);
        let mut wait = Wait::new(&self.waits);
        let ended = poll_fn(|cx| {
            if let ended @ Poll::Ready(_) = exchange.as_mut().poll(cx) {
                return ended;
            }
            let what = WaitFor::Response { until: began + limit };
            wait.poll(cx, attempt.replica, what).map(|end| match end {
                WaitEnd::TimedOut => Err(attempt.timed_out(limit)),
                WaitEnd::Down | WaitEnd::Cut => {
                    Err(AttemptError::Lost("the replica is down and does not respond".to_owned()))
                }
            })
        })
        .await;
        // An engine that the prompt has ended may report an error before it is gone.
        if !matches!(ended, Err(AttemptError::Bad(_))) {
            running.end();
        }
        ended
    }

    async fn exchange(&self, attempt: Attempt<'_>) -> Result<UpstreamResponse, AttemptError> {
        let exchange = self.send(attempt).await?;
        match attempt.call.request.operation.streaming() {
            Some(options) if options.is_gathered => Box::pin(self.gather_stream(exchange, options, attempt)).await,
            Some(options) => self.open_stream(exchange, options, attempt).await,
            None => self.read_whole(exchange, attempt).await,
        }
    }

    fn respond(&self, response: UpstreamResponse, mut slot: Slot, call: &mut Call) -> Response {
        let mut tap = std::mem::take(&mut call.tap);
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
                tap.engine_ended(Duration::ZERO);
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
                let context = StreamContext { slot, tap, error_event: call.error_event };
                stream.begin(context, self.timeouts.idle, &self.waits);
                Response {
                    format: ResponseFormat::EventStream,
                    rate_limits,
                    placement,
                    body: ResponseBody::Stream(stream),
                }
            }
        }
    }

    /// Waits for the first event, so that a failure before it becomes an error with its own status.
    async fn open_stream(
        &self,
        mut exchange: Exchange,
        options: &StreamOptions,
        attempt: Attempt<'_>,
    ) -> Result<UpstreamResponse, AttemptError> {
        let Attempt { call, context_length, .. } = attempt;
        let mut stream = stream_of(attempt, options);
        let memory = self.translation_memory(call, &stream)?;
        loop {
            let written = match exchange.data().await {
                Some(Ok(data)) => stream.pass(data),
                // Engines send the head of a stream at once, so this is still prefill.
                Some(Err(ExchangeError::Connection(error))) => {
                    let cause = error.to_string();
                    return Err(AttemptError::Crashed { cause, on_reused: false });
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
                    let body = StreamBody::new(written, error, Some(exchange), stream, memory, context_length);
                    return Ok(UpstreamResponse::Stream(Box::new(body)));
                }
                Some(error) => return Err(bad_response(error, stream.meter, context_length)),
                None => {}
            }
        }
    }

    /// The memory of what a translated stream keeps.
    fn translation_memory(&self, call: &Call, stream: &ChatStream) -> Result<Option<KeptMemory>, AttemptError> {
        let Some(kept) = stream.kept_bytes() else { return Ok(None) };
        let mut memory = KeptMemory::new(self.memory.grant(&call.caller.organization));
        memory.grow_for(kept).map_err(|missing| AttemptError::Final(missing.into()))?;
        Ok(Some(memory))
    }
}

fn stream_of(attempt: Attempt<'_>, options: &StreamOptions) -> ChatStream {
    let Attempt { call, prompt, keeps_text, .. } = attempt;
    let request = &call.request;
    if attempt.native().is_some()
        && let Some(events) = NativeEvents::new(&call.dialect, &request.model)
    {
        return ChatStream::native(&request.model, options, prompt, events);
    }
    let mut stream = ChatStream::new(&request.model, options, request.choices(), prompt, call.dialect.stream());
    stream.name_reasoning(attempt.reasoning_names);
    if call.class == CallClass::Flex {
        stream.name_flex();
    }
    if let Operation::Completions(options) = &request.operation {
        stream.expect_texts(options.prompts, options.echo);
    }
    if keeps_text {
        stream.keep_text();
    }
    stream
}

/// Whether the engine rejected the limit that we added to a call without one, because it does not fit next to the prompt.
/// Such an engine has room for fewer tokens than the limit, so the call is still bounded without it.
fn may_drop_limit(error: &AttemptError, call: &Call) -> bool {
    matches!(error, AttemptError::Final(CallError::Rejected { overflow: Some(_), .. }))
        && !call.request.estimate.has_limit()
}

/// Updates health and circuit breaker of the replica.
pub(crate) fn record_failure(replica: &Backend, error: &AttemptError, caller: &Caller) {
    match error {
        AttemptError::Unreachable(cause) => {
            if replica.unreachable() {
                tracing::warn!(replica.name = %replica.name, cause, "replica {} is unreachable", replica.name);
            }
        }
        AttemptError::Lost(_)
        | AttemptError::Crashed { on_reused: false, .. }
        | AttemptError::Cut(_)
        | AttemptError::Bad(_)
        | AttemptError::TimedOutWhole { .. }
        | AttemptError::Final(CallError::UpstreamTimeout { .. }) => {
            replica.failed(Witness::organization(&caller.organization), Instant::now());
        }
        AttemptError::Untranslatable { .. } => replica.succeeded(),
        AttemptError::LocalFailure(cause) => tracing::error!(cause, "could not open a connection"),
        AttemptError::Crashed { on_reused: true, .. } | AttemptError::Busy { .. } | AttemptError::Final(_) => {}
    }
}
