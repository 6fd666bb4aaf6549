//! The costs of a workspace in a month: serverless calls per token, dedicated endpoints per GPU-hour.

use crate::command_error::CommandError;
use crate::gpu_costs::{days, tenures, until};
use crate::usage::{self, Report, ReportQuery};
use domain::gpu_time::GpuMillis;
use domain::grouping::{Dimension, Group};
use domain::quota::Account;
use domain::span::plan;
use domain::{CallClass, Day, Grouping, Month, NanoUsd, Span, Timestamp, WorkspaceId, forecast};
use std::collections::BTreeMap;
use store::holds::Owner;
use store::usage::sums::{self, Selection};
use store::{Store, spend};

/// An amount so far, and its linear forecast for the whole month; `None` in the first hour of the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub cost: NanoUsd,
    pub forecast: Option<NanoUsd>,
}

/// The parts of a cost by the class of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassCosts {
    pub interactive: NanoUsd,
    pub flex: NanoUsd,
    pub batch: NanoUsd,
}

impl ClassCosts {
    /// `all` contains `flex` and `batch`.
    fn parts(all: NanoUsd, flex: NanoUsd, batch: NanoUsd) -> Self {
        let interactive = NanoUsd::from_nanos(all.nanos() - flex.nanos() - batch.nanos());
        Self { interactive, flex, batch }
    }
}

/// One day of the month up to today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayCosts {
    pub day: Day,
    pub serverless: NanoUsd,
    /// The parts of `serverless`.
    pub classes: ClassCosts,
    pub dedicated: NanoUsd,
    pub gpu_time: GpuMillis,
}

/// The costs of a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Costs {
    pub month: Month,
    /// The part of the month that has passed.
    pub span: Span,
    pub serverless: Amount,
    /// The parts of `serverless`.
    pub classes: ClassCosts,
    pub dedicated: Amount,
    pub total: Amount,
    pub gpu_time: GpuMillis,
    /// Every day that has begun, also without costs; their sum is the total.
    pub days: Vec<DayCosts>,
}

/// The monthly budget of the workspace, or that of its organization if only that is spent or has less left. `None` for a month
/// that is not the current one: what its budget was is not stored.
pub async fn budget(
    store: &Store,
    workspace: &WorkspaceId,
    month: Month,
    now: Timestamp,
) -> Result<Option<Account>, CommandError> {
    if month != Month::of(now) {
        return Ok(None);
    }
    Ok(spend::tightest_account(store, workspace, month).await?)
}

/// The costs of a month that has begun.
pub async fn month(
    store: &Store,
    workspace: &WorkspaceId,
    month: Month,
    now: Timestamp,
) -> Result<Costs, CommandError> {
    if month.start() > now {
        return Err(CommandError::BadValue { field: "month", why: "this month has not begun" });
    }
    let whole = Span { from: month.start(), to: month.end() };
    // Read first: the calls that these know are in the sums of all calls, which only grow.
    let classes = classes_by_day(store, workspace, whole).await?;
    let serverless = serverless_by_day(store, workspace, whole, now).await?;
    let span = until(whole, now);
    let tenures = tenures(store, Owner::Workspace(workspace), span).await?;
    let mut found = Vec::new();
    for (day, piece) in days(span) {
        let Some(day) = day else { continue };
        let (mut dedicated, mut gpu_time) = (NanoUsd::ZERO, GpuMillis::default());
        for tenure in &tenures {
            let measure = tenure.known().measure(piece, span, now);
            dedicated += measure.cost;
            gpu_time += measure.gpu_time;
        }
        let serverless = serverless.get(&day).copied().unwrap_or(NanoUsd::ZERO);
        let (flex, batch) = classes.get(&day).copied().unwrap_or_default();
        let classes = ClassCosts::parts(serverless, flex, batch);
        found.push(DayCosts { day, serverless, classes, dedicated, gpu_time });
    }
    let sum = |part: fn(&DayCosts) -> NanoUsd| {
        found.iter().map(part).fold(NanoUsd::ZERO, |mut sum, cost| {
            sum += cost;
            sum
        })
    };
    let amount = |cost| Amount { cost, forecast: forecast::linear(cost, month, now) };
    let (serverless, dedicated) = (sum(|day| day.serverless), sum(|day| day.dedicated));
    let mut both = serverless;
    both += dedicated;
    Ok(Costs {
        month,
        span,
        serverless: amount(serverless),
        classes: ClassCosts::parts(serverless, sum(|day| day.classes.flex), sum(|day| day.classes.batch)),
        dedicated: amount(dedicated),
        total: amount(both),
        gpu_time: found.iter().map(|day| day.gpu_time).sum(),
        days: found,
    })
}

/// The serverless calls of a month by group.
pub async fn by_group(
    store: &Store,
    workspace: &WorkspaceId,
    month: Month,
    grouping: Grouping,
    now: Timestamp,
) -> Result<Report, CommandError> {
    let query = ReportQuery { from: Some(month.start()), to: Some(month.end()), grouping, actor: None };
    usage::report(store, workspace, query, now).await
}

/// The costs of flex calls and of batches.
async fn classes_by_day(
    store: &Store,
    workspace: &WorkspaceId,
    span: Span,
) -> Result<BTreeMap<Day, (NanoUsd, NanoUsd)>, CommandError> {
    let mut days: BTreeMap<Day, (NanoUsd, NanoUsd)> = BTreeMap::new();
    for sum in sums::read_classes(store, workspace, span).await? {
        let (flex, batch) = days.entry(sum.day).or_default();
        match sum.class {
            CallClass::Interactive => {}
            CallClass::Flex => *flex += sum.totals.cost,
            CallClass::Batch => *batch += sum.totals.cost,
        }
    }
    Ok(days)
}

async fn serverless_by_day(
    store: &Store,
    workspace: &WorkspaceId,
    span: Span,
    now: Timestamp,
) -> Result<BTreeMap<Day, NanoUsd>, CommandError> {
    let grouping = Grouping::from(&[Dimension::Day][..]);
    let sums = sums::read(store, Selection::all(workspace), &plan(span, now), &grouping).await?;
    let mut days: BTreeMap<Day, NanoUsd> = BTreeMap::new();
    for sum in sums {
        if let Some(Group::Day(day)) = sum.groups.first() {
            *days.entry(*day).or_default() += sum.totals.cost;
        }
    }
    Ok(days)
}
