//! The buckets in Redis as this node sees them, and its share of them while Redis is unreachable.

use crate::admission::charge::Charge;
use crate::admission::shards::{Counter, Counters, Shard, Shards};
use domain::limits::{
    Buckets, Carried, Counted, Exceeded, NodeBuckets, PerMinute, RateLimitStatus, SharedLevels, take_cost,
};
use std::time::Instant;

#[derive(Default)]
pub(super) struct NodeViews {
    shards: Shards<NodeBuckets>,
}

/// What this node hands over to Redis with a charge, for one scope that limits it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CarriedScope {
    pub(super) limits: PerMinute,
    pub(super) carried: Carried,
}

/// The number of nodes, and whether Redis was recently unreachable.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClusterState {
    pub(super) nodes: u32,
    pub(super) was_away: bool,
}

impl NodeViews {
    /// What to hand over with a charge, in the order of [`Charge::limits`]. It counts as handed over from now on.
    pub(super) fn carry(&self, charge: &Charge, cluster: ClusterState, now: Instant) -> Vec<CarriedScope> {
        let now = self.shards.millis_at(now);
        let mut shard = self.shards.of(&charge.home);
        let mut views = shard.get_mut(&charge.home);
        let home = views.as_mut().map(|views| &mut views.home.buckets);
        let mut all = Vec::with_capacity(charge.others.len() + 1);
        all.push(carry(home, charge.home_limits, cluster, now));
        for one in &charge.others {
            let view = views.as_mut().and_then(|views| views.others.get_mut(&one.id));
            all.push(carry(view, one.limits, cluster, now));
        }
        all
    }

    /// Records the levels in a response of Redis, in the order of [`Charge::limits`].
    pub(super) fn note_response(&self, charge: &Charge, nodes: u32, mut levels: impl Iterator<Item = SharedLevels>) {
        let now = self.shards.millis_at(Instant::now());
        let Some(seen) = levels.next() else { return };
        let mut shard = self.shards.of(&charge.home);
        let views = get_or_insert(&mut shard, charge, nodes, now, || NodeBuckets::shared(seen, now));
        views.home.buckets.note_response(charge.home_limits, nodes, seen, now);
        for (one, seen) in charge.others.iter().zip(levels) {
            let new = || NodeBuckets::shared(seen, now);
            let view = views.others.get_or_insert(one, new, |view| is_idle(view, nodes, now));
            view.note_response(one.limits, nodes, seen, now);
        }
    }

    /// Takes a charge from this node's share of the limits.
    pub(super) fn take_share(&self, charge: &Charge, nodes: u32) -> Result<RateLimitStatus, Exceeded> {
        let now = self.shards.millis_at(Instant::now());
        let mut shard = self.shards.of(&charge.home);
        let full = |limits| NodeBuckets::full_share(limits, nodes, now);
        let views = get_or_insert(&mut shard, charge, nodes, now, || full(charge.home_limits));
        let mut levels: Vec<Buckets> = vec![views.home.buckets.share(charge.home_limits, nodes, now)];
        for one in &charge.others {
            let view = views.others.get_or_insert(one, || full(one.limits), |view| is_idle(view, nodes, now));
            levels.push(view.share(one.limits, nodes, now));
        }
        let mut scopes: Vec<_> = charge
            .limits()
            .zip(&mut levels)
            .map(|((scope, limits), buckets)| Counted { scope, limits: limits.share(nodes), buckets })
            .collect();
        let status = take_cost(&mut scopes, charge.cost(), now)?;
        views.home.buckets.keep_share(levels[0]);
        for (one, left) in charge.others.iter().zip(&levels[1..]) {
            if let Some(view) = views.others.get_mut(&one.id) {
                view.keep_share(*left);
            }
        }
        Ok(status)
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
        let mut shard = self.shards.of(&charge.home);
        let Some(views) = shard.get_mut(&charge.home) else { return };
        update(&mut views.home.buckets, charge.home_limits, now);
        for one in &charge.others {
            if let Some(view) = views.others.get_mut(&one.id) {
                update(view, one.limits, now);
            }
        }
    }

    /// This node's share of the limits of a charge, which is not taken.
    pub(super) fn look(&self, charge: &Charge, nodes: u32) -> RateLimitStatus {
        let now = self.shards.millis_at(Instant::now());
        let mut shard = self.shards.of(&charge.home);
        let mut views = shard.get_mut(&charge.home);
        let status = |view: Option<NodeBuckets>, limits| {
            let view = view.unwrap_or_else(|| NodeBuckets::full_share(limits, nodes, now));
            view.share_status(limits, nodes, now)
        };
        let home = status(views.as_ref().map(|views| views.home.buckets), charge.home_limits);
        charge.others.iter().fold(home, |tightest, one| {
            let view = views.as_mut().and_then(|views| views.others.get_mut(&one.id).copied());
            tightest.tighter(status(view, one.limits))
        })
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

/// The views of a charge's home.
fn get_or_insert<'a>(
    shard: &'a mut Shard<NodeBuckets>,
    charge: &Charge,
    nodes: u32,
    now: u64,
    new: impl FnOnce() -> NodeBuckets,
) -> &'a mut Counters<NodeBuckets> {
    shard.get_or_insert(charge, new, |view| is_idle(view, nodes, now))
}

fn is_idle(view: &Counter<NodeBuckets>, nodes: u32, now: u64) -> bool {
    view.buckets.is_idle(view.limits, nodes, now)
}
