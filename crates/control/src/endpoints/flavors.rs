use super::{CommandContext, Refusal};
use domain::endpoint::scaling::DEFAULT_CONCURRENCY;
use domain::model::{Flavor, Launch};
use domain::{GpuType, ModelId, NanoUsd, OrganizationId};
use serde::Serialize;
use store::allotments;

/// A flavor that a model is offered in, and whether it fits what is left of the allotment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlavorLine {
    pub flavor: String,
    pub gpu_type: GpuType,
    pub gpu_count: u32,
    pub precision: String,
    /// `custom` for an operator's own command line.
    pub engine: &'static str,
    /// None when the ledger cannot be read: looking never fails for that.
    pub fits: Option<bool>,
    pub replicas_that_fit: Option<u64>,
    pub default_target: u32,
    pub price_per_gpu_hour: NanoUsd,
}

/// The list depends on the model alone: what does not fit is marked, not hidden.
pub async fn flavors(
    office: CommandContext<'_>,
    organization: &OrganizationId,
    model: &ModelId,
) -> Result<Vec<FlavorLine>, Refusal> {
    let unknown = || Refusal::ModelNotFound { model: model.clone() };
    let listed = office.catalogue.get(model.as_str()).ok_or_else(unknown)?;
    let ledgers = allotments::list(office.store, organization, office.defaults).await;
    let ledgers = ledgers
        .inspect_err(|error| tracing::warn!(%error, "the ledger cannot be read; flavors are listed without it"))
        .ok();
    let fitting = |flavor: &Flavor| {
        let left = |ledger: &domain::allotment::Ledger| ledger.replicas_that_fit(flavor.gpu_count);
        ledgers.as_ref().map(|ledgers| ledgers.get(&flavor.gpu_type).map_or(0, left))
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
        fits: fitting(flavor).map(|replicas| replicas > 0),
        replicas_that_fit: fitting(flavor),
        default_target: flavor.default_target.unwrap_or(DEFAULT_CONCURRENCY),
        price_per_gpu_hour: flavor.price_per_gpu_hour,
    };
    Ok(listed.flavors.iter().map(line).collect())
}
