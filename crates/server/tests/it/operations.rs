//! For operators: metrics, readiness, and one log line per request.

use expect_test::expect;
use serde_json::Value;
use testkit::fake_engine::Script;
use testkit::http::Client;

use crate::app::{CHAT, TIMEOUT, TestApp, chat, stream, wait_until};

fn log_lines(app: &TestApp) -> Vec<Value> {
    app.forebay.child.stdout().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test]
async fn the_operations_port_reports_health_and_readiness() {
    let app = TestApp::start().await;
    let ops = Client::new(app.forebay.ops);
    assert_eq!(ops.get("/healthz").await.text(), "{\"status\":\"ok\"}\n");
    let ready = ops.get("/readyz").await;
    assert_eq!((ready.status_line().as_str(), &ready.json()["status"]), ("200 OK", &"ready".into()));
    assert_eq!(ready.json()["store"], "ok");
    assert_eq!(ops.get("/v1/models").await.status, 404, "the public surfaces are on another port");

    let public = Client::new(app.forebay.public);
    assert_eq!(public.get("/healthz").await.status_line(), "200 OK");
    for private in ["/metrics", "/readyz"] {
        assert_eq!(public.get(private).await.status, 404, "{private} is not public");
    }
}

#[tokio::test]
async fn metrics_count_by_route_model_status_and_code() {
    let app = TestApp::start().await;
    app.chat("hi").await;
    app.chat("hi").await;
    app.ask(stream("hi")).await;
    app.client().get("/models").await;
    app.stranger().get("/models").await;
    app.engine().push(Script { status: Some(500), ..Script::default() });
    app.chat("hi").await;
    let ops = Client::new(app.forebay.ops);
    let mut metrics = String::new();
    wait_until("the last call is counted", TIMEOUT, async || {
        metrics = ops.get("/metrics").await.text().replace(app.workspace().as_str(), "ws_…");
        metrics.contains("bad_gateway")
    })
    .await;
    let counted = |start: &str| {
        let mut lines: Vec<&str> = metrics.lines().filter(|line| line.starts_with(start)).collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    expect![[r#"
        forebay_requests_total{route="chat",workspace="ws_…",model="acme/tiny",status="200",code=""} 3
        forebay_requests_total{route="chat",workspace="ws_…",model="acme/tiny",status="502",code="bad_gateway"} 1
        forebay_requests_total{route="models",workspace="",model="",status="401",code="invalid_api_key"} 1
        forebay_requests_total{route="models",workspace="ws_…",model="",status="200",code=""} 1"#]]
    .assert_eq(&counted("forebay_requests_total"));
    expect![[r#"
        forebay_tokens_total{workspace="ws_…",model="acme/tiny",kind="cached"} 0
        forebay_tokens_total{workspace="ws_…",model="acme/tiny",kind="completion"} 9
        forebay_tokens_total{workspace="ws_…",model="acme/tiny",kind="prompt"} 30"#]]
    .assert_eq(&counted("forebay_tokens_total"));
    expect![[r#"forebay_time_to_first_token_seconds_count{model="acme/tiny"} 1"#]]
        .assert_eq(&counted("forebay_time_to_first_token_seconds_count"));
    expect![[r#"
        forebay_replica_in_flight{model="acme/embed",replica="acme/embed#1"} 0
        forebay_replica_in_flight{model="acme/tiny",replica="acme/tiny#1"} 0"#]]
    .assert_eq(&counted("forebay_replica_in_flight"));
}

#[tokio::test]
async fn every_request_leaves_one_line_without_prompt_or_secret() {
    let app = TestApp::start().await;
    let client = app.client().header("x-client-request-id", "mine \"quoted\"");
    let response = client.post_json("/chat/completions", chat("a very private prompt")).await;
    app.stranger().key("sk-garbage-secret").get("/models").await;
    app.client().get("/nothing").await;
    wait_until("three lines", TIMEOUT, async || log_lines(&app).len() == 3).await;
    let lines = log_lines(&app);
    let served = &lines[0];
    assert_eq!(served["request"].as_str(), response.header("x-request-id"));
    assert_eq!(served["client_request"], "mine \"quoted\"");
    let members = ["route", "model", "status", "code", "prompt_tokens", "completion_tokens", "certainty", "stream"];
    let logged: Vec<String> = members.iter().map(|member| served[member].to_string()).collect();
    assert_eq!(logged, ["\"chat\"", &format!("\"{CHAT}\""), "200", "\"\"", "10", "3", "\"exact\"", "false"]);
    assert_eq!(served["workspace"], app.workspace().as_str());
    assert!(served["key"].as_str().unwrap().starts_with("key_"));
    assert!(served["first_byte_us"].is_u64() && served["duration_us"].is_u64());
    assert_eq!((&lines[1]["status"], &lines[1]["code"]), (&401.into(), &"invalid_api_key".into()));
    assert_eq!(lines[1]["cause"], "malformed key", "the cause is in the log only");
    assert_eq!((&lines[2]["status"], &lines[2]["code"]), (&404.into(), &"route_not_found".into()));

    let everything = app.forebay.child.stdout() + &app.forebay.child.stderr().replace(&app.key, "");
    let secret = app.key.rsplit('-').next().unwrap();
    for private in ["a very private prompt", "Hello Hello", "garbage", secret] {
        assert!(!everything.contains(private), "{private} is in the log:\n{everything}");
    }
}

#[tokio::test]
async fn the_log_has_the_outcome_of_a_stream() {
    let app = TestApp::start().await;
    app.events(Script { chunks: 5, cut_after: Some(2), ..Script::default() }, stream("hi")).await;
    wait_until("a line", TIMEOUT, async || !log_lines(&app).is_empty()).await;
    let line = &log_lines(&app)[0];
    assert_eq!((&line["status"], &line["code"]), (&200.into(), &"bad_gateway".into()));
    assert_eq!((&line["stream"], &line["completion_tokens"]), (&true.into(), &2.into()));
    assert!(line["cause"].as_str().unwrap().contains("connection"), "{line}");
}
