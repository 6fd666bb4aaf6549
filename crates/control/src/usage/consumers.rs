//! Who uses the most, over all workspaces.

use crate::command_error::CommandError;
use crate::gpu_costs::{Tenure, tenures, until};
use domain::model_ref::dedicated_id;
use domain::span::plan;
use domain::usage::Totals;
use domain::{Day, NanoUsd, Span, Timestamp, named_enum};
use store::holds::Owner;
use store::usage::sums::consumers::{self, Consumer, ConsumerKind};
use store::{Store, organizations, workspaces};

named_enum! {
    /// The order of consumers, the largest first.
    pub enum ConsumerOrder {
        Tokens = "tokens",
        /// Of tokens and of GPU-hours.
        Cost = "cost",
    }
}

/// The largest consumers of a span. The GPU-hours of endpoints count as costs of the endpoint and of its organization.
pub async fn largest(
    store: &Store,
    kind: ConsumerKind,
    order: ConsumerOrder,
    span: Span,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Consumer>, CommandError> {
    let span = super::readable(store, span).await?;
    let mut all = consumers::read(store, kind, &plan(span, now)).await?;
    if matches!(kind, ConsumerKind::Organization | ConsumerKind::Endpoint) {
        for tenure in tenures(store, Owner::Installation, until(span, now)).await? {
            add_gpu_time(store, &mut all, kind, &tenure, until(span, now), now).await?;
        }
    }
    let tokens = |one: &Consumer| one.totals.prompt_tokens.saturating_add(one.totals.completion_tokens);
    match order {
        ConsumerOrder::Tokens => all.sort_by_key(|one| std::cmp::Reverse((tokens(one), one.totals.cost))),
        ConsumerOrder::Cost => all.sort_by_key(|one| std::cmp::Reverse((one.totals.cost, tokens(one)))),
    }
    all.truncate(limit);
    Ok(all)
}

/// Adds the cost of an endpoint to its consumer, which may have had no calls.
async fn add_gpu_time(
    store: &Store,
    all: &mut Vec<Consumer>,
    kind: ConsumerKind,
    tenure: &Tenure,
    span: Span,
    now: Timestamp,
) -> Result<(), CommandError> {
    let cost = tenure.known().measure(span, span, now).cost;
    if cost == NanoUsd::ZERO {
        return Ok(());
    }
    let model = dedicated_id(&tenure.name);
    let is_same = |one: &Consumer| match kind {
        ConsumerKind::Endpoint => {
            one.model == model && one.workspace.as_ref().is_some_and(|(id, _)| *id == tenure.workspace)
        }
        _ => one.organization.as_ref().is_some_and(|(id, _)| *id == tenure.organization),
    };
    if let Some(consumer) = all.iter_mut().find(|one| is_same(one)) {
        consumer.totals.cost += cost;
        return Ok(());
    }
    let Some(organization) = organizations::by_id(store, &tenure.organization).await? else { return Ok(()) };
    let workspace = workspaces::by_id(store, &tenure.workspace).await?;
    all.push(Consumer {
        organization: Some((organization.id, organization.name)),
        workspace: workspace.map(|workspace| (workspace.id, workspace.name)),
        model,
        actor: String::new(),
        actor_name: String::new(),
        totals: Totals { cost, ..Totals::default() },
        last_day: Day::of(now),
    });
    Ok(())
}
