//! Keys that are created and ended while the server runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use domain::Timestamp;
use serde_json::json;
use testkit::http::Client;

use crate::app::{TestApp, chat, error_line, text, wait_until};

/// Twice the promised second, for a busy machine.
const SEEN_WITHIN: Duration = Duration::from_secs(2);

async fn status_with(app: &TestApp, key: &str) -> u16 {
    app.client_with(key).get("/models").await.status.as_u16()
}

#[tokio::test]
async fn the_scheme_is_case_insensitive_and_spaces_are_ignored() {
    let app = TestApp::start().await;
    for value in ["Bearer KEY", "bearer KEY", "BEARER   KEY", "Bearer KEY  "] {
        let client = app.stranger().header("authorization", &value.replace("KEY", &app.key));
        assert_eq!(client.get("/models").await.status_line(), "200 OK", "{value}");
    }
}

#[tokio::test]
async fn a_key_created_by_another_process_works_at_once() {
    let app = TestApp::start().await;
    let key = app.new_key("notebook");
    let client = app.client_with(text(&key["key"]));
    assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status_line(), "200 OK");
}

#[tokio::test]
async fn a_key_that_was_just_rejected_works_once_it_is_enabled() {
    let app = TestApp::start().await;
    let created = app.new_key("a");
    let (id, key) = (text(&created["id"]), text(&created["key"]));
    app.admin(&format!("keys disable {id}"));
    wait_until("disabled", SEEN_WITHIN, async || status_with(&app, key).await == 401).await;
    app.admin(&format!("keys enable {id}"));
    wait_until("enabled", SEEN_WITHIN, async || status_with(&app, key).await == 200).await;
}

#[tokio::test]
async fn the_end_of_a_key_takes_effect_within_a_second() {
    let app = TestApp::start().await;
    for verb in ["revoke", "disable", "expire"] {
        let created = app.new_key(verb);
        let key = text(&created["key"]);
        assert_eq!(status_with(&app, key).await, 200);
        app.admin(&format!("keys {verb} {}", text(&created["id"])));
        wait_until(verb, SEEN_WITHIN, async || status_with(&app, key).await == 401).await;
        assert_eq!(status_with(&app, &app.key).await, 200, "other keys are unaffected");
    }
}

#[tokio::test]
async fn a_key_expires_without_a_notification() {
    let app = TestApp::start().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let soon = Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap() + 2_000);
    let created = app.admin(&format!("keys create --workspace {} --name a --expires-at {soon}", app.workspace()));
    let key = text(&created["key"]);
    assert_eq!(status_with(&app, key).await, 200);
    wait_until("expired", Duration::from_secs(4), async || status_with(&app, key).await == 401).await;
}

#[tokio::test]
async fn a_revoked_key_does_not_cut_the_stream_it_opened() {
    let app = TestApp::start().await;
    let created = app.new_key("a");
    let key = text(&created["key"]);
    let slow = json!({"chunks": 20, "chunk_delay_ms": 50});
    let mut body = crate::app::stream("hi");
    body["fake"] = slow;
    let stream = app.client_with(key).open_stream("/chat/completions", body).await;
    app.admin(&format!("keys revoke {}", text(&created["id"])));
    wait_until("revoked", SEEN_WITHIN, async || status_with(&app, key).await == 401).await;
    let (events, clean) = stream.rest().await;
    assert!(clean && events.last().unwrap().is_done());
}

#[tokio::test]
async fn the_keys_of_a_deleted_workspace_are_rejected() {
    let app = TestApp::start().await;
    let organization = app.admin("organizations create --name Other");
    let line = format!("workspaces create --organization {} --name Lab", text(&organization["id"]));
    let workspace = app.admin(&line);
    let id = text(&workspace["id"]);
    let created = app.admin(&format!("keys create --workspace {id} --name a"));
    let key = text(&created["key"]);
    assert_eq!(status_with(&app, key).await, 200);
    app.admin(&format!("keys revoke {}", text(&created["id"])));
    app.admin(&format!("workspaces delete {id}"));
    wait_until("gone", SEEN_WITHIN, async || status_with(&app, key).await == 401).await;
    let response = app.client_with(key).get("/models").await;
    assert_eq!(error_line(&response), "401 invalid_api_key");
}

/// The API keys that the node has looked up in its store.
async fn lookups(app: &TestApp) -> u64 {
    let page = Client::new(app.forebay.ops).get("/metrics").await.text();
    let samples = page.lines().filter(|line| line.starts_with("forebay_credential_lookups_total{"));
    samples.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn the_edits_of_one_tenant_cost_no_lookup_of_the_key_of_another() {
    let app = TestApp::start().await;
    let organization = app.admin("organizations create --name Other");
    let line = format!("workspaces create --organization {} --name Lab", text(&organization["id"]));
    let workspace = text(&app.admin(&line)["id"]).to_owned();
    let other = app.client_with(text(&app.admin(&format!("keys create --workspace {workspace} --name a"))["key"]));
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    for requests in ["7001", "7002", "7003"] {
        app.admin(&format!("workspaces set {workspace} --requests-per-minute {requests}"));
        let seen = async || {
            let response = other.post_json("/chat/completions", chat("hi")).await;
            response.header("x-ratelimit-limit-requests") == Some(requests)
        };
        wait_until("the edit is seen", SEEN_WITHIN, seen).await;
        let before = lookups(&app).await;
        assert_eq!(app.chat("hi").await.status_line(), "200 OK");
        assert_eq!(lookups(&app).await, before);
    }
}

#[tokio::test]
async fn an_address_with_too_many_bad_credentials_gets_429_for_all_but_known_keys() {
    // One per minute, so that nothing is refilled while the test runs.
    let app = TestApp::setup().table("[limits]\nfailed_credentials_per_minute = 1").start().await;
    let fresh = text(&app.new_key("fresh")["key"]).to_owned();
    assert_eq!(status_with(&app, &app.key).await, 200);
    let guess = |letter: &str| app.client_with(&format!("sk-abcdefghijkl-{}", letter.repeat(40)));
    assert_eq!(error_line(&guess("a").get("/models").await), "401 invalid_api_key");
    let before = lookups(&app).await;
    for client in [guess("b"), app.stranger(), app.client_with("garbage")] {
        let rejected = client.post_json("/chat/completions", chat("hi")).await;
        assert_eq!(error_line(&rejected), "429 rate_limit_exceeded");
        let wait: u64 = rejected.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        let message = text(&rejected.json()["error"]["message"]).to_owned();
        assert!(message.contains("credentials from this address: 1 per minute"), "{message}");
    }
    let rejected = guess("c").get("/endpoints").await;
    assert_eq!(text(&rejected.json()["extensions"]["code"]), "RATE_LIMIT_EXCEEDED");
    assert!(rejected.header("retry-after").is_some());
    assert_eq!(lookups(&app).await, before, "no guess reached the store");
    assert_eq!(status_with(&app, &app.key).await, 200, "a cached key");
    wait_until("a key that the node knows of", SEEN_WITHIN, async || status_with(&app, &fresh).await == 200).await;
    let metrics = Client::new(app.forebay.ops).get("/metrics").await.text();
    assert!(!metrics.contains("{reason=\"failed_credentials\"} 0"), "{metrics}");
}

#[tokio::test]
async fn a_client_that_does_not_wait_is_rejected_with_a_delay() {
    const DELAY: Duration = Duration::from_millis(250);
    let app = TestApp::setup().table("[limits]\nfailed_credentials_per_minute = 1").start().await;
    let guess = || app.client_with(&format!("sk-abcdefghijkl-{}", "a".repeat(40)));
    assert_eq!(guess().get("/models").await.status, 401);
    let session = Client::new(app.forebay.public).header("cookie", &format!("forebay_session={}", "a".repeat(43)));
    for (client, path) in [(guess(), "/models"), (guess(), "/endpoints"), (session, "/api/organizations")] {
        let began = Instant::now();
        let rejected = client.get(path).await;
        assert_eq!(rejected.status, 429, "{path}: {}", rejected.text());
        assert!(began.elapsed() >= DELAY, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_guesses_keeps_no_valid_key_out() {
    let app = TestApp::setup().table("[limits]\nfailed_credentials_per_minute = 1_000_000").start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut guesses = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let (client, stop) = (app.stranger(), Arc::clone(&stop));
        guesses.spawn(async move {
            let mut sent = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                let key = format!("sk-{worker:04}{sent:08}-{}", "a".repeat(40));
                assert_eq!(client.clone().key(&key).get("/models").await.status, 401);
                sent += 1;
            }
            sent
        });
    }
    for name in ["a", "b", "c"] {
        let fresh = text(&app.new_key(name)["key"]).to_owned();
        assert_eq!(status_with(&app, &fresh).await, 200, "{name}");
    }
    stop.store(true, Ordering::Relaxed);
    let sent: u32 = guesses.join_all().await.into_iter().sum();
    assert!(sent > 0);
}

#[tokio::test]
async fn addresses_behind_a_trusted_proxy_are_counted_apart() {
    let setup = TestApp::setup().table("[limits]\nfailed_credentials_per_minute = 1");
    let app = setup.server("trusted_proxies = [\"127.0.0.1\"]").start().await;
    let from = async |address: &str| {
        let client = app.client_with("garbage").header("x-forwarded-for", address);
        client.get("/models").await.status.as_u16()
    };
    assert_eq!([from("192.0.2.1").await, from("192.0.2.1").await], [401, 429]);
    assert_eq!([from("192.0.2.2").await, from("2001:db8::1").await, from("2001:db8::2").await], [401, 401, 429]);
}
