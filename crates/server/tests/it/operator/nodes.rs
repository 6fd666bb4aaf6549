use serde_json::{Value, json};

use crate::app::{TIMEOUT, TestApp, text, wait_until};
use crate::console::person::{Person, error_of};

#[tokio::test]
async fn a_node_reports_its_state_and_its_gpus() {
    let slots = "[drivers.process]\nslots = { \"local/cpu\" = 2 }";
    let app = TestApp::setup().table(slots).start().await;
    let operator = Person::operator(&app).await;
    let node = async || operator.read("/api/operator/nodes").await["data"][0].clone();
    wait_until("the node leads, and has reported a latency", TIMEOUT, async || {
        let node = node().await;
        node["leader"] == true && node["report"]["storeLatencyMillis"].is_number()
    })
    .await;
    let node = node().await;
    assert_eq!((&node["self"], &node["alive"], &node["sameCatalogue"]), (&json!(true), &json!(true), &json!(true)));
    let report = &node["report"];
    assert!(text(&report["version"]).starts_with(env!("CARGO_PKG_VERSION")), "{report}");
    assert_eq!((&report["redisLatencyMillis"], &report["journal"]["maxBytes"]), (&Value::Null, &json!(1 << 30)));
    assert_eq!(report["parts"][0]["name"], "store");
    let gpus = operator.read("/api/operator/gpus").await;
    let ids: Vec<&str> = gpus["data"].as_array().unwrap().iter().map(|gpu| text(&gpu["id"])).collect();
    let slots: Vec<&&str> = ids.iter().filter(|id| id.starts_with("local/cpu#")).collect();
    assert_eq!(slots, [&"local/cpu#0", &"local/cpu#1"], "{gpus}");
    assert!(gpus["data"].as_array().unwrap().iter().all(|gpu| gpu["holder"].is_null()));
}

#[tokio::test]
async fn findings_have_remedies_and_errors_are_counted_by_cause() {
    let mut app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    app.engines[0].stop();
    let found = operator.read("/api/operator/findings").await;
    let findings = found["findings"].as_array().unwrap();
    let of = |check: &str| findings.iter().filter(|finding| finding["check"] == check).collect::<Vec<_>>();
    assert_eq!(of("store")[0]["level"], "ok", "{found}");
    let upstream = of("engines").into_iter().find(|finding| text(&finding["what"]).contains("cannot be reached"));
    assert!(upstream.is_some_and(|finding| finding["level"] == "warning" && finding["remedy"] != ""), "{found}");
    assert_eq!(
        operator.read("/api/operator/findings").await["checkedAt"],
        found["checkedAt"],
        "it is kept for a while"
    );

    let body = json!({"model": "acme/none", "messages": [{"role": "user", "content": "hi"}]});
    for _ in 0..2 {
        assert_eq!(app.client().post_json("/chat/completions", body.clone()).await.status, 404);
    }
    let errors = async || operator.read("/api/operator/errors").await["data"].clone();
    wait_until("both are counted", TIMEOUT, async || errors().await[0]["count"] == 2).await;
    let first = errors().await[0].clone();
    assert_eq!((&first["code"], first["lastAt"].is_string()), (&json!("model_not_found"), true), "{first}");
    let bad = operator.get("/api/operator/errors?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").await;
    assert_eq!(error_of(&bad), "422 invalid_value to");
    let month = operator.get("/api/operator/errors?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z").await;
    assert_eq!(month.status, 200);
    let longer = operator.get("/api/operator/errors?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:01Z").await;
    assert_eq!(error_of(&longer), "422 invalid_value from");
}
