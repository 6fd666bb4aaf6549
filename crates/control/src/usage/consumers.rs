//! Who uses the most, over all workspaces.

use crate::command_error::CommandError;
use crate::gpu_costs::{Tenure, tenures, until};
use domain::model_ref::dedicated_id;
use domain::span::plan;
use domain::usage::Totals;
use domain::{Day, NanoUsd, OrganizationId, Span, Timestamp, WorkspaceId, named_enum};
use std::collections::HashMap;
use store::holds::Owner;
use store::usage::sums::consumers::{self, Consumer, ConsumerKind};
use store::{Store, organizations, workspaces};

named_enum! {
    /// The order of consumers, the largest first.
    pub enum ConsumerOrder {
        Tokens = "tokens",
        /// The cost of tokens and of GPU-hours.
        Cost = "cost",
    }
}

/// The largest consumers of a span, of all organizations or of one. The GPU-hours of endpoints count as costs of the
/// endpoint and of its organization.
pub async fn largest(
    store: &Store,
    kind: ConsumerKind,
    order: ConsumerOrder,
    organization: Option<&OrganizationId>,
    span: Span,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Consumer>, CommandError> {
    let span = super::readable(store, span).await?;
    let mut all = consumers::read(store, kind, &plan(span, now)).await?;
    if matches!(kind, ConsumerKind::Organization | ConsumerKind::Endpoint) {
        add_gpu_time(store, &mut all, kind, until(span, now), now).await?;
    }
    if let Some(organization) = organization {
        all.retain(|one| one.organization.as_ref().is_some_and(|(id, _)| id == organization));
    }
    let tokens = |one: &Consumer| one.totals.prompt_tokens.saturating_add(one.totals.completion_tokens);
    match order {
        ConsumerOrder::Tokens => all.sort_by_key(|one| std::cmp::Reverse((tokens(one), one.totals.cost))),
        ConsumerOrder::Cost => all.sort_by_key(|one| std::cmp::Reverse((one.totals.cost, tokens(one)))),
    }
    all.truncate(limit);
    Ok(all)
}

/// Who pays for GPUs: an organization, or with its name an endpoint of a workspace.
#[derive(PartialEq, Eq, Hash)]
enum GpuConsumer {
    Organization(OrganizationId),
    Endpoint(WorkspaceId, String),
}

impl GpuConsumer {
    fn of(one: &Consumer, kind: ConsumerKind) -> Option<Self> {
        match kind {
            ConsumerKind::Endpoint => Some(Self::Endpoint(one.workspace.as_ref()?.0.clone(), one.model.clone())),
            ConsumerKind::Organization => Some(Self::Organization(one.organization.as_ref()?.0.clone())),
            ConsumerKind::Model | ConsumerKind::Key => None,
        }
    }
}

/// Adds the cost of endpoints to their consumers, which may have had no calls.
async fn add_gpu_time(
    store: &Store,
    all: &mut Vec<Consumer>,
    kind: ConsumerKind,
    span: Span,
    now: Timestamp,
) -> Result<(), CommandError> {
    let of = |(position, one): (usize, &Consumer)| Some((GpuConsumer::of(one, kind)?, position));
    let mut positions: HashMap<GpuConsumer, usize> = all.iter().enumerate().filter_map(of).collect();
    for tenure in tenures(store, Owner::Installation, span).await? {
        let cost = tenure.known().measure(span, span, now).cost;
        if cost == NanoUsd::ZERO {
            continue;
        }
        let consumer = match kind {
            ConsumerKind::Endpoint => GpuConsumer::Endpoint(tenure.workspace.clone(), dedicated_id(&tenure.name)),
            _ => GpuConsumer::Organization(tenure.organization.clone()),
        };
        if let Some(position) = positions.get(&consumer) {
            all[*position].totals.cost += cost;
        } else if let Some(new) = without_calls(store, &tenure, cost, now).await? {
            positions.insert(consumer, all.len());
            all.push(new);
        }
    }
    Ok(())
}

/// A consumer that had GPUs only. `None` if its organization was deleted.
async fn without_calls(
    store: &Store,
    tenure: &Tenure,
    cost: NanoUsd,
    now: Timestamp,
) -> Result<Option<Consumer>, CommandError> {
    let Some(organization) = organizations::by_id(store, &tenure.organization).await? else { return Ok(None) };
    let workspace = workspaces::by_id(store, &tenure.workspace).await?;
    Ok(Some(Consumer {
        organization: Some((organization.id, organization.name)),
        workspace: workspace.map(|workspace| (workspace.id, workspace.name)),
        model: dedicated_id(&tenure.name),
        actor: String::new(),
        actor_name: String::new(),
        totals: Totals { cost, ..Totals::default() },
        last_day: Day::of(now),
    }))
}
