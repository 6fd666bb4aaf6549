//! Requests to an engine that generate nothing, such as counts of tokens. They count against requests per minute and cost
//! nothing.

use crate::admission::{ChargedCall, RunningCall, RunningCount, TooManyCallsError};
use crate::error::CallError;
use crate::quarantine::{Losses, RunningAttempt};
use crate::relay::{AttemptError, NORMALIZE_INLINE, record_failure};
use crate::request::ParsedRequest;
use crate::resolve::Target;
use crate::response_memory::ResponseMemory;
use crate::{Call, Dataplane};
use bytes::Bytes;
use domain::limits::RateLimitStatus;
use fleet::Backend;
use std::time::{Duration, Instant};

/// Tokenizing takes milliseconds; an engine that needs longer is not worth the wait.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest request that an engine gets: it lists all tokens.
pub(crate) const MAX_REQUEST_BYTES: usize = 1 << 20;
/// The maximum size of a response: as many tokens as such a request has bytes, if each takes a few digits.
pub(crate) const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// Counts a side call until it is dropped.
pub(crate) struct SideAdmission {
    /// `None` for dedicated endpoints, which have no rate limits.
    pub(crate) rate_limits: Option<RateLimitStatus>,
    _running: Option<RunningCall>,
    _counting: Option<RunningCount>,
}

impl Dataplane {
    pub(crate) async fn admit_side_call(&self, call: &Call, target: &Target) -> Result<SideAdmission, CallError> {
        let running = self.admission.running.enter(&call.caller.workspace);
        let running = running.map_err(|TooManyCallsError { max }| CallError::TooManyCalls { max })?;
        let (rate_limits, counting) = match target {
            Target::Dedicated(_) => (None, None),
            Target::Serverless(route) => {
                let counting = self.admission.counting.enter(&call.caller);
                let counting = counting.map_err(|TooManyCallsError { max }| CallError::TooManyCounts { max })?;
                let rate_limits = match call.counted {
                    Some(rate_limits) => rate_limits,
                    None => {
                        let of = ChargedCall { model: Some(&route.model.id), end_user: call.tap.end_user() };
                        self.admission.admit_free(&call.caller, of, call.tap.request_id().clone()).await?
                    }
                };
                (Some(rate_limits), Some(counting))
            }
        };
        Ok(SideAdmission { rate_limits, _running: running, _counting: counting })
    }

    /// The response to a request with this head; `None` if the engine does not serve it, or there is no memory for it.
    pub(crate) async fn ask_for(
        &self,
        attempt: &RunningAttempt<'_>,
        head: &[u8],
        body: Vec<Bytes>,
        memory: &mut ResponseMemory<'_>,
    ) -> Result<Option<Bytes>, AttemptError> {
        let Some(mut exchange) = self.ask(attempt, head, body).await? else { return Ok(None) };
        let collected = exchange.collect(MAX_RESPONSE_BYTES, self.timeouts.idle, |bytes| memory.grow_for(bytes)).await;
        Ok(collected.ok())
    }

    /// Reads a response to a side call; a large one on another thread, because it may list a million tokens.
    pub(crate) async fn read_response<T: Send + 'static>(
        &self,
        call: &Call,
        response: Bytes,
        read: impl FnOnce(&Bytes) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        if response.len() <= NORMALIZE_INLINE {
            return read(&response);
        }
        Box::pin(self.elsewhere(&call.caller.organization, move || read(&response))).await.ok()?
    }

    /// The result of a side call, which ends after [`TIMEOUT`]. Records its failure.
    pub(crate) async fn within_timeout<T>(
        &self,
        attempt: &RunningAttempt<'_>,
        asked: impl Future<Output = Result<T, AttemptError>>,
    ) -> Result<T, AttemptError> {
        let timed_out = CallError::UpstreamTimeout { limit: TIMEOUT };
        let asked = tokio::time::timeout(TIMEOUT, asked).await.unwrap_or(Err(AttemptError::Final(timed_out)));
        attempt.end();
        if let Err(error) = &asked {
            self.record_side_failure(attempt, error);
        }
        asked
    }

    /// Records a failed side call. A prompt can end an engine here as well as in a call.
    fn record_side_failure(&self, attempt: &RunningAttempt<'_>, error: &AttemptError) {
        let RunningAttempt { replica, call, began, .. } = attempt;
        record_failure(replica, error, &call.caller);
        if matches!(error, AttemptError::Crashed { .. }) {
            let mut losses = Losses::default();
            losses.add(replica.lost(Instant::now()), *began);
            self.note_losses(call, losses);
        }
    }
}

/// The client's request, with the engine's own name of the model.
pub(crate) fn own_body(replica: &Backend, request: &ParsedRequest) -> Vec<Bytes> {
    let mut edits = request.upstream_edits(&replica.upstream.model, false, None);
    request.name_reasoning(replica.upstream.engine, &mut edits);
    if let Some(engine) = replica.upstream.engine {
        request.continue_prompt(engine, &mut edits);
    }
    edits.pieces(&request.body)
}

/// llama-server's request for the tokens of a text, which is a string in JSON.
pub(crate) fn text_body(adds_special: bool, text: Bytes) -> Vec<Bytes> {
    let start = match adds_special {
        true => &b"{\"add_special\":true,\"parse_special\":true,\"content\":"[..],
        false => b"{\"add_special\":false,\"parse_special\":true,\"content\":",
    };
    vec![Bytes::from_static(start), text, Bytes::from_static(b"}")]
}
