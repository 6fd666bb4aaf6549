//! The invoice of a workspace for a month: lines whose amounts add up to the total.

use crate::command_error::CommandError;
use crate::gpu_costs::{tenures, until};
use domain::gpu_time::{self, GpuMillis, PriceSince};
use domain::grouping::{Dimension, Group};
use domain::span::plan;
use domain::usage::Totals;
use domain::{
    CallClass, EndpointId, GpuType, Grouping, ModelId, Month, NanoUsd, Organization, Span, Timestamp, Workspace,
};
use std::collections::BTreeMap;
use store::holds::Owner;
use store::usage::sums::{self, Selection};
use store::{Store, organizations};

/// Grace period after the end of a month, in which holds may be corrected and late events may arrive.
const SETTLES_AFTER_MILLIS: i64 = 15 * 60_000;

/// All calls of a class to one model of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerlessLine {
    pub model: ModelId,
    pub class: CallClass,
    pub totals: Totals,
}

/// The GPU-hours of one endpoint at one price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DedicatedLine {
    pub endpoint: EndpointId,
    pub name: String,
    pub model: ModelId,
    pub flavor: String,
    pub gpu_type: GpuType,
    pub price_per_gpu_hour: NanoUsd,
    pub gpu_time: GpuMillis,
    /// GPU time of failed starts, which is not part of the amount.
    pub unbilled: GpuMillis,
    pub cost: NanoUsd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoice {
    pub organization: Organization,
    pub workspace: Workspace,
    pub month: Month,
    pub span: Span,
    /// The invoice will not change, except for usage that is still in the journal of a node.
    pub is_final: bool,
    pub serverless: Vec<ServerlessLine>,
    pub dedicated: Vec<DedicatedLine>,
    pub serverless_cost: NanoUsd,
    pub dedicated_cost: NanoUsd,
    pub total: NanoUsd,
}

/// The invoice of a month that has begun; until it is over, of the month to date.
pub async fn invoice(
    store: &Store,
    workspace: Workspace,
    month: Month,
    now: Timestamp,
) -> Result<Invoice, CommandError> {
    if month.start() > now {
        return Err(CommandError::BadValue { field: "month", why: "this month has not begun" });
    }
    let organization = organizations::by_id(store, &workspace.organization).await?;
    let organization =
        organization.ok_or_else(|| CommandError::missing("organization", workspace.organization.as_str()))?;
    let whole = Span { from: month.start(), to: month.end() };
    let serverless = serverless(store, &workspace, whole, now).await?;
    let span = until(whole, now);
    let dedicated = dedicated(store, &workspace, span, now).await?;
    let sum = |costs: &mut dyn Iterator<Item = NanoUsd>| {
        costs.fold(NanoUsd::ZERO, |mut sum, cost| {
            sum += cost;
            sum
        })
    };
    let serverless_cost = sum(&mut serverless.iter().map(|line| line.totals.cost));
    let dedicated_cost = sum(&mut dedicated.iter().map(|line| line.cost));
    Ok(Invoice {
        organization,
        workspace,
        month,
        span,
        is_final: now.millis() >= whole.to.millis() + SETTLES_AFTER_MILLIS,
        serverless,
        dedicated,
        serverless_cost,
        dedicated_cost,
        total: sum(&mut [serverless_cost, dedicated_cost].into_iter()),
    })
}

/// Lines per model and class, without calls to dedicated endpoints, whose tokens cost nothing.
async fn serverless(
    store: &Store,
    workspace: &Workspace,
    span: Span,
    now: Timestamp,
) -> Result<Vec<ServerlessLine>, CommandError> {
    // Read first: the calls that these know are in the sums of all calls, which only grow.
    let mut apart: BTreeMap<(ModelId, CallClass), Totals> = BTreeMap::new();
    for sum in sums::read_classes(store, &workspace.id, span).await? {
        *apart.entry((sum.model, sum.class)).or_default() += sum.totals;
    }
    let grouping = Grouping::from(&[Dimension::Model][..]);
    let mut lines = Vec::new();
    for sum in sums::read(store, Selection::all(&workspace.id), &plan(span, now), &grouping).await? {
        if let Some(Group::Model(model)) = sum.groups.into_iter().next()
            && !model.is_dedicated()
        {
            let mut interactive = sum.totals;
            let classes = CallClass::ALL.into_iter().filter_map(|class| {
                let totals = apart.remove(&(model.clone(), class))?;
                interactive -= totals;
                Some(ServerlessLine { model: model.clone(), class, totals })
            });
            let classes: Vec<_> = classes.collect();
            if interactive != Totals::default() {
                lines.push(ServerlessLine { model, class: CallClass::Interactive, totals: interactive });
            }
            lines.extend(classes);
        }
    }
    Ok(lines)
}

async fn dedicated(
    store: &Store,
    workspace: &Workspace,
    span: Span,
    now: Timestamp,
) -> Result<Vec<DedicatedLine>, CommandError> {
    let mut lines = Vec::new();
    for tenure in tenures(store, Owner::Workspace(&workspace.id), span).await? {
        for (PriceSince { price_per_gpu_hour, .. }, piece) in gpu_time::versions(&tenure.prices, span) {
            let time = |billable: bool| {
                let holds = tenure.holds.iter().filter(|hold| hold.billable == billable);
                holds.map(|hold| hold.gpu_time(piece, now)).sum::<GpuMillis>()
            };
            let (gpu_time, unbilled) = (time(true), time(false));
            if gpu_time == GpuMillis::default() && unbilled == GpuMillis::default() {
                continue;
            }
            lines.push(DedicatedLine {
                endpoint: tenure.endpoint.clone(),
                name: tenure.name.clone(),
                model: tenure.model.clone(),
                flavor: tenure.flavor.clone(),
                gpu_type: tenure.gpu_type.clone(),
                price_per_gpu_hour,
                gpu_time,
                unbilled,
                cost: gpu_time.cost(price_per_gpu_hour),
            });
        }
    }
    Ok(lines)
}
