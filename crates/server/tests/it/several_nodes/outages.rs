//! Outages of PostgreSQL or Redis: calls are served, limits hold, and nothing is lost or counted twice.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Cluster, Limits, Tally, UNLIMITED, at_most, at_once, chat_of, uses};
use crate::app::{TIMEOUT, error_line, wait_until};

/// Set `FOREBAY_TEST_OUTAGE_SECS=20` for an outage of realistic length.
fn outage() -> Duration {
    let seconds = std::env::var("FOREBAY_TEST_OUTAGE_SECS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// Sequential calls on every node, for this time.
async fn call_for(cluster: &Cluster, time: Duration) -> Tally {
    let mut under_way = JoinSet::new();
    let end = Instant::now() + time;
    for node in 0..3 {
        let client = cluster.client(node);
        under_way.spawn(async move {
            let mut tally = Tally::default();
            while Instant::now() < end {
                tally.add(&client.post_json("/chat/completions", chat_of(2, 50)).await);
                tokio::time::sleep(time / 60).await;
            }
            tally
        });
    }
    let mut all = Tally::default();
    while let Some(tally) = under_way.join_next().await {
        all.join(tally.unwrap());
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_postgresql_calls_are_served_and_everything_arrives_afterwards() {
    let cluster = Cluster::start(Limits { monthly_tokens: 1_000_000, ..UNLIMITED }).await;
    cluster.engine().script(uses(90, 50));
    let mut tally = call_for(&cluster, Duration::from_secs(1)).await;
    cluster.cable.cut();
    tally.join(call_for(&cluster, outage()).await);
    assert_eq!(tally.rejected, [""; 0], "calls are still served");
    cluster.cable.restore();
    cluster.events(tally.served.len()).await;
    let account = cluster.account().await;
    assert_eq!(account.used, tally.tokens);
    assert!(account.used + account.reserved <= account.cap, "{account:?}");
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_postgresql_no_call_exceeds_the_lease() {
    let cluster = Cluster::start(Limits { monthly_tokens: 300_000, ..UNLIMITED }).await;
    cluster.all_are_known().await;
    cluster.engine().script(uses(4_000, 4_000));
    let body = chat_of(4_000, 4_000);
    let mut tally = at_once(&cluster, 6, &body).await;
    cluster.cable.cut();
    tally.join(at_once(&cluster, 60, &body).await);
    tally.assert_rejected_only_with("503 quota_unavailable");
    assert!(tally.tokens <= 300_000 && tally.rejected.len() > 20, "{tally:?}");
    let rejected = cluster.ask(0, body.clone()).await;
    assert_eq!(error_line(&rejected), "503 quota_unavailable");
    assert_eq!(rejected.header("retry-after"), Some("5"));
    assert!(rejected.header("x-ratelimit-remaining-tokens").is_some(), "limits are in every response");
    cluster.cable.restore();
    for node in 0..3 {
        wait_until("served again", TIMEOUT, async || {
            let response = cluster.ask(node, body.clone()).await;
            tally.add(&response);
            response.status == 200
        })
        .await;
    }
    cluster.events(tally.served.len()).await;
    assert_eq!(cluster.account().await.used, tally.tokens);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_every_node_enforces_its_share_and_reports_it() {
    // A stopped Redis is noticed at once. A busy one must not be taken for it, which would make nodes use up their shares.
    let limits = Limits { requests_per_minute: 60, ..UNLIMITED };
    let mut cluster = Cluster::start_with_redis_timeout(limits, "2s").await;
    cluster.all_are_known().await;
    let degraded = async |node| cluster.gauge(node, "forebay_rate_limit_degraded").await;
    assert_eq!(cluster.ask(0, chat_of(2, 5)).await.status, 200);
    assert_eq!(degraded(0).await, 0);

    cluster.redis.stop();
    let began = Instant::now();
    let tally = at_once(&cluster, 180, &chat_of(2, 5)).await;
    let bound = at_most(60, began.elapsed()) + 2;
    // The first node knows that one of the sixty is used: its share is less than twenty.
    assert!((59..=bound).contains(&(tally.served.len() as u64)), "{} of {bound}", tally.served.len());
    tally.assert_rejected_only_with("429 rate_limit_exceeded");
    for node in 0..3 {
        assert_eq!(cluster.gauge(node, "forebay_rate_limit_degraded").await, 1);
        let log = cluster.nodes[node].forebay.child.stderr();
        assert_eq!(log.matches("Redis is unreachable").count(), 1, "{log}");
    }

    cluster.redis.start_again().await;
    for node in 0..3 {
        wait_until("shared again", TIMEOUT, async || {
            cluster.ask(node, chat_of(2, 5)).await;
            cluster.gauge(node, "forebay_rate_limit_degraded").await == 0
        })
        .await;
    }
    wait_until("served again", TIMEOUT, async || cluster.ask(0, chat_of(2, 5)).await.status == 200).await;
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reservation_that_redis_makes_too_late_is_undone() {
    let cluster = Cluster::start_with_default_timeout(Limits { tokens_per_minute: 60_000, ..UNLIMITED }).await;
    let body = chat_of(2, 4_000);
    assert_eq!(at_once(&cluster, 3, &body).await.served.len(), 3);
    cluster.redis.hold_up();
    let tally = at_once(&cluster, 6, &body).await;
    assert!(!tally.served.is_empty(), "{tally:?}: each node enforces its share");
    cluster.redis.go_on();
    wait_until("nothing stays reserved", TIMEOUT, async || cluster.redis.reservations().await == 0).await;
    wait_until("shared again", TIMEOUT, async || {
        cluster.ask(0, chat_of(2, 1)).await;
        cluster.gauge(0, "forebay_rate_limit_degraded").await == 0
    })
    .await;
    let response = cluster.ask(0, chat_of(2, 1)).await;
    let left: u64 = response.header("x-ratelimit-remaining-tokens").unwrap().parse().unwrap();
    assert!(left > 59_000, "{left}: calls counted locally do not count in Redis");
    cluster.remove().await;
}
