use super::super::{Counted, Scope, take};
use super::*;
use proptest::prelude::*;

const LIMITS: PerMinute = PerMinute { requests: 60, tokens: 60_000 };

fn seen(requests: i64) -> SharedLevels {
    SharedLevels { requests, tokens: 60_000 }
}

/// Grants `count` requests from the share; all of them must fit.
fn grant(view: &mut NodeBuckets, nodes: u32, count: usize, now: u64) {
    for _ in 0..count {
        assert!(try_grant(view, LIMITS, nodes, now), "{view:?}");
    }
}

fn try_grant(view: &mut NodeBuckets, limits: PerMinute, nodes: u32, now: u64) -> bool {
    let mut left = view.share(limits, nodes, now);
    let counted = Counted { scope: Scope::Workspace, limits: limits.share(nodes), buckets: &mut left };
    let is_granted = take(&mut [counted], 0, now).is_ok();
    view.keep_share(left);
    is_granted
}

#[test]
fn a_share_starts_with_the_last_known_level_and_not_full() {
    for (level, now, granted) in
        [(0, 0, 0), (30, 0, 10), (60, 0, 20), (0, 30_000, 10), (-30, 30_000, 0), (5, 90_000, 20)]
    {
        let mut view = NodeBuckets::shared(seen(level), 0);
        grant(&mut view, 3, granted, now);
        assert!(!try_grant(&mut view, LIMITS, 3, now), "{level} at {now}");
    }
}

#[test]
fn a_node_hands_over_what_it_granted_once() {
    let mut view = NodeBuckets::shared(seen(30), 0);
    grant(&mut view, 3, 4, 0);
    let carried = view.carry(LIMITS, 3, true, 0).requests;
    assert_eq!(carried, CarriedLevel { start_milli: 6_000, drawn_milli: 4_000 });
    assert_eq!(view.carry(LIMITS, 3, true, 0).requests.drawn_milli, 0);
    grant(&mut view, 3, 2, 0);
    view.note_response(LIMITS, 3, seen(26), 0);
    let carried = view.carry(LIMITS, 3, false, 0).requests;
    assert_eq!(carried, CarriedLevel { start_milli: 24_000, drawn_milli: 2_000 }, "granted while Redis was asked");
}

#[test]
fn the_share_refills_what_it_granted_once_it_would_be_full() {
    let mut view = NodeBuckets::shared(seen(60), 0);
    grant(&mut view, 3, 20, 0);
    assert_eq!(view.carry(LIMITS, 3, true, 30_000).requests, CarriedLevel { start_milli: 10_000, drawn_milli: 10_000 });
    let mut view = NodeBuckets::shared(seen(0), 0);
    grant(&mut view, 3, 10, 30_000);
    assert_eq!(view.carry(LIMITS, 3, true, 30_000).requests, CarriedLevel { start_milli: 0, drawn_milli: 10_000 });
}

#[test]
fn tokens_of_a_local_call_that_ends_after_the_handover_are_returned_to_redis() {
    let mut view = NodeBuckets::shared(seen(60), 0);
    let mut left = view.share(LIMITS, 2, 0);
    left.settle(LIMITS.share(2), 0, -4_000, 0);
    view.keep_share(left);
    assert_eq!(view.carry(LIMITS, 2, true, 0).tokens.drawn_milli, 4_000_000);
    view.note_response(LIMITS, 2, SharedLevels { requests: 60, tokens: 56_000 }, 0);
    view.settle_share(LIMITS, 2, 0, 3_900, 0);
    let carried = view.carry(LIMITS, 2, false, 0).tokens;
    assert_eq!(carried, CarriedLevel { start_milli: 59_900_000, drawn_milli: -3_900_000 });
}

#[test]
fn a_bucket_that_redis_lost_does_not_start_full() {
    let start = |view: &mut NodeBuckets, was_away, now| view.carry(LIMITS, 3, was_away, now).requests.start_milli;
    assert_eq!(start(&mut NodeBuckets::shared(seen(5), 0), false, 0), 5_000);
    assert_eq!(start(&mut NodeBuckets::shared(seen(55), 0), true, 0), 20_000, "other nodes may have used the rest");
    assert_eq!(start(&mut NodeBuckets::shared(seen(-55), 0), false, 61_000), 60_000, "it has expired");
    assert_eq!(Carried::without_view(LIMITS, 3, false).requests.start_milli, 60_000);
    assert_eq!(Carried::without_view(LIMITS, 3, true).requests.start_milli, 20_000);
}

#[test]
fn a_view_is_idle_when_it_says_nothing() {
    let mut view = NodeBuckets::shared(seen(0), 0);
    assert!(!view.is_idle(LIMITS, 3, 59_999) && view.is_idle(LIMITS, 3, 60_000));
    grant(&mut view, 3, 20, 60_000);
    assert!(!view.is_idle(LIMITS, 3, 119_999) && view.is_idle(LIMITS, 3, 120_000));
}

/// How long a node does not use Redis after a failure.
const BACKOFF_MILLIS: u64 = 1_000;
const WINDOW_MILLIS: u64 = 60_000;
/// Connections of a node, one per core.
const CORES: usize = 2;

/// `take.lua`, for one bucket and a call that costs one.
#[derive(Default)]
struct Redis {
    is_down: bool,
    bucket: Option<Bucket>,
    /// Changes when the process is restarted, which ends all connections.
    run: u32,
}

impl Redis {
    fn take(&mut self, limit: u64, carried: CarriedLevel, now: u64) -> (bool, i64) {
        let full = i128::from(limit) * PARTS;
        let parts = |milli: i64| i128::from(milli) * PARTS_PER_MILLI;
        let level = match self.bucket {
            Some(bucket) => {
                let level = bucket.level(limit, now);
                (level - parts(carried.drawn_milli)).max(level.min(0)).min(full)
            }
            None => parts(carried.start_milli).min(full),
        };
        let is_admitted = level >= PARTS;
        let level = if is_admitted { level - PARTS } else { level };
        self.bucket = Some(Bucket::at_level(level, now));
        (is_admitted, i64::try_from(level.div_euclid(PARTS)).unwrap())
    }
}

#[derive(Default)]
struct Node {
    view: Option<NodeBuckets>,
    /// The run of Redis that each core is connected to.
    connections: [Option<u32>; CORES],
    retry_at: [u64; CORES],
    known_run: Option<u32>,
    failed_at: Option<u64>,
    /// When the node began to grant on its own.
    alone_since: Option<u64>,
}

struct Cluster {
    limits: PerMinute,
    redis: Redis,
    nodes: Vec<Node>,
    now: u64,
    admitted: Vec<u64>,
    /// Times during which a node granted on its own, or noticed that Redis had been restarted.
    alone: Vec<(u64, u64)>,
}

impl Cluster {
    fn new(limit: u64, nodes: usize) -> Self {
        let nodes = (0..nodes).map(|_| Node { known_run: Some(0), ..Node::default() }).collect();
        let limits = PerMinute { requests: limit, tokens: 1_000_000 };
        Self { limits, redis: Redis::default(), nodes, now: 0, admitted: Vec::new(), alone: Vec::new() }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap()
    }

    /// One call; `false` if it was rejected.
    fn call(&mut self, node: usize, core: usize) -> bool {
        let is_admitted = if self.reaches_redis(node, core) { self.ask_redis(node) } else { self.ask_share(node) };
        if is_admitted {
            self.admitted.push(self.now);
        }
        is_admitted
    }

    fn reaches_redis(&mut self, node: usize, core: usize) -> bool {
        let (now, node) = (self.now, &mut self.nodes[node]);
        if now < node.retry_at[core] {
            return false;
        }
        if node.connections[core].is_none() && !self.redis.is_down {
            node.connections[core] = Some(self.redis.run);
            if node.known_run.replace(self.redis.run).is_some_and(|known| known != self.redis.run) {
                node.failed_at = Some(now);
                self.alone.push((now, now));
            }
        }
        let reaches = !self.redis.is_down && node.connections[core] == Some(self.redis.run);
        if !reaches {
            (node.connections[core], node.retry_at[core], node.failed_at) = (None, now + BACKOFF_MILLIS, Some(now));
        }
        reaches
    }

    fn ask_redis(&mut self, node: usize) -> bool {
        let (limits, nodes, now) = (self.limits, self.count(), self.now);
        let node = &mut self.nodes[node];
        let was_away = node.failed_at.is_some_and(|at| now < at + WINDOW_MILLIS);
        let carried = match &mut node.view {
            Some(view) => view.carry(limits, nodes, was_away, now),
            None => Carried::without_view(limits, nodes, was_away),
        };
        let (is_admitted, level) = self.redis.take(limits.requests, carried.requests, now);
        let levels = SharedLevels { requests: level, tokens: 1_000_000 };
        match &mut node.view {
            Some(view) => view.note_response(limits, nodes, levels, now),
            None => node.view = Some(NodeBuckets::shared(levels, now)),
        }
        self.alone.extend(node.alone_since.take().map(|since| (since, now)));
        is_admitted
    }

    fn ask_share(&mut self, node: usize) -> bool {
        let (limits, nodes, now) = (self.limits, self.count(), self.now);
        let node = &mut self.nodes[node];
        node.alone_since.get_or_insert(now);
        let view = node.view.get_or_insert_with(|| NodeBuckets::full_share(limits, nodes, now));
        try_grant(view, limits, nodes, now)
    }

    /// Every window of 60 s has at most twice the limit, and a share for each time that a node was alone in it or in
    /// the minute before, but no more than a share per node and one.
    fn check(mut self) -> Result<(), TestCaseError> {
        self.alone.extend(self.nodes.iter().filter_map(|node| node.alone_since).map(|since| (since, u64::MAX)));
        let share = self.limits.share(self.count()).requests;
        for (index, start) in self.admitted.iter().enumerate() {
            let end = start + WINDOW_MILLIS;
            let count = self.admitted[index..].partition_point(|at| *at < end) as u64;
            let alone = self
                .alone
                .iter()
                .filter(|(since, until)| *since < end && until.saturating_add(WINDOW_MILLIS) >= *start);
            let shares = alone.count().min(self.nodes.len() + 1) as u64;
            let bound = 2 * self.limits.requests + share * shares;
            prop_assert!(count <= bound, "{count} calls instead of {bound} from {start} on");
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    /// Redis becomes unreachable, and connections stay open.
    Disconnect,
    Kill,
    Return,
    /// Calls on one node until one is rejected.
    CallAll {
        node: usize,
    },
    Call {
        node: usize,
        core: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let waits = prop::sample::select(vec![10, 200, 1_100, 1_100, 3_000, 20_000, 61_000, 100_000]);
    prop_oneof![
        3 => waits.prop_map(Step::Wait),
        1 => Just(Step::Disconnect),
        1 => Just(Step::Kill),
        2 => Just(Step::Return),
        5 => (0..5_usize).prop_map(|node| Step::CallAll { node }),
        2 => (0..5_usize, 0..CORES).prop_map(|(node, core)| Step::Call { node, core }),
    ]
}

fn run(limit: u64, nodes: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut cluster = Cluster::new(limit, nodes);
    for step in steps {
        match step {
            Step::Wait(millis) => cluster.now += millis,
            Step::Disconnect => cluster.redis.is_down = true,
            Step::Kill => cluster.redis = Redis { is_down: true, bucket: None, run: cluster.redis.run + 1 },
            Step::Return => cluster.redis.is_down = false,
            Step::CallAll { node } => {
                let mut core = 0;
                while cluster.call(node % nodes, core % CORES) {
                    core += 1;
                }
            }
            Step::Call { node, core } => {
                cluster.call(node % nodes, *core);
            }
        }
    }
    cluster.check()
}

#[test]
fn a_redis_that_flaps_grants_nothing_twice() {
    // In every outage all nodes use up their shares, and Redis is asked only once in between.
    let outage = [
        vec![Step::Disconnect],
        (0..3).map(|node| Step::CallAll { node }).collect(),
        vec![Step::Return, Step::Wait(1_100)],
        (0..3).map(|node| Step::Call { node, core: 0 }).collect(),
    ];
    let flaps: Vec<Step> = outage.concat().into_iter().cycle().take(9 * 50).collect();
    run(120, 3, &flaps).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn however_redis_comes_and_goes_a_minute_has_at_most_two_limits_and_a_share_per_failover(
        limit in prop::sample::select(vec![1_u64, 7, 30, 120]),
        nodes in 1..=5_usize,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        run(limit, nodes, &steps)?;
    }
}
