//! `/readyz`: the status of each part and its reason.

use serde_json::{Value, json};
use testkit::http::Client;

use crate::app::{TIMEOUT, TestApp, wait_until};
use crate::redis::Redis;

/// The status of a part.
async fn part(ops: &Client, name: &str) -> Value {
    ops.get("/readyz").await.json()["parts"][name].clone()
}

#[tokio::test]
async fn a_model_without_replicas_degrades_readiness_and_fails_it_on_request() {
    let app = TestApp::setup()
        .table("[[models]]\nid = 'acme/down'\nupstreams = [{ url = 'http://127.0.0.1:9/v1' }]")
        .start()
        .await;
    let ops = Client::new(app.forebay.ops);
    wait_until("degraded", TIMEOUT, async || part(&ops, "engines").await["status"] == "degraded").await;
    let degraded = json!({"status": "degraded", "why": "no replica accepts calls for acme/down"});
    assert_eq!(part(&ops, "engines").await, degraded);
    let ready = ops.get("/readyz").await;
    assert_eq!((ready.status_line().as_str(), &ready.json()["status"]), ("200 OK", &"degraded".into()));
    for healthy in ["store", "limits", "journal", "catalogue"] {
        assert_eq!(ready.json()["parts"][healthy], json!({"status": "ok"}), "{healthy}");
    }
    assert_eq!(ops.get("/readyz?require=store,journal").await.status, 200);
    let not_ready = ops.get("/readyz?require=store,engines").await;
    assert_eq!(not_ready.status_line(), "503 Service Unavailable");
    assert_eq!(not_ready.json()["parts"]["engines"], degraded, "the body has the reason");
    for (query, named) in [("require=engine", "`engine`"), ("require=", "``"), ("strict=1", "`strict=1`")] {
        let wrong = ops.get(&format!("/readyz?{query}")).await;
        assert_eq!(wrong.status_line(), "400 Bad Request");
        assert!(wrong.json()["error"].as_str().unwrap().contains(named), "{}", wrong.text());
    }
}

#[tokio::test]
async fn the_leader_reports_itself() {
    let app = TestApp::start().await;
    let ops = Client::new(app.forebay.ops);
    wait_until("it leads", TIMEOUT, async || ops.get("/metrics").await.text().contains("\nforebay_leader 1\n")).await;
    assert_eq!(part(&ops, "leader").await, json!({"status": "ok"}));
    assert_eq!(ops.get("/readyz").await.json()["status"], "ready");
}

#[tokio::test]
async fn an_outage_of_redis_is_noticed_without_any_calls() {
    let mut redis = Redis::start().await;
    let app = TestApp::setup().environment("FOREBAY_LIMITS_URL", &redis.url()).start().await;
    let ops = Client::new(app.forebay.ops);
    assert_eq!(part(&ops, "limits").await, json!({"status": "ok"}));
    redis.stop();
    wait_until("degraded", TIMEOUT, async || part(&ops, "limits").await["status"] == "degraded").await;
    assert!(ops.get("/metrics").await.text().contains("forebay_rate_limit_degraded 1"));
    assert_eq!(ops.get("/readyz").await.status_line(), "200 OK", "it enforces its share of the limits");
    redis.start_again().await;
    wait_until("ok", TIMEOUT, async || part(&ops, "limits").await["status"] == "ok").await;
    assert!(ops.get("/metrics").await.text().contains("forebay_rate_limit_degraded 0"));
}
