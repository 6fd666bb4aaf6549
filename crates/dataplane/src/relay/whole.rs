//! Reads a response that is not streamed.

use super::attempt_error::{AttemptError, bad_response, collect_error};
use super::{Attempt, UpstreamResponse};
use crate::request::{MAX_RESPONSE_BYTES, Operation};
use crate::response::native::{self, OwnMembers};
use crate::response::{BadUpstreamResponse, TokenMeter, chat, embeddings};
use crate::response_memory::ResponseMemory;
use crate::upstream::Exchange;
use crate::{Call, Dataplane};
use bytes::Bytes;
use dialects::Dialect;
use http1::LargeBuffer;
use std::sync::Arc;

/// A larger response is normalized on another thread.
const NORMALIZE_INLINE: usize = 128 << 10;

impl Dataplane {
    pub(super) async fn read_whole(
        &self,
        mut exchange: Exchange,
        attempt: Attempt<'_>,
    ) -> Result<UpstreamResponse, AttemptError> {
        let Attempt { call, prompt, context_length, .. } = attempt;
        let mut memory = ResponseMemory::new(&*self.memory, &call.caller.organization);
        // The response will repeat parts of the request.
        let echo = call.dialect.echo_bytes();
        let whole = exchange.collect(MAX_RESPONSE_BYTES, self.timeouts.idle, |bytes| memory.grow_for(echo + bytes));
        let whole = whole.await.map_err(collect_error)?;
        let mut meter = TokenMeter::new(prompt);
        let is_native = attempt.native().is_some();
        let normalized = if whole.len() <= NORMALIZE_INLINE {
            let Call { request, dialect, .. } = call;
            let expected = Expected { operation: &request.operation, choices: request.choices(), dialect, is_native };
            normalize(&whole, &request.model, &expected, &mut meter)
        } else {
            Box::pin(self.normalize_elsewhere(whole, call, is_native, &mut meter)).await
        };
        match normalized {
            Ok(response) => Ok(UpstreamResponse::Whole(response, meter, memory.into_grant())),
            Err(error) => Err(bad_response(error, meter, context_length)),
        }
    }

    /// On another thread: nothing else on this core would be served meanwhile.
    async fn normalize_elsewhere(
        &self,
        whole: Bytes,
        call: &Call,
        is_native: bool,
        meter: &mut TokenMeter,
    ) -> Result<Bytes, BadUpstreamResponse> {
        let turn = Arc::clone(&self.normalizing).acquire_owned().await.expect("the semaphore is never closed");
        let Call { request, dialect, .. } = call;
        let (model, operation, dialect) = (request.model.clone(), request.operation.clone(), dialect.clone());
        let choices = request.choices();
        let mut counting = meter.clone();
        let normalized = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let expected = Expected { operation: &operation, choices, dialect: &dialect, is_native };
            let response = normalize(&whole, &model, &expected, &mut counting);
            (response.map(|bytes| LargeBuffer::from(Vec::from(bytes)).freeze()), counting)
        });
        let failed = |_| BadUpstreamResponse::Unexpected("the response could not be read");
        let (response, counted) = normalized.await.map_err(failed)?;
        *meter = counted;
        response
    }
}

/// The request, as far as it decides how the response is read.
struct Expected<'a> {
    operation: &'a Operation,
    choices: u64,
    dialect: &'a Dialect,
    /// The engine speaks the client's API itself.
    is_native: bool,
}

/// Reads, normalizes, meters and translates a response that is not streamed. The response of an engine that speaks the
/// client's API itself needs no translation.
fn normalize(
    response: &Bytes,
    model: &str,
    expected: &Expected<'_>,
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    let Expected { operation, choices, dialect, is_native } = *expected;
    if is_native && let Some(own) = OwnMembers::new(dialect, model) {
        return native::normalize(response, &own, meter);
    }
    let normalized = match operation {
        Operation::Chat { .. } => chat::normalize(response, model, choices, meter),
        Operation::Embeddings(options) => embeddings::normalize(response, model, options, meter),
    };
    Ok(dialect.translate(normalized?, meter.tokens().0)?)
}
