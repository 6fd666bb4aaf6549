//! Rate limits in the memory of this process.

use super::charge::Charge;
use super::shards::{Counter, Counters, Shard, Shards};
use domain::limits::{Buckets, Counted, Exceeded, RateLimitStatus, take_cost};
use std::time::Instant;

#[derive(Default)]
pub struct MemoryLimits {
    shards: Shards<Buckets>,
}

impl MemoryLimits {
    pub(super) fn take(&self, charge: &Charge) -> Result<RateLimitStatus, Exceeded> {
        let now = self.shards.millis_at(Instant::now());
        let mut shard = self.shards.of(&charge.home);
        let counters = counters(&mut shard, charge, now);
        let buckets = &mut counters.home.buckets;
        let home = Counted { scope: charge.home_scope(), limits: charge.home_limits, buckets };
        if charge.others.is_empty() {
            return take_cost(&mut [home], charge.cost(), now);
        }
        let mut levels: Vec<Buckets> = Vec::with_capacity(charge.others.len());
        for one in &charge.others {
            let new = || Buckets::full(one.limits, now);
            levels.push(*counters.others.get_or_insert(one, new, |counter| is_full(counter, now)));
        }
        let mut scopes = Vec::with_capacity(charge.others.len() + 1);
        scopes.push(home);
        scopes.extend(charge.others.iter().zip(&mut levels).map(|(one, buckets)| Counted {
            scope: one.scope(),
            limits: one.limits,
            buckets,
        }));
        let status = take_cost(&mut scopes, charge.cost(), now)?;
        for (one, left) in charge.others.iter().zip(levels) {
            if let Some(buckets) = counters.others.get_mut(&one.id) {
                *buckets = left;
            }
        }
        Ok(status)
    }

    /// Returns requests and tokens to the buckets; takes them if negative.
    pub(super) fn give(&self, charge: &Charge, requests: i64, tokens: i64, now: Instant) {
        let now = self.shards.millis_at(now);
        let mut shard = self.shards.of(&charge.home);
        let counters = counters(&mut shard, charge, now);
        counters.home.buckets.settle(charge.home_limits, requests, tokens, now);
        for one in &charge.others {
            if let Some(buckets) = counters.others.get_mut(&one.id) {
                buckets.settle(one.limits, requests, tokens, now);
            }
        }
    }

    /// The status of all limits of a charge, which is not taken.
    pub(super) fn look(&self, charge: &Charge) -> RateLimitStatus {
        let now = self.shards.millis_at(Instant::now());
        let mut shard = self.shards.of(&charge.home);
        let counters = shard.get_mut(&charge.home);
        let full = |limits| Buckets::full(limits, now);
        let Some(counters) = counters else {
            let all = charge.limits().map(|(_, limits)| full(limits).status(limits, now));
            return all.reduce(RateLimitStatus::tighter).expect("a charge has a home");
        };
        let home = counters.home.buckets.status(charge.home_limits, now);
        charge.others.iter().fold(home, |tightest, one| {
            let buckets = counters.others.get_mut(&one.id).copied().unwrap_or_else(|| full(one.limits));
            tightest.tighter(buckets.status(one.limits, now))
        })
    }
}

/// The counters of a charge's home.
fn counters<'a>(shard: &'a mut Shard<Buckets>, charge: &Charge, now: u64) -> &'a mut Counters<Buckets> {
    shard.get_or_insert(charge, || Buckets::full(charge.home_limits, now), |counter| is_full(counter, now))
}

/// Full buckets can be dropped: new ones would be equal.
fn is_full(counter: &Counter<Buckets>, now: u64) -> bool {
    counter.buckets.is_full(counter.limits, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::charge::ChargedCall;
    use domain::key_limits::{KeyLimits, ModelLimit};
    use domain::limits::{OwnPerMinute, PerMinute, Scope, Unit};
    use domain::usage::Actor;
    use domain::{Caller, KeyId, ModelId, OrganizationId, RequestId, Timestamp, WorkspaceId};

    const NOW: Timestamp = Timestamp::from_millis(1);

    const LIMITS: PerMinute = PerMinute { requests: 10, tokens: 1_000_000 };

    fn caller(workspace: u128) -> Caller {
        let (organization, workspace) = (OrganizationId::new(NOW, 1), WorkspaceId::new(NOW, workspace));
        Caller::new(organization, workspace, Actor::Key(KeyId::new(NOW, 1)))
    }

    fn charge(workspace: u128, key: Option<u64>, tokens: u64) -> Charge {
        let caller = Caller { key_limits: OwnPerMinute { requests: key, tokens: None }, ..caller(workspace) };
        Charge::new(&caller, LIMITS, ChargedCall::default(), RequestId::new(NOW, 0)).with_tokens(tokens)
    }

    #[test]
    fn workspaces_share_the_limits_of_their_organization() {
        let memory = MemoryLimits::default();
        let charge = |workspace| {
            let shared = OwnPerMinute { requests: Some(15), tokens: None };
            let caller = Caller { organization_limits: shared, ..caller(workspace) };
            Charge::new(&caller, LIMITS, ChargedCall::default(), RequestId::new(NOW, 0))
        };
        for _ in 0..10 {
            memory.take(&charge(1)).unwrap();
        }
        assert_eq!(memory.take(&charge(1)).unwrap_err().scope, Scope::Workspace);
        assert_eq!(memory.look(&charge(2)).requests.remaining, 5, "the tighter one");
        for _ in 0..5 {
            memory.take(&charge(2)).unwrap();
        }
        let error = memory.take(&charge(2)).unwrap_err();
        assert_eq!((error.scope, error.limit, error.used), (Scope::Organization, 15, 15));
        memory.give(&charge(1), 1, 0, Instant::now());
        memory.take(&charge(2)).unwrap();
    }

    #[test]
    fn models_of_one_prefix_share_a_limit_of_the_key() {
        let memory = MemoryLimits::default();
        let entry = |model, requests| ModelLimit::new(model, Some(requests), None).unwrap();
        let limits = KeyLimits::new(vec![entry("acme/*", 3), entry("acme/big", 1)]).unwrap();
        let caller = caller(1).limited(&limits);
        let charge = |model: &str| {
            let model = ModelId::parse(model).unwrap();
            let of = ChargedCall { model: Some(&model), end_user: None };
            Charge::new(&caller, LIMITS, of, RequestId::new(NOW, 0))
        };
        for model in ["acme/a", "acme/b", "acme/c", "acme/big", "other/a"] {
            memory.take(&charge(model)).unwrap();
        }
        for (model, limit) in [("acme/a", 3), ("acme/big", 1)] {
            let error = memory.take(&charge(model)).unwrap_err();
            assert_eq!((error.scope, error.unit, error.limit), (Scope::Model, Unit::Requests, limit));
        }
        memory.take(&charge("other/a")).unwrap();
        assert_eq!(
            memory
                .look(&Charge::new(&caller, LIMITS, ChargedCall::default(), RequestId::new(NOW, 0)))
                .requests
                .remaining,
            4
        );
    }

    #[test]
    fn each_workspace_has_its_own_buckets_shared_by_its_keys() {
        let memory = MemoryLimits::default();
        for _ in 0..2 {
            memory.take(&charge(1, Some(2), 1)).unwrap();
        }
        let error = memory.take(&charge(1, Some(2), 1)).unwrap_err();
        assert_eq!((error.scope, error.unit, error.limit, error.used), (Scope::Key, Unit::Requests, 2, 2));
        for _ in 0..8 {
            memory.take(&charge(1, None, 1)).unwrap();
        }
        assert_eq!(memory.take(&charge(1, None, 1)).unwrap_err().scope, Scope::Workspace);
        memory.take(&charge(2, None, 1)).unwrap();
    }

    #[test]
    fn undone_charges_do_not_count() {
        let memory = MemoryLimits::default();
        for _ in 0..50 {
            memory.take(&charge(1, Some(5), 500_000)).unwrap();
            memory.give(&charge(1, Some(5), 0), 1, 500_000, Instant::now());
        }
        let left = memory.look(&charge(1, None, 0));
        assert_eq!((left.requests.remaining, left.tokens.remaining), (10, 1_000_000));
    }
}
