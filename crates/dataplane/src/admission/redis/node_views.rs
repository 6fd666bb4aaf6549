//! The buckets in Redis as this node sees them, and its share of them while Redis is unreachable.

use crate::admission::charge::Charge;
use crate::admission::shards::{Counter, Counters, Shard, Shards};
use domain::WorkspaceId;
use domain::limits::{
    Carried, Counted, Exceeded, NodeBuckets, PerMinute, RateLimitStatus, Scope, SharedLevels, take_cost,
};
use std::time::Instant;

#[derive(Default)]
pub(super) struct NodeViews {
    shards: Shards<NodeBuckets>,
}

/// What this node hands over to Redis with a charge, for each scope that limits it.
pub(super) struct CarriedScopes {
    workspace: CarriedScope,
    key: Option<CarriedScope>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct CarriedScope {
    pub(super) limits: PerMinute,
    pub(super) carried: Carried,
}

impl CarriedScopes {
    /// In the order of [`Charge::limits`].
    pub(super) fn iter(&self) -> impl Iterator<Item = CarriedScope> {
        std::iter::once(self.workspace).chain(self.key)
    }
}

/// The number of nodes, and whether Redis was recently unreachable.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClusterState {
    pub(super) nodes: u32,
    pub(super) was_away: bool,
}

impl NodeViews {
    /// What to hand over with a charge. It counts as handed over from now on.
    pub(super) fn carry(&self, charge: &Charge, cluster: ClusterState, now: Instant) -> CarriedScopes {
        let now = self.shards.millis_at(now);
        let mut shard = self.shards.of(charge.workspace());
        let mut views = shard.get_mut(charge.workspace());
        let key = charge.key().map(|(key, own)| {
            let view = views.as_mut().and_then(|views| views.keys.get_mut(key));
            carry(view, own, cluster, now)
        });
        let view = views.map(|views| &mut views.workspace.buckets);
        CarriedScopes { workspace: carry(view, charge.workspace_limits, cluster, now), key }
    }

    /// The same for the buckets of a workspace alone.
    pub(super) fn carry_workspace(
        &self,
        workspace: &WorkspaceId,
        limits: PerMinute,
        cluster: ClusterState,
        now: Instant,
    ) -> CarriedScopes {
        let now = self.shards.millis_at(now);
        let mut shard = self.shards.of(workspace);
        let view = shard.get_mut(workspace).map(|views| &mut views.workspace.buckets);
        CarriedScopes { workspace: carry(view, limits, cluster, now), key: None }
    }

    /// Records the levels in a response of Redis, in the order of [`Charge::limits`].
    pub(super) fn note_response(&self, charge: &Charge, nodes: u32, mut levels: impl Iterator<Item = SharedLevels>) {
        let now = self.shards.millis_at(Instant::now());
        let Some(seen) = levels.next() else { return };
        let mut shard = self.shards.of(charge.workspace());
        let views = get_or_insert(&mut shard, charge, nodes, now, || NodeBuckets::shared(seen, now));
        views.workspace.buckets.note_response(charge.workspace_limits, nodes, seen, now);
        if let (Some((key, own)), Some(seen)) = (charge.key(), levels.next()) {
            let new = || NodeBuckets::shared(seen, now);
            let view = views.keys.get_or_insert(key, own, new, |view| is_idle(view, nodes, now));
            view.note_response(own, nodes, seen, now);
        }
    }

    /// Takes a charge from this node's share of the limits.
    pub(super) fn take_share(&self, charge: &Charge, nodes: u32) -> Result<RateLimitStatus, Exceeded> {
        let now = self.shards.millis_at(Instant::now());
        let (limits, cost) = (charge.workspace_limits, charge.cost());
        let mut shard = self.shards.of(charge.workspace());
        let views = get_or_insert(&mut shard, charge, nodes, now, || NodeBuckets::full_share(limits, nodes, now));
        let of_key = charge.key().map(|(key, own)| {
            let new = || NodeBuckets::full_share(own, nodes, now);
            (views.keys.get_or_insert(key, own, new, |view| is_idle(view, nodes, now)), own)
        });
        views.workspace.buckets.with_share(limits, nodes, now, |buckets| {
            let workspace = Counted { scope: Scope::Workspace, limits: limits.share(nodes), buckets };
            match of_key {
                None => take_cost(&mut [workspace], cost, now),
                Some((view, own)) => view.with_share(own, nodes, now, |buckets| {
                    let key = Counted { scope: Scope::Key, limits: own.share(nodes), buckets };
                    take_cost(&mut [workspace, key], cost, now)
                }),
            }
        })
    }

    /// Returns what a call took from the share and did not use; takes more if negative.
    pub(super) fn settle_share(&self, charge: &Charge, nodes: u32, requests: i64, tokens: i64, now: Instant) {
        self.update(charge, now, |view, limits, now| view.settle_share(limits, nodes, requests, tokens, now));
    }

    /// Follows a settlement that is sent to Redis.
    pub(super) fn settle_shared(&self, charge: &Charge, requests: i64, tokens: i64, now: Instant) {
        self.update(charge, now, |view, limits, now| view.settle_shared(limits, requests, tokens, now));
    }

    fn update(&self, charge: &Charge, now: Instant, update: impl Fn(&mut NodeBuckets, PerMinute, u64)) {
        let now = self.shards.millis_at(now);
        let mut shard = self.shards.of(charge.workspace());
        let Some(views) = shard.get_mut(charge.workspace()) else { return };
        update(&mut views.workspace.buckets, charge.workspace_limits, now);
        if let Some((key, own)) = charge.key()
            && let Some(view) = views.keys.get_mut(key)
        {
            update(view, own, now);
        }
    }

    /// This node's share of the limits of a workspace.
    pub(super) fn look(&self, workspace: &WorkspaceId, limits: PerMinute, nodes: u32) -> RateLimitStatus {
        let now = self.shards.millis_at(Instant::now());
        let shard = self.shards.of(workspace);
        let view = shard.get(workspace).map(|views| views.workspace.buckets);
        view.unwrap_or_else(|| NodeBuckets::full_share(limits, nodes, now)).share_status(limits, nodes, now)
    }
}

fn carry(view: Option<&mut NodeBuckets>, limits: PerMinute, cluster: ClusterState, now: u64) -> CarriedScope {
    let ClusterState { nodes, was_away } = cluster;
    let carried = match view {
        Some(view) => view.carry(limits, nodes, was_away, now),
        None => Carried::without_view(limits, nodes, was_away),
    };
    CarriedScope { limits, carried }
}

/// The views of a charge's workspace.
fn get_or_insert<'a>(
    shard: &'a mut Shard<NodeBuckets>,
    charge: &Charge,
    nodes: u32,
    now: u64,
    new: impl FnOnce() -> NodeBuckets,
) -> &'a mut Counters<NodeBuckets> {
    shard.get_or_insert(charge.workspace(), charge.workspace_limits, new, |view| is_idle(view, nodes, now))
}

fn is_idle(view: &Counter<NodeBuckets>, nodes: u32, now: u64) -> bool {
    view.buckets.is_idle(view.limits, nodes, now)
}
