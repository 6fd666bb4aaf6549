//! Who uses the most, over all workspaces.

use crate::command_error::CommandError;
use crate::gpu_costs::{Tenure, unmeasured, until};
use domain::model_ref::dedicated_id;
use domain::span::plan;
use domain::usage::Totals;
use domain::{Day, NanoUsd, OrganizationId, Span, Timestamp, WorkspaceId, gpu_time, named_enum};
use std::cmp::Reverse;
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
        Requests = "requests",
    }
}

impl ConsumerOrder {
    /// The number that consumers are sorted by.
    pub fn value_of(self, totals: &Totals) -> i64 {
        match self {
            Self::Tokens => number(totals.prompt_tokens.saturating_add(totals.completion_tokens)),
            Self::Cost => totals.cost.nanos(),
            Self::Requests => number(totals.requests),
        }
    }

    /// The order among consumers that are equal in this one.
    const fn next(self) -> Self {
        match self {
            Self::Tokens | Self::Requests => Self::Cost,
            Self::Cost => Self::Tokens,
        }
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
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
    let only = organization.as_slice();
    let mut all = read(store, kind, organization.is_some().then_some(only), span, now).await?;
    all.sort_by_key(|one| Reverse((order.value_of(&one.totals), order.next().value_of(&one.totals))));
    all.truncate(limit);
    Ok(all)
}

/// The consumers of a span in any order, of all organizations or of some.
pub(super) async fn read(
    store: &Store,
    kind: ConsumerKind,
    only: Option<&[&OrganizationId]>,
    span: Span,
    now: Timestamp,
) -> Result<Vec<Consumer>, CommandError> {
    let span = super::readable(store, span).await?;
    let pieces = plan(span, now);
    let mut all = match only {
        Some(organizations) => consumers::read_of(store, kind, organizations, &pieces).await?,
        None => consumers::read(store, kind, &pieces).await?,
    };
    if matches!(kind, ConsumerKind::Organization | ConsumerKind::Endpoint) {
        add_gpu_time(store, &mut all, kind, only, until(span, now), now).await?;
    }
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
    only: Option<&[&OrganizationId]>,
    span: Span,
    now: Timestamp,
) -> Result<(), CommandError> {
    let owner = match only {
        Some([organization]) => Owner::Organization(organization),
        Some(_) | None => Owner::Installation,
    };
    let of = |(position, one): (usize, &Consumer)| Some((GpuConsumer::of(one, kind)?, position));
    let mut positions: HashMap<GpuConsumer, usize> = all.iter().enumerate().filter_map(of).collect();
    for tenure in unmeasured(store, owner, span).await? {
        let cost = gpu_time::cost(&tenure.holds, &tenure.prices, span, now);
        if cost == NanoUsd::ZERO || only.is_some_and(|only| !only.contains(&&tenure.organization)) {
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
