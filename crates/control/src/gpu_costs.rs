//! GPU time of dedicated endpoints, its costs, and how busy the GPUs were.

use crate::command_error::CommandError;
use crate::gpu_prices;
use domain::gpu_costs::{Dimension, Group};
use domain::gpu_time::{self, GpuBusy, GpuUsage, Hold, Measure, PriceSince};
use domain::{Day, EndpointId, GpuType, ModelId, Month, NanoUsd, OrganizationId, Span, Timestamp, WorkspaceId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::holds::{self, Owner};
use store::{Store, gpu_busy};

/// Holds, prices and measurements of one endpoint in a span.
#[derive(Debug, Clone)]
pub struct Tenure {
    pub endpoint: EndpointId,
    pub name: String,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub model: ModelId,
    pub flavor: String,
    pub gpu_type: GpuType,
    pub holds: Vec<Hold>,
    pub prices: Vec<PriceSince>,
    pub busy: BTreeMap<Timestamp, GpuBusy>,
}

impl Tenure {
    pub fn known(&self) -> GpuUsage<'_> {
        GpuUsage { holds: &self.holds, prices: &self.prices, busy: &self.busy }
    }
}

/// GPU costs: one line per group that held GPUs, and their sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuCostReport {
    pub span: Span,
    pub dimensions: Vec<Dimension>,
    pub lines: Vec<(Group, Measure)>,
    pub total: Measure,
}

/// The costs of an owner; `visible` restricts them to the workspaces that the reader may see.
pub async fn report(
    store: &Store,
    owner: Owner<'_>,
    visible: Option<&BTreeSet<WorkspaceId>>,
    span: Span,
    dimensions: &[Dimension],
    now: Timestamp,
) -> Result<GpuCostReport, CommandError> {
    let span = until(span, now);
    let mut tenures = tenures(store, owner, span).await?;
    tenures.retain(|tenure| visible.is_none_or(|visible| visible.contains(&tenure.workspace)));
    let (lines, total) = divide(&tenures, span, dimensions, now);
    Ok(GpuCostReport { span, dimensions: dimensions.to_vec(), lines, total })
}

/// Cuts off the future part of a span.
pub(crate) fn until(span: Span, now: Timestamp) -> Span {
    Span { from: span.from, to: span.to.min(now).max(span.from) }
}

/// What the GPU-hours of an owner have cost in a month until `now`, by workspace. How busy the GPUs were is not read.
pub(crate) async fn by_workspace(
    store: &Store,
    owner: Owner<'_>,
    month: Month,
    now: Timestamp,
) -> Result<BTreeMap<WorkspaceId, NanoUsd>, CommandError> {
    let span = until(Span { from: month.start(), to: month.end() }, now);
    let mut costs: BTreeMap<WorkspaceId, NanoUsd> = BTreeMap::new();
    for tenure in unmeasured(store, owner, span).await? {
        *costs.entry(tenure.workspace).or_default() += gpu_time::cost(&tenure.holds, &tenure.prices, span, now);
    }
    Ok(costs)
}

/// [`by_workspace`], in the month of `now`.
pub(crate) async fn this_month(
    store: &Store,
    owner: Owner<'_>,
    now: Timestamp,
) -> Result<BTreeMap<WorkspaceId, NanoUsd>, CommandError> {
    by_workspace(store, owner, Month::of(now), now).await
}

/// The endpoints that held GPUs in a span.
pub(crate) async fn tenures(store: &Store, owner: Owner<'_>, span: Span) -> Result<Vec<Tenure>, CommandError> {
    let mut tenures = unmeasured(store, owner, span).await?;
    for tenure in &mut tenures {
        tenure.busy = gpu_busy::list(store, &tenure.endpoint, span).await?;
    }
    Ok(tenures)
}

/// [`tenures`], without the measurements.
pub(crate) async fn unmeasured(store: &Store, owner: Owner<'_>, span: Span) -> Result<Vec<Tenure>, CommandError> {
    let mut tenures: BTreeMap<EndpointId, Tenure> = BTreeMap::new();
    let mut prices: HashMap<(ModelId, String), Vec<PriceSince>> = HashMap::new();
    for billed in holds::of_owner(store, owner, span).await? {
        let endpoint = billed.held.endpoint.clone();
        if let Some(tenure) = tenures.get_mut(&endpoint) {
            tenure.holds.push(billed.held.hold);
            continue;
        }
        let flavor = (billed.model.clone(), billed.flavor.clone());
        let versions = match prices.get(&flavor) {
            Some(versions) => versions.clone(),
            None => {
                let held = PriceSince {
                    valid_from: billed.held.hold.started_at,
                    price_per_gpu_hour: billed.held.price_per_gpu_hour,
                };
                let versions = gpu_prices::of_flavor(store, &flavor.0, &flavor.1, held).await?;
                prices.insert(flavor, versions.clone());
                versions
            }
        };
        let tenure = Tenure {
            name: billed.endpoint_name,
            organization: billed.organization,
            workspace: billed.workspace,
            model: billed.model,
            flavor: billed.flavor,
            gpu_type: billed.gpu_type,
            holds: vec![billed.held.hold],
            prices: versions,
            busy: BTreeMap::new(),
            endpoint: endpoint.clone(),
        };
        tenures.insert(endpoint, tenure);
    }
    Ok(tenures.into_values().collect())
}

/// Lines in the order of their groups. For any dimensions, they add up to the total.
fn divide(
    tenures: &[Tenure],
    span: Span,
    dimensions: &[Dimension],
    now: Timestamp,
) -> (Vec<(Group, Measure)>, Measure) {
    let by = |dimension| dimensions.contains(&dimension);
    let mut lines: BTreeMap<Group, Measure> = BTreeMap::new();
    let mut total = Measure::default();
    if dimensions.is_empty() {
        lines.insert(Group::default(), Measure::default());
    }
    for tenure in tenures {
        let pieces = if by(Dimension::Day) { days(span) } else { vec![(None, span)] };
        for (day, piece) in pieces {
            let measure = tenure.known().measure(piece, span, now);
            if measure == Measure::default() {
                continue;
            }
            let group = Group {
                day,
                workspace: by(Dimension::Workspace).then(|| tenure.workspace.clone()),
                endpoint: by(Dimension::Endpoint).then(|| (tenure.endpoint.clone(), tenure.name.clone())),
                gpu_type: by(Dimension::GpuType).then(|| tenure.gpu_type.clone()),
            };
            *lines.entry(group).or_default() += measure;
            total += measure;
        }
    }
    (lines.into_iter().collect(), total)
}

/// The days of a span; the first and the last may be partial.
pub(crate) fn days(span: Span) -> Vec<(Option<Day>, Span)> {
    let mut days = Vec::new();
    let mut day = Day::of(span.from);
    while day.start() < span.to {
        let piece = Span { from: day.start().max(span.from), to: day.next().start().min(span.to) };
        days.push((Some(day), piece));
        day = day.next();
    }
    days
}
