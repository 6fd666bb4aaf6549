//! Per-minute limits hold while Redis stops, restarts and flaps: no side starts full while the other one is empty.

use std::time::Instant;

use super::{Cluster, Limits, NODES, Tally, UNLIMITED, at_most, at_once, chat_of};
use crate::app::{TIMEOUT, wait_until};

const PER_MINUTE: u64 = 60;
const SHARE: u64 = PER_MINUTE / NODES as u64;

/// A cluster whose clients call greedily, and all that they were served.
struct Greedy {
    cluster: Cluster,
    began: Instant,
    tally: Tally,
}

impl Greedy {
    async fn start() -> Self {
        let cluster =
            Cluster::start_with_redis_timeout(Limits { requests_per_minute: PER_MINUTE, ..UNLIMITED }, "1s").await;
        cluster.all_are_known().await;
        Self { cluster, began: Instant::now(), tally: Tally::default() }
    }

    /// More calls than all limits together allow.
    async fn call(&mut self) {
        self.tally.join(at_once(&self.cluster, 120, &chat_of(2, 5)).await);
    }

    /// Waits until every node uses Redis.
    async fn is_shared(&mut self) {
        for node in 0..NODES {
            let (cluster, tally) = (&self.cluster, &mut self.tally);
            wait_until("shared again", TIMEOUT, async || {
                tally.add(&cluster.ask(node, chat_of(2, 5)).await);
                cluster.gauge(node, "forebay_rate_limit_degraded").await == 0
            })
            .await;
        }
    }

    /// One bucket and its refill admit no more, except for these shares.
    async fn assert_within(self, shares: u64) {
        self.tally.assert_rejected_only_with("429 rate_limit_exceeded");
        let (served, bound) = (self.tally.served.len() as u64, at_most(PER_MINUTE, self.began.elapsed()));
        assert!(served >= PER_MINUTE, "{served} served");
        assert!(served <= bound + shares * SHARE, "{served} served instead of {bound} and {shares} shares");
        self.cluster.remove().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shares_start_empty_when_the_shared_bucket_was_empty() {
    let mut greedy = Greedy::start().await;
    greedy.call().await;
    greedy.cluster.redis.stop();
    greedy.call().await;
    greedy.assert_within(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_lost_its_data_starts_as_empty_as_the_nodes() {
    let mut greedy = Greedy::start().await;
    greedy.call().await;
    greedy.cluster.redis.stop();
    greedy.cluster.redis.start_again().await;
    greedy.call().await;
    greedy.is_shared().await;
    greedy.call().await;
    greedy.assert_within(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_flaps_grants_little_more() {
    let mut greedy = Greedy::start().await;
    for flap in 0..6 {
        if flap % 2 == 0 {
            greedy.cluster.redis.stop();
            greedy.call().await;
            greedy.cluster.redis.start_again().await;
        } else {
            // It keeps its data, and executes late what it received meanwhile.
            greedy.cluster.redis.hold_up();
            greedy.call().await;
            greedy.cluster.redis.go_on();
        }
        greedy.is_shared().await;
        greedy.call().await;
    }
    greedy.assert_within(NODES as u64 + 1).await;
}
