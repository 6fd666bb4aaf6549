//! Admits a call, or returns the limit that it would exceed.

use crate::admission::{AskedCall, ChargedCall, Permit, TooManyCallsError};
use crate::error::CallError;
use crate::resolve::Target;
use crate::{Call, Dataplane};
use domain::limits::RateLimitStatus;
use domain::{CallClass, Caller, EndUserId, RequestId, Timestamp};
use std::sync::Arc;

impl Dataplane {
    /// The permit stays with the tap of the call, which settles it.
    pub(crate) async fn admit(&self, call: &mut Call, target: &Target) -> Result<(), CallError> {
        let running = match call.class {
            CallClass::Interactive | CallClass::Flex => self.admission.running.enter(&call.caller.workspace),
            // The nodes that run them bound their number.
            CallClass::Batch => Ok(None),
        };
        let running = running.map_err(|TooManyCallsError { max }| CallError::TooManyCalls { max })?;
        // Every call leaves an event, also one that no limit applies to.
        let room = self.admission.journal.reserve().ok_or(CallError::JournalFull)?;
        let (permit, context_length) = match target {
            Target::Dedicated(endpoint) => {
                let context_length = target.route().model.context_length;
                let limit = call.request.estimate.unmetered_limit(context_length);
                (Permit::unmetered(endpoint.open_call(), limit), context_length)
            }
            Target::Serverless(route) => {
                let (estimate, request) = (&call.request.estimate, call.tap.request_id().clone());
                let class = call.class;
                let (is_counted, now) = (call.counted.is_some(), call.tap.started_at());
                let (search_price, end_user) = (call.tap.search_price(), call.tap.end_user().cloned());
                let asked = AskedCall { request, class, is_counted, now, search_price, end_user };
                let permit = self.admission.admit(&call.caller, &route.model, estimate, asked).await?;
                (permit, route.model.context_length)
            }
        };
        let most = call.request.estimate.bound(context_length).all_completions();
        let permit = permit.generating(call.request.choices(), most, call.request.asks_for_stream());
        call.tap.keep(permit.counting(running, room));
        Ok(())
    }

    /// Finds the model of a call whose prompt is still to be loaded, and counts its request against the requests per minute, so
    /// that nothing is loaded for calls that no limit holds. `None` for dedicated endpoints, which have no rate limits.
    pub async fn count_request(
        &self,
        caller: &Arc<Caller>,
        model: &str,
        end_user: Option<&EndUserId>,
        request: RequestId,
    ) -> Result<Option<RateLimitStatus>, CallError> {
        match self.find(caller, model)? {
            Some(Target::Serverless(route)) => {
                let of = ChargedCall { model: Some(&route.model.id), end_user };
                self.admission.admit_free(caller, of, request).await.map(Some)
            }
            Some(Target::Dedicated(_)) => Ok(None),
            None => Err(CallError::unknown_model(model)),
        }
    }

    /// An error if a budget of the caller has nothing left for a line of a batch that calls this model.
    pub async fn check_budgets(&self, caller: &Caller, model: &str, now: Timestamp) -> Result<(), CallError> {
        match self.find(caller, model)? {
            Some(Target::Serverless(route)) => self.admission.check_budgets(caller, &route.model, now).await,
            Some(Target::Dedicated(_)) | None => Ok(()),
        }
    }

    /// Counts a request that calls no model against the requests per minute.
    pub async fn admit_free(&self, caller: &Arc<Caller>, request: RequestId) -> Result<RateLimitStatus, CallError> {
        self.admission.admit_free(caller, ChargedCall::default(), request).await
    }
}
