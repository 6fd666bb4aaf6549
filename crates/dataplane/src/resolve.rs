//! Finds what a Model ID names.

use crate::Dataplane;
use crate::probe::{Ask, Probe};
use crate::refusal::Refusal;
use fleet::Route;
use std::sync::Arc;

/// What a call is sent to.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A model of the catalogue, billed by tokens.
    Serverless(Arc<Route>),
}

impl Target {
    pub(crate) fn route(&self) -> &Arc<Route> {
        match self {
            Self::Serverless(route) => route,
        }
    }
}

impl Dataplane {
    /// Unknown models are reported before wrong values, and wrong values before anything costs.
    pub(crate) fn resolve(&self, probe: &mut Probe) -> Result<Target, Refusal> {
        let found = self.routes.table().get(&probe.model).cloned();
        let Some(route) = found else {
            return Err(match probe.invalid.take() {
                Some(invalid) if invalid.param == "model" => invalid.into(),
                _ => Refusal::UnknownModel { model: probe.model.chars().take(200).collect() },
            });
        };
        if let Some(invalid) = probe.invalid.take() {
            return Err(invalid.into());
        }
        if route.model.modality != probe.ask.modality() {
            let why = match probe.ask {
                Ask::Chat { .. } => "names a model for embeddings, not for chat",
                Ask::Embeddings(_) => "names a model for chat, not for embeddings",
            };
            return Err(Refusal::Invalid { param: "model".into(), why: why.into() });
        }
        Ok(Target::Serverless(route))
    }
}
