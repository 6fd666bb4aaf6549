//! The flavors that a model is offered in.

use crate::endpoints::{EndpointError, EndpointRules};
use domain::endpoint::scaling::DEFAULT_CONCURRENCY;
use domain::model::{Flavor, Launch};
use domain::{GpuType, ModelId, NanoUsd, OrganizationId};
use store::{Store, allotments};

/// A flavor of a model, and whether it fits into the rest of the allotment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlavorLine {
    pub flavor: String,
    pub gpu_type: GpuType,
    pub gpu_count: u32,
    pub precision: String,
    /// `custom` for an operator's command line.
    pub engine: &'static str,
    /// `None` if the ledger cannot be read; that does not fail the query.
    pub fits: Option<bool>,
    pub replicas_that_fit: Option<u64>,
    pub default_target: u32,
    pub price_per_gpu_hour: NanoUsd,
}

/// Lists the flavors of a model. Those that do not fit are marked, not hidden.
pub async fn flavors(
    store: &Store,
    rules: EndpointRules<'_>,
    organization: &OrganizationId,
    model: &ModelId,
) -> Result<Vec<FlavorLine>, EndpointError> {
    let unknown = || EndpointError::ModelNotFound { model: model.clone() };
    let listed = rules.catalogue.get(model.as_str()).ok_or_else(unknown)?;
    let ledgers = allotments::list(store, organization, rules.defaults).await;
    let ledgers = ledgers
        .inspect_err(|error| tracing::warn!(%error, "the ledger cannot be read; flavors are listed without it"))
        .ok();
    let replicas_that_fit = |flavor: &Flavor| {
        let fit = |ledger: &domain::allotment::Ledger| ledger.replicas_that_fit(flavor.gpu_count);
        ledgers.as_ref().map(|ledgers| ledgers.get(&flavor.gpu_type).map_or(0, fit))
    };
    let line = |flavor: &Flavor| FlavorLine {
        flavor: flavor.name.clone(),
        gpu_type: flavor.gpu_type.clone(),
        gpu_count: flavor.gpu_count,
        precision: flavor.precision.clone(),
        engine: match &flavor.launch {
            Launch::Engine(kind) => kind.as_str(),
            Launch::Argv(_) => "custom",
        },
        fits: replicas_that_fit(flavor).map(|replicas| replicas > 0),
        replicas_that_fit: replicas_that_fit(flavor),
        default_target: flavor.default_target.unwrap_or(DEFAULT_CONCURRENCY),
        price_per_gpu_hour: flavor.price_per_gpu_hour,
    };
    Ok(listed.flavors.iter().map(line).collect())
}
