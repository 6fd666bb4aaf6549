//! Several nodes on one PostgreSQL.

use std::time::{Duration, Instant};

use testkit::http::Client;
use testkit::process::ForebayLaunch;
use tokio::task::JoinSet;

use crate::app::{BINARY, TIMEOUT, TestApp, chat, error_line, stream, text, wait_until};
use crate::postgres::{Cable, Database};

/// Every node sees a change within a second; the rest is slack for a busy machine.
const SEEN_WITHIN: Duration = Duration::from_secs(2);

/// A key that was cached before the change feed's last poll is looked up again after it.
pub(crate) const FEED_RUNS: Duration = Duration::from_millis(700);

async fn status_at(node: &TestApp, key: &str) -> u16 {
    node.client_with(key).get("/models").await.status.as_u16()
}

#[tokio::test]
async fn two_nodes_are_one_service() {
    let database = Database::create().await;
    let one = TestApp::setup().store(&database.url).start().await;
    let two = TestApp::setup().store(&database.url).start().await;
    assert!(two.key.is_empty(), "the first start happens once");
    assert_eq!(status_at(&two, &one.key).await, 200);

    let created = one.new_key("laptop");
    let key = text(&created["key"]);
    for node in [&one, &two] {
        let response = node.client_with(key).post_json("/chat/completions", chat("hi")).await;
        assert_eq!(response.status_line(), "200 OK");
    }
    one.admin(&format!("keys revoke {}", text(&created["id"])));
    for node in [&two, &one] {
        wait_until("revoked", SEEN_WITHIN, async || status_at(node, key).await == 401).await;
        assert_eq!(status_at(node, &one.key).await, 200);
    }
    assert_eq!(one.usage(2).await.len(), 2, "both calls, whichever node served them");
    wait_until("both nodes are listed", TIMEOUT, async || {
        one.admin("nodes list")["data"].as_array().unwrap().len() == 2
    })
    .await;
    drop((one, two));
    database.remove().await;
}

#[tokio::test]
async fn nodes_that_start_concurrently_agree_on_one_first_start() {
    let database = Database::create().await;
    let start = || TestApp::setup().store(&database.url).start();
    let (one, two, three) = tokio::join!(start(), start(), start());
    let nodes = [one, two, three];
    let keys: Vec<&str> = nodes.iter().map(|node| node.key.as_str()).filter(|key| !key.is_empty()).collect();
    let [key] = keys[..] else { panic!("{} nodes made a first key", keys.len()) };
    for node in &nodes {
        assert_eq!(status_at(node, key).await, 200);
    }
    drop(nodes);
    database.remove().await;
}

#[tokio::test]
async fn nodes_with_another_catalogue_are_reported() {
    let database = Database::create().await;
    let one = TestApp::setup().store(&database.url).start().await;
    let mut two = TestApp::setup().store(&database.url).start().await;
    let ops = Client::new(one.forebay.ops);
    let differing = async || ops.get("/readyz").await.json()["differingNodes"].as_array().unwrap().len();
    // Their engines listen at different addresses, which belongs to the catalogue.
    wait_until("a difference", Duration::from_secs(15), async || differing().await == 1).await;
    assert!(ops.get("/metrics").await.text().contains("forebay_catalogue_differing_nodes 1"));
    let part = ops.get("/readyz").await.json()["parts"]["catalogue"].clone();
    assert_eq!(part["status"], "degraded", "{part}");
    assert!(part["why"].as_str().unwrap().contains("another catalogue is served by node_"), "{part}");
    two.forebay.write_config(&one.config).unwrap();
    two.forebay.restart().await.unwrap();
    wait_until("no difference", Duration::from_secs(15), async || differing().await == 0).await;
    drop((one, two));
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_store_known_keys_are_served_and_unknown_ones_wait() {
    let database = Database::create().await;
    let cable = Cable::to(&database).await;
    let app = TestApp::setup().store(&cable.url).start().await;
    let unknown = app.new_key("unknown");
    let unknown = app.client_with(text(&unknown["key"]));
    let malformed = app.client_with(&app.key.to_lowercase().replace('-', "a"));
    let before = async || assert_eq!(app.chat("before").await.status_line(), "200 OK");
    before().await;
    tokio::time::sleep(FEED_RUNS).await;
    before().await;

    cable.cut();
    for _ in 0..5 {
        assert_eq!(app.chat("during").await.status_line(), "200 OK");
        let response = unknown.get("/models").await;
        assert_eq!(error_line(&response), "503 store_unavailable");
        assert_eq!(response.header("retry-after"), Some("5"));
        assert_eq!(error_line(&malformed.get("/models").await), "401 invalid_api_key", "rejected without the store");
    }
    let (events, clean) = app.open_stream(stream("during")).await.rest().await;
    assert!(clean && events.last().unwrap().is_done());
    let ops = Client::new(app.forebay.ops);
    wait_until("reported", TIMEOUT, async || ops.get("/readyz").await.json()["store"] == "unavailable").await;
    let ready = ops.get("/readyz").await;
    assert_eq!(ready.status_line(), "200 OK", "it still serves");
    assert_eq!(
        (&ready.json()["status"], &ready.json()["parts"]["store"]["status"]),
        (&"degraded".into(), &"degraded".into())
    );

    cable.restore();
    wait_until("served", TIMEOUT, async || unknown.get("/models").await.status == 200).await;
    assert_eq!(app.usage(8).await.len(), 8, "twice before, five times during, and the stream");
    drop(app);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unresponsive_store_delays_no_call_for_long() {
    let database = Database::create().await;
    let cable = Cable::to(&database).await;
    let app = TestApp::setup().store(&cable.url).start().await;
    tokio::time::sleep(FEED_RUNS).await;
    assert_eq!(app.chat("before").await.status_line(), "200 OK");
    cable.silence();
    let mut strangers = JoinSet::new();
    for index in 0..64 {
        let key = format!("sk-{index:012}-{}", "a".repeat(40));
        let client = app.client_with(&key);
        strangers.spawn(async move { error_line(&client.get("/models").await) });
    }
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(app.chat("during").await.status_line(), "200 OK");
    }
    assert!(started.elapsed() < Duration::from_secs(2), "known keys waited {:?}", started.elapsed());
    while let Some(response) = strangers.join_next().await {
        assert_eq!(response.unwrap(), "503 store_unavailable");
    }
    assert!(started.elapsed() < Duration::from_secs(15), "strangers waited {:?}", started.elapsed());
    cable.restore();
    assert_eq!(app.usage(11).await.len(), 11);
    drop(app);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_during_an_outage_are_seen_afterwards() {
    let database = Database::create().await;
    let cable = Cable::to(&database).await;
    let direct = TestApp::setup().store(&database.url).start().await;
    let away = TestApp::setup().store(&cable.url).start().await;
    let created = direct.new_key("a");
    let key = text(&created["key"]);
    tokio::time::sleep(FEED_RUNS).await;
    assert_eq!(status_at(&away, key).await, 200);
    cable.cut();
    direct.admin(&format!("keys revoke {}", text(&created["id"])));
    wait_until("revoked here", SEEN_WITHIN, async || status_at(&direct, key).await == 401).await;
    assert_eq!(status_at(&away, key).await, 200, "it does not know yet");
    cable.restore();
    wait_until("revoked there", Duration::from_secs(5), async || status_at(&away, key).await == 401).await;
    drop((direct, away));
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prices_that_changed_during_an_outage_are_recorded_afterwards() {
    let database = Database::create().await;
    let cable = Cable::to(&database).await;
    let app = TestApp::setup().store(&cable.url).start().await;
    tokio::time::sleep(FEED_RUNS).await;
    assert_eq!(app.chat("before").await.status_line(), "200 OK", "the key is known from here on");
    cable.cut();
    app.forebay.write_config(&app.config.replace("output_per_1m = \"4.00\"", "output_per_1m = \"5.00\"")).unwrap();
    app.forebay.child.signal("HUP").unwrap();
    let logged = async || app.forebay.child.stderr().contains("price history failed and is retried");
    wait_until("reported", TIMEOUT, logged).await;
    assert_eq!(app.client().get("/models/acme/tiny").await.json()["pricing"]["output_per_1m"], "5.00");
    cable.restore();
    wait_until("recorded", TIMEOUT, async || {
        app.admin("prices list --model acme/tiny")["data"].as_array().unwrap().len() == 2
    })
    .await;
    drop(app);
    database.remove().await;
}

#[tokio::test]
async fn a_start_without_the_store_fails_with_an_error() {
    let config = "[store]\nurl = \"postgres://forebay:geheim@127.0.0.1:1/forebay\"\n\
        [server]\nlisten = \"127.0.0.1:0\"\nops_listen = \"127.0.0.1:0\"\n";
    let error = ForebayLaunch::default().binary(BINARY).start(config).await.err().unwrap().to_string();
    assert!(error.contains("exit status: 1") && error.contains("forebay: cannot open the store"), "{error}");
    assert!(!error.contains("geheim"), "{error}");
}
