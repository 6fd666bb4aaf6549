//! Finds what a Model ID names.

use crate::Dataplane;
use crate::probe::{Ask, Probe};
use crate::refusal::Refusal;
use domain::Caller;
use domain::model_ref::endpoint_part;
use fleet::endpoints::Condition;
use fleet::{LiveEndpoint, Route};
use std::sync::Arc;

/// What a call is sent to.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A model of the catalogue, billed by tokens.
    Serverless(Arc<Route>),
    /// Replicas of the caller's own, billed by the GPU-hour: no limit and no quota counts.
    Dedicated(Arc<LiveEndpoint>),
}

impl Target {
    /// The model and the replicas that serve it now.
    pub(crate) fn route(&self) -> Arc<Route> {
        match self {
            Self::Serverless(route) => Arc::clone(route),
            Self::Dedicated(endpoint) => Arc::clone(&endpoint.view().route),
        }
    }
}

impl Dataplane {
    /// Unknown models are reported before wrong values, and wrong values before anything costs.
    pub(crate) fn resolve(&self, caller: &Caller, probe: &mut Probe) -> Result<Target, Refusal> {
        let Some(target) = self.find(caller, &probe.model)? else {
            return Err(match probe.invalid.take() {
                Some(invalid) if invalid.param == "model" => invalid.into(),
                _ => Refusal::unknown_model(&probe.model),
            });
        };
        if let Some(invalid) = probe.invalid.take() {
            return Err(invalid.into());
        }
        if target.route().model.modality != probe.ask.modality() {
            let why = match probe.ask {
                Ask::Chat { .. } => "names a model for embeddings, not for chat",
                Ask::Embeddings(_) => "names a model for chat, not for embeddings",
            };
            return Err(Refusal::Invalid { param: "model".into(), why: why.into() });
        }
        Ok(target)
    }

    fn find(&self, caller: &Caller, model: &str) -> Result<Option<Target>, Refusal> {
        match endpoint_part(model) {
            None => Ok(self.routes.table().get(model).cloned().map(Target::Serverless)),
            Some(name) => Ok(self.endpoint(caller, name)?.map(Target::Dedicated)),
        }
    }

    /// The endpoint of that name, if the caller may see it.
    pub fn endpoint(&self, caller: &Caller, name: &str) -> Result<Option<Arc<LiveEndpoint>>, Refusal> {
        let Some(endpoint) = self.endpoints.get(&caller.organization, name) else { return Ok(None) };
        if endpoint.view().condition == Condition::Deleting {
            return Ok(None);
        }
        if endpoint.workspace != caller.workspace {
            return Err(Refusal::WrongWorkspace);
        }
        Ok(Some(endpoint))
    }
}
