//! Per-minute limits, shared by three nodes.

use std::time::{Duration, Instant};

use testkit::fake_engine::Script;
use testkit::http::{Response, Stream};
use tokio::task::JoinSet;

use super::{Cluster, Limits, NODES, UNLIMITED, at_most, at_once, chat_of, uses};
use crate::app::{TIMEOUT, error_line, stream_with_usage, text, wait_until};

fn left(response: &Response, what: &str) -> u64 {
    response.header(&format!("x-ratelimit-remaining-{what}")).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_on_all_nodes_share_one_bucket_and_rejections_take_nothing_from_it() {
    let cluster = Cluster::start(Limits { requests_per_minute: 60, ..UNLIMITED }).await;
    let began = Instant::now();
    let tally = at_once(&cluster, 300, &chat_of(2, 5)).await;
    let bound = at_most(60, began.elapsed());
    assert!((60..=bound).contains(&(tally.served.len() as u64)), "{} of {bound}", tally.served.len());
    tally.assert_rejected_only_with("429 rate_limit_exceeded");
    wait_until("served again", TIMEOUT, async || {
        let response = cluster.ask(1, chat_of(2, 5)).await;
        let wait = response.header("retry-after").unwrap_or("1").to_owned();
        assert_eq!(wait, "1", "hundreds of rejections do not extend the wait");
        response.status == 200
    })
    .await;
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_on_all_nodes_share_one_bucket_and_are_settled_once() {
    let cluster = Cluster::start(Limits { tokens_per_minute: 3_900, ..UNLIMITED }).await;
    cluster.engine().script(Script { delay_ms: 1_000, ..uses(100, 25) });
    let began = Instant::now();
    // A limit below what is always expected, so that all calls are charged alike.
    let tally = at_once(&cluster, 60, &chat_of(2, 250)).await;
    tally.assert_rejected_only_with("429 rate_limit_exceeded");
    let bound = at_most(3_900, began.elapsed()) / 250;
    let served = tally.served.len() as u64;
    assert!((14..=bound).contains(&served), "{served}: each counts with what is expected as long as it runs");
    wait_until("settled", TIMEOUT, async || cluster.redis.reservations().await == 0).await;
    let response = cluster.ask(2, chat_of(2, 1)).await;
    let refilled = 65 * began.elapsed().as_secs() + 65;
    let expected = 3_900 - tally.tokens - 10;
    let left = left(&response, "tokens");
    assert!((expected..=expected + refilled).contains(&left), "{left} instead of {expected}");
    cluster.remove().await;
}

/// Calls with these keys on all nodes; the number of served ones. All others are rejected by the limits.
async fn served(cluster: &Cluster, keys: &[&str], calls: usize) -> u64 {
    let mut running = JoinSet::new();
    for call in 0..calls {
        let client = cluster.nodes[call % NODES].client_with(keys[call % keys.len()]);
        running.spawn(async move { client.post_json("/chat/completions", chat_of(2, 5)).await });
    }
    let responses = running.join_all().await;
    let rejected = responses.iter().filter(|response| response.status != 200);
    assert!(rejected.clone().all(|response| error_line(response) == "429 rate_limit_exceeded"));
    (calls - rejected.count()) as u64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_of_a_key_and_workspaces_of_an_organization_share_buckets_on_all_nodes() {
    let cluster = Cluster::start(UNLIMITED).await;
    let app = &cluster.nodes[0];
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    app.admin(&format!("organizations set {organization} --requests-per-minute 40"));
    let create = |line: String| text(&app.admin(&line)["id"]).to_owned();
    let key = |workspace: &str, flags: &str| {
        let line = format!("keys create --workspace {workspace} --name shared {flags}");
        text(&app.admin(&line)["key"]).to_owned()
    };
    let narrow = key(&app.workspace().to_string(), "--model-requests-per-minute acme/*=10");
    let other = create(format!("workspaces create --organization {organization} --name Other"));
    let (one, two) = (key(&app.workspace().to_string(), ""), key(&other, ""));
    let began = Instant::now();
    let of_model = served(&cluster, &[&narrow], 60).await;
    let bound = at_most(10, began.elapsed());
    assert!((10..=bound).contains(&of_model), "{of_model} of {bound}");
    let of_both = served(&cluster, &[&one, &two], 120).await;
    let bound = at_most(40, began.elapsed());
    assert!((40..=bound).contains(&(of_model + of_both)), "{of_model} and {of_both} of {bound}");
    cluster.remove().await;
}

/// Opens `count` streams concurrently on all nodes. Returns the admitted ones.
async fn open_streams(cluster: &Cluster, count: usize) -> Vec<(usize, Stream)> {
    let mut opening = JoinSet::new();
    for call in 0..count {
        let client = cluster.client(call);
        opening
            .spawn(async move { (call % 3, client.open_stream("/chat/completions", stream_with_usage("hi")).await) });
    }
    let all = opening.join_all().await;
    assert!(all.iter().all(|(_, stream)| [200, 429].contains(&stream.status.as_u16())));
    all.into_iter().filter(|(_, stream)| stream.status == 200).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_without_a_token_limit_share_one_bucket_and_reservations_of_a_dead_node_expire() {
    let mut cluster = Cluster::start(Limits { tokens_per_minute: 1_000, ..UNLIMITED }).await;
    cluster.engine().script(Script { chunks: 400, stall_after: Some(300), ..Script::default() });
    let began = Instant::now();
    let streams = open_streams(&cluster, 50).await;
    // Each counts with its prompt and a quarter of the limit: three fit, and a fourth after some refill.
    let bound = at_most(1_000, began.elapsed()) / 258;
    assert!((3..=bound.max(3)).contains(&(streams.len() as u64)), "{} streams", streams.len());
    let mut text = 0;
    let mut streams: Vec<_> = streams.into_iter().collect();
    for (_, stream) in &mut streams {
        while text < 300 {
            stream.next_event().await.unwrap();
            text += 1;
        }
        text = 0;
    }
    // All of them exceeded their estimate.
    let rejected = cluster.ask(0, chat_of(2, 1)).await;
    assert_eq!(error_line(&rejected), "429 rate_limit_exceeded", "running streams count as they go");

    let dead = streams[0].0;
    cluster.nodes[dead].forebay.child.kill();
    let (gone, alive): (Vec<_>, Vec<_>) = streams.into_iter().partition(|(node, _)| *node == dead);
    drop(alive);
    wait_until("settled", TIMEOUT, async || cluster.redis.reservations().await == gone.len()).await;
    let names = cluster.redis.ask("KEYS forebay:*:req_*").await;
    for name in names.lines().filter(|line| line.starts_with("forebay:")) {
        let life = cluster.redis.ask(&format!("TTL {name}")).await;
        let seconds: u64 = life.trim_start_matches(':').lines().next().unwrap().parse().unwrap();
        assert!((1..=900).contains(&seconds), "{name} ends in {seconds} s");
    }
    drop(gone);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_limit_applies_on_every_node_at_once() {
    let cluster = Cluster::start(Limits { requests_per_minute: 6_000, ..UNLIMITED }).await;
    assert_eq!(at_once(&cluster, 30, &chat_of(2, 5)).await.served.len(), 30);
    let workspace = cluster.nodes[0].workspace();
    cluster.nodes[0].admin(&format!("workspaces set {workspace} --requests-per-minute 6"));
    for node in 0..3 {
        wait_until("rejected", TIMEOUT, async || cluster.ask(node, chat_of(2, 5)).await.status == 429).await;
    }
    cluster.nodes[0].admin(&format!("workspaces set {workspace} --requests-per-minute 60000"));
    for node in 0..3 {
        wait_until("served", TIMEOUT, async || cluster.ask(node, chat_of(2, 5)).await.status == 200).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(at_once(&cluster, 30, &chat_of(2, 5)).await.served.len(), 30, "it refills at the new rate");
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_with_an_absurd_token_limit_blocks_no_other_call() {
    let cluster = Cluster::start(Limits { tokens_per_minute: 60_000, monthly_tokens: 1_000_000, ..UNLIMITED }).await;
    cluster.engine().push(Script { delay_ms: 500, ..Script::default() });
    let (client, absurd) = (cluster.client(0), chat_of(2, i64::MAX.unsigned_abs()));
    let mut in_flight = JoinSet::new();
    in_flight.spawn(async move { client.post_json("/chat/completions", absurd).await });
    assert!(cluster.engine().wait_for_calls(1, TIMEOUT).await);
    for node in 0..3 {
        assert_eq!(cluster.ask(node, chat_of(2, 50)).await.status_line(), "200 OK");
    }
    assert_eq!(in_flight.join_all().await[0].status_line(), "200 OK");
    assert_eq!(cluster.gauge(0, "forebay_rate_limit_degraded").await, 0);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_redis_lost_are_loaded_again() {
    let cluster = Cluster::start(Limits { requests_per_minute: 30, ..UNLIMITED }).await;
    assert_eq!(at_once(&cluster, 6, &chat_of(2, 50)).await.served.len(), 6);
    cluster.redis.ask("SCRIPT FLUSH").await;
    let tally = at_once(&cluster, 60, &chat_of(2, 50)).await;
    assert!((24..=36).contains(&tally.served.len()), "{}: the bucket keeps its level", tally.served.len());
    wait_until("settled", TIMEOUT, async || cluster.redis.reservations().await == 0).await;
    for node in 0..3 {
        assert_eq!(cluster.gauge(node, "forebay_rate_limit_degraded").await, 0);
    }
    cluster.remove().await;
}
