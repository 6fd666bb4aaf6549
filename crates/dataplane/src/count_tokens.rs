//! Counts the tokens of a prompt without generating anything. Counts against requests per minute; costs nothing.

use crate::error::CallError;
use crate::resolve::Target;
use crate::translate::messages::Traits;
use crate::{Call, Dataplane};
use domain::Caller;
use domain::limits::RateLimitStatus;

/// The tokens of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedTokens {
    pub tokens: u64,
    /// Estimated from the length of the prompt.
    pub is_estimate: bool,
    /// `None` for dedicated endpoints, which have no rate limits.
    pub rate_limits: Option<RateLimitStatus>,
}

impl Dataplane {
    pub async fn count_tokens(&self, call: &mut Call) -> Result<CountedTokens, CallError> {
        let target = self.resolve(call)?;
        let rate_limits = match &target {
            Target::Dedicated(_) => None,
            Target::Serverless(_) => {
                let request = call.tap.request_id().clone();
                Some(self.admission.admit_free(&call.caller, request).await?)
            }
        };
        Ok(CountedTokens { tokens: call.request.estimate.likely_prompt(), is_estimate: true, rate_limits })
    }

    /// The traits of the model that a name stands for, which its translated requests depend on. The call itself reports a
    /// name that stands for nothing.
    pub fn chat_traits(&self, caller: &Caller, model: &str) -> Traits {
        match self.route(caller, model) {
            Ok(Some(route)) => Traits {
                context_length: route.model.context_length,
                thinking: route.model.thinking_switch(),
                merge_system: route.model.chat.merge_system,
            },
            Ok(None) | Err(_) => Traits::default(),
        }
    }
}
