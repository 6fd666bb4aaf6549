//! Reads a response that the engine does not stream.

use super::attempt_error::{AttemptError, bad_response, collect_error};
use super::{Attempt, UpstreamResponse, stream_of};
use crate::body::StreamBody;
use crate::request::{EchoedPrompts, MAX_RESPONSE_BYTES, Operation, StreamOptions};
use crate::response::native::{self, OwnMembers};
use crate::response::{BadUpstreamResponse, TokenMeter, chat, embeddings, rerank, service_tier};
use crate::response_memory::{KeptMemory, ResponseMemory};
use crate::upstream::Exchange;
use crate::{Call, Dataplane};
use bytes::Bytes;
use dialects::Dialect;
use domain::model::ReasoningNames;
use domain::{CallClass, OrganizationId};
use http1::LargeBuffer;
use http1::client::Collected;

/// A response that is larger, with what it repeats of the request, is read on another thread.
pub(crate) const NORMALIZE_INLINE: usize = 128 << 10;
/// The copies of a response that exist while it becomes a stream: as read, normalized, in chunks, and what a translation
/// keeps and writes.
const GATHERED_COPIES: usize = 8;

impl Dataplane {
    pub(super) async fn read_whole(
        &self,
        mut exchange: Exchange,
        attempt: Attempt<'_>,
    ) -> Result<UpstreamResponse, AttemptError> {
        let Attempt { call, prompt, context_length, .. } = attempt;
        let mut memory = ResponseMemory::new(&*self.memory, &call.caller.organization);
        let echo = echo_bytes(call);
        // Before anything is read, because a response that arrives in one piece takes none while it is collected.
        memory.grow_for(echo).map_err(|missing| AttemptError::Final(missing.into()))?;
        let grow = |bytes: usize| memory.grow_for(echo + bytes);
        let whole =
            exchange.collect_pieces(MAX_RESPONSE_BYTES, self.timeouts.idle, grow).await.map_err(collect_error)?;
        let mut meter = TokenMeter::new(prompt);
        let (is_native, is_flex) = (attempt.native().is_some(), call.class == CallClass::Flex);
        let normalized = match whole {
            Collected::Whole(whole) if whole.len() + echo <= NORMALIZE_INLINE => {
                let Call { request, dialect, .. } = call;
                let (operation, choices, echo) = (&request.operation, request.choices(), request.echo());
                let (reasoning_names, id) = (attempt.reasoning_names, call.tap.request_id().as_str());
                let expected = Expected { operation, choices, echo, id, reasoning_names, dialect, is_native, is_flex };
                normalize(&whole, &request.model, &expected, &mut meter)
            }
            large => Box::pin(self.normalize_elsewhere(large, attempt, &mut meter)).await,
        };
        match normalized {
            Ok(response) => Ok(UpstreamResponse::Whole(response, meter, memory.into_grant())),
            Err(error) => Err(bad_response(error, meter, context_length)),
        }
    }

    /// Reads a response that becomes a stream for the client.
    pub(super) async fn gather_stream(
        &self,
        mut exchange: Exchange,
        options: &StreamOptions,
        attempt: Attempt<'_>,
    ) -> Result<UpstreamResponse, AttemptError> {
        let Attempt { call, context_length, .. } = attempt;
        let mut stream = stream_of(attempt, options);
        let mut memory = KeptMemory::new(self.memory.grant(&call.caller.organization));
        let echo = echo_bytes(call);
        memory.grow_for(echo).map_err(|missing| AttemptError::Final(missing.into()))?;
        let grow = |bytes: usize| memory.grow_for(GATHERED_COPIES * bytes + echo);
        let whole =
            exchange.collect_pieces(MAX_RESPONSE_BYTES, self.timeouts.idle, grow).await.map_err(collect_error)?;
        let passed = match whole {
            Collected::Whole(whole) if whole.len() + echo <= NORMALIZE_INLINE => stream.pass_whole(&whole),
            large => {
                let organization = &call.caller.organization;
                let passed = self.elsewhere(organization, move || (stream.pass_large(&large.join()), stream)).await;
                let (passed, back) =
                    passed.map_err(|error| bad_response(error, TokenMeter::default(), context_length))?;
                stream = back;
                passed
            }
        };
        match passed {
            Ok(written) => {
                let body = StreamBody::new(written, None, None, stream, Some(memory), context_length);
                Ok(UpstreamResponse::Stream(Box::new(body)))
            }
            Err(error) => Err(bad_response(error, stream.meter, context_length)),
        }
    }

    async fn normalize_elsewhere(
        &self,
        whole: Collected,
        attempt: Attempt<'_>,
        meter: &mut TokenMeter,
    ) -> Result<Bytes, BadUpstreamResponse> {
        let Call { request, dialect, class, .. } = attempt.call;
        let (model, operation, dialect) = (request.model.clone(), request.operation.clone(), dialect.clone());
        let (choices, echo) = (request.choices(), request.echo());
        let id = attempt.call.tap.request_id().clone();
        let (is_native, reasoning_names) = (attempt.native().is_some(), attempt.reasoning_names);
        let is_flex = *class == CallClass::Flex;
        let mut counting = meter.clone();
        let normalized = self.elsewhere(&attempt.call.caller.organization, move || {
            let (operation, dialect, id) = (&operation, &dialect, id.as_str());
            let expected = Expected { operation, choices, echo, id, reasoning_names, dialect, is_native, is_flex };
            let response = normalize(&whole.join(), &model, &expected, &mut counting);
            (response.map(LargeBuffer::returned_in_steps), counting)
        });
        let (response, counted) = normalized.await?;
        *meter = counted;
        response
    }

    /// Works on another thread, one response at a time: nothing else on this core would be served meanwhile. An organization
    /// waits for its own responses first, so that one with many large ones does not delay others.
    pub(crate) async fn elsewhere<T: Send + 'static>(
        &self,
        organization: &OrganizationId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BadUpstreamResponse> {
        let turn = self.normalizing.take(organization).await;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.map_err(|_| BadUpstreamResponse::Unexpected("the response could not be read"))
    }
}

/// The bytes of the request that its response repeats, beside what the engine returns.
fn echo_bytes(call: &Call) -> usize {
    call.dialect.echo_bytes() + call.request.operation.echo_bytes()
}

/// The request, as far as it decides how the response is read.
struct Expected<'a> {
    operation: &'a Operation,
    choices: u64,
    echo: Option<EchoedPrompts>,
    /// The request id.
    id: &'a str,
    reasoning_names: ReasoningNames,
    dialect: &'a Dialect,
    /// The engine speaks the client's API itself.
    is_native: bool,
    /// The response names the tier.
    is_flex: bool,
}

/// Reads, normalizes, meters and translates a response that is not streamed. The response of an engine that speaks the
/// client's API itself needs no translation.
fn normalize(
    response: &Bytes,
    model: &str,
    expected: &Expected<'_>,
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    let Expected { operation, choices, echo, reasoning_names, dialect, is_native, is_flex, .. } = *expected;
    if is_native && let Some(own) = OwnMembers::new(dialect, model) {
        return native::normalize(response, &own, meter);
    }
    let normalized = match operation {
        Operation::Chat { .. } => chat::normalize(response, model, choices, reasoning_names, meter),
        Operation::Completions(_) => chat::normalize_texts(response, model, choices, echo, meter),
        Operation::Rerank(options) => rerank::normalize(response, model, options, expected.id, meter),
        Operation::Embeddings(options) => embeddings::normalize(response, model, options, meter),
    };
    let normalized = if is_flex { service_tier::set_flex(&normalized?)? } else { normalized? };
    Ok(dialect.translate(normalized, meter.tokens().0)?)
}
