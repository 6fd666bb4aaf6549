//! Several nodes on one PostgreSQL.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, Executor as _, PgConnection};
use testkit::gateway_config::GatewayConfig;
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
    let database = Database::migrated().await;
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
    let database = Database::empty().await;
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
    let database = Database::migrated().await;
    let one = TestApp::setup().store(&database.url).start().await;
    let mut two = TestApp::setup().store(&database.url).start().await;
    let ops = Client::new(one.forebay.ops);
    let differing = async || ops.get("/readyz").await.json()["differingNodes"].as_array().unwrap().len();
    // Their engines listen at different addresses, which belongs to the catalogue.
    // It is reported when two heartbeats in a row have seen it.
    wait_until("a difference", Duration::from_secs(60), async || differing().await == 1).await;
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
    let database = Database::migrated().await;
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
    let database = Database::migrated().await;
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
    let database = Database::migrated().await;
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
    let database = Database::migrated().await;
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

const UNREACHABLE: &str = "the store is unreachable, calls get 503 until it responds";

#[tokio::test]
async fn a_node_that_waits_for_the_store_ends_on_a_signal() {
    let store = "[store]\nurl = \"postgres://forebay:geheim@127.0.0.1:1/forebay\"";
    let config = GatewayConfig::default().tables(store).render();
    let mut forebay = ForebayLaunch::default().binary(BINARY).start(&config).await.unwrap();
    assert_eq!(Client::new(forebay.public).get("/healthz").await.status_line(), "200 OK");
    forebay.child.signal("TERM").unwrap();
    let ended = forebay.child.wait_for_end(TIMEOUT).await.expect("the process exits");
    let log = forebay.child.stderr();
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(log.contains(UNREACHABLE) && !log.contains("geheim"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_starts_without_the_store_and_serves_as_soon_as_it_responds() {
    let database = Database::migrated().await;
    let cable = Cable::to(&database).await;
    cable.cut();
    let mut app = TestApp::setup().store(&cable.url).without_store().start().await;
    let (ops, public) = (Client::new(app.forebay.ops), Client::new(app.forebay.public));
    for client in [&ops, &public] {
        assert_eq!(client.get("/healthz").await.status_line(), "200 OK");
    }
    let not_ready = ops.get("/readyz").await;
    assert_eq!((not_ready.status.as_u16(), text(&not_ready.json()["status"])), (503, "not_ready"));
    assert_eq!(not_ready.json()["parts"]["store"]["status"], "unavailable");
    let call = app.client_with("sk-any").post_json("/chat/completions", chat("hi")).await;
    assert_eq!((error_line(&call).as_str(), call.header("retry-after")), ("503 store_unavailable", Some("5")));
    let endpoints = app.client_with("sk-any").get("/endpoints").await;
    assert_eq!((endpoints.status.as_u16(), endpoints.header("retry-after")), (503, Some("5")));
    assert_eq!(endpoints.json()["extensions"]["code"], "DATABASE_UNAVAILABLE");
    let session = public.get("/api/session").await;
    assert_eq!((session.status.as_u16(), text(&session.json()["code"])), (503, "store_unavailable"));
    assert_eq!(error_line(&public.get("/v2/models").await), "404 route_not_found");
    assert_eq!(public.get("/openapi.json").await.status, 200);

    cable.restore();
    // Every call gets a response, also while other workers take over.
    wait_until("the key is checked", TIMEOUT, async || {
        let response = app.client_with("sk-any").get("/models").await;
        assert!([401, 503].contains(&response.status.as_u16()), "{}", response.status_line());
        response.status == 401
    })
    .await;
    wait_until("ready", TIMEOUT, async || ops.get("/readyz").await.status == 200).await;
    app.key = app.forebay.api_key().unwrap();
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    let log = app.forebay.child.stderr();
    assert_eq!(log.matches(UNREACHABLE).count(), 1, "{log}");
    drop(app);
    database.remove().await;
}

/// Starts a node that can open the store, but not read this table.
async fn starts_when_it_can_read(table: &str) {
    let database = Database::migrated().await;
    let lock = database.lock(table).await;
    let mut app = TestApp::setup().store(&database.url).without_store().start().await;
    let call = app.client_with("sk-any").post_json("/chat/completions", chat("hi")).await;
    assert_eq!(error_line(&call), "503 store_unavailable", "{table}");
    lock.close().await.unwrap();
    let ops = Client::new(app.forebay.ops);
    wait_until("ready", TIMEOUT, async || ops.get("/readyz").await.status == 200).await;
    app.key = app.forebay.api_key().unwrap();
    // The workers that waited may still accept a connection.
    wait_until("served", TIMEOUT, async || app.chat("hi").await.status == 200).await;
    drop(app);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_waits_for_a_store_that_is_lost_while_it_starts() {
    let (catalogue, secrets, users) = ("catalogue_models", "secrets", "users");
    tokio::join!(starts_when_it_can_read(catalogue), starts_when_it_can_read(secrets), starts_when_it_can_read(users));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_waited_for_a_store_of_a_newer_version_ends_with_an_error() {
    let database = Database::migrated().await;
    let cable = Cable::to(&database).await;
    drop(TestApp::setup().store(&cable.url).start().await);
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let newer = "INSERT INTO schema_version (version, serves_since) VALUES (999999, 999999)";
    connection.execute(newer).await.unwrap();
    cable.cut();
    let mut app = TestApp::setup().store(&cable.url).without_store().start().await;
    cable.restore();
    let ended = app.forebay.child.wait_for_end(TIMEOUT).await.expect("the process exits");
    let log = app.forebay.child.stderr();
    assert_eq!(ended.code(), Some(1), "{log}");
    assert!(log.contains("the store has schema version 999999"), "{log}");
    drop(app);
    database.remove().await;
}
