//! Lets a call in, or says what it would exceed.

use crate::admission::Permit;
use crate::refusal::Refusal;
use crate::resolve::Target;
use crate::{Call, Dataplane};

impl Dataplane {
    pub(crate) async fn admit(&self, call: &Call, target: &Target) -> Result<Permit, Refusal> {
        match target {
            Target::Dedicated(endpoint) => Ok(Permit::unmetered(endpoint.open_call())),
            Target::Serverless(route) => {
                let request = call.tap.request().clone();
                self.admission
                    .admit(&call.caller, &route.model, &call.probe.demand, request, call.tap.started_at())
                    .await
            }
        }
    }
}
