//! The invoice of a workspace for a month: lines whose amounts add up to the total.

use crate::command_error::CommandError;
use crate::gpu_costs::{tenures, until};
use domain::gpu_time::{self, GpuMillis, PriceSince};
use domain::grouping::{Dimension, Group};
use domain::span::plan;
use domain::usage::Totals;
use domain::{EndpointId, GpuType, Grouping, ModelId, Month, NanoUsd, Organization, Span, Timestamp, Workspace};
use store::holds::Owner;
use store::usage::sums;
use store::{Store, organizations};

/// Grace period after the end of a month, in which holds may be corrected and late events may arrive.
const SETTLES_AFTER_MILLIS: i64 = 15 * 60_000;

/// All calls to one model of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerlessLine {
    pub model: ModelId,
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

/// Lines per model, without calls to dedicated endpoints, whose tokens cost nothing.
async fn serverless(
    store: &Store,
    workspace: &Workspace,
    span: Span,
    now: Timestamp,
) -> Result<Vec<ServerlessLine>, CommandError> {
    let grouping = Grouping::from(&[Dimension::Model][..]);
    let mut lines = Vec::new();
    for sum in sums::read(store, &workspace.id, &plan(span, now), &grouping).await? {
        if let Some(Group::Model(model)) = sum.groups.into_iter().next()
            && !model.is_dedicated()
        {
            lines.push(ServerlessLine { model, totals: sum.totals });
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
