//! Series of charts.

use super::person::{Person, error_of};
use crate::app::{CHAT, TIMEOUT, TestApp, chat, stream, text, wait_until};
use serde_json::{Value, json};
use testkit::fake_engine::Script;

/// The only line of an undivided chart.
fn total(chart: &Value) -> Value {
    assert_eq!(chart["data"].as_array().unwrap().len(), 1, "{chart}");
    chart["data"][0]["total"].clone()
}

struct Board {
    app: TestApp,
    person: Person,
    base: String,
}

impl Board {
    async fn new(app: TestApp) -> Self {
        let person = Person::new(&app, "mia", "member").await;
        let base = format!("/api/workspaces/{}/metrics", app.workspace());
        Self { app, person, base }
    }

    async fn chart(&self, query: &str) -> Value {
        self.person.read(&format!("{}?{query}", self.base)).await
    }

    /// Waits until the total of the chart is `count`.
    async fn wait_for(&self, query: &str, count: u64) {
        wait_until(&format!("{query} = {count}"), TIMEOUT, async || total(&self.chart(query).await)["count"] == count)
            .await;
    }
}

#[tokio::test]
async fn calls_of_all_kinds_are_in_the_series() {
    let board = Board::new(TestApp::setup().workspace_limits(5, 1_000_000, 1_000_000).start().await).await;
    let app = &board.app;
    app.engine().push(Script { prompt_tokens: 100, cached_tokens: Some(40), ..Script::default() });
    assert_eq!(app.chat("hi").await.status, 200);
    app.events(Script { chunks: 5, ..Script::default() }, stream("hi")).await;
    app.engine().push(Script { status: Some(500), ..Script::default() });
    assert_eq!(app.chat("hi").await.status, 502);
    let mut unknown = chat("hi");
    unknown["model"] = "acme/none".into();
    assert_eq!(app.ask(unknown).await.status, 404);
    assert_eq!(app.ask(json!({"model": CHAT})).await.status, 400);
    let mut calls = 5;
    while app.chat("hi").await.status != 429 {
        calls += 1;
    }
    board.wait_for("metric=requests", calls + 1).await;
    board.wait_for("metric=rate_limit_hits", 1).await;

    let tokens = total(&board.chart("metric=tokens").await);
    assert!(tokens["prompt"].as_u64().unwrap() > 100 && tokens["cached"] == 40, "{tokens}");
    let errors = board.chart("metric=errors&groupBy=code").await;
    let mut codes: Vec<&str> = errors["data"].as_array().unwrap().iter().map(|line| text(&line["code"])).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["bad_gateway", "missing_parameter", "model_not_found", "rate_limit_exceeded"]);
    let by_model = board.chart("metric=requests&groupBy=model").await;
    let named: Vec<&Value> = by_model["data"].as_array().unwrap().iter().map(|line| &line["model"]).collect();
    assert!(named.contains(&&json!(CHAT)) && named.contains(&&Value::Null), "{named:?}");
    let streams = total(&board.chart("metric=ttft").await);
    assert_eq!(streams["count"], 1, "only streams have a first token");
    assert!(streams["p99"].as_f64().unwrap() > 0.0 && streams["p50"] == streams["p99"], "{streams}");
    let latency = total(&board.chart("metric=latency").await);
    assert_eq!(latency["count"], calls - 3, "served calls only");
    assert_eq!(total(&board.chart("metric=queue").await)["count"], calls - 2, "calls sent to a replica only");
    assert_eq!(
        total(&board.chart("metric=hold").await),
        json!({"p50": null, "p95": null, "p99": null, "mean": null, "count": 0})
    );
}

#[tokio::test]
async fn a_series_has_points_and_gaps() {
    let board = Board::new(TestApp::start().await).await;
    assert_eq!(board.app.chat("hi").await.status, 200);
    board.wait_for("metric=requests", 1).await;
    let chart = board.chart("metric=requests&step=hour").await;
    assert_eq!(
        (&chart["metric"], &chart["unit"], &chart["stepSeconds"]),
        (&json!("requests"), &json!("calls"), &json!(3600))
    );
    let starts = chart["starts"].as_array().unwrap();
    assert!(starts.len() == 25 || starts.len() == 24, "a day, whose first hour may have begun before");
    assert_eq!((&chart["from"], text(&starts[1]).ends_with(":00:00.000Z")), (&starts[0], true));
    let values = chart["data"][0]["values"]["count"].as_array().unwrap();
    assert_eq!(values.len(), starts.len());
    assert_eq!(values.iter().filter_map(Value::as_u64).sum::<u64>(), 1);
    // Minutes are kept for two days; earlier points are unknown, not zero.
    let long_ago = board.chart("metric=requests&from=2026-01-01T00:00:00Z&to=2026-01-01T00:02:00Z&step=60").await;
    assert_eq!(long_ago["data"][0]["values"]["count"], json!([null, null]));
    assert_eq!(board.chart("metric=latency&step=day&groupBy=key").await["data"][0]["user"], Value::Null);
    let by_endpoint = board.chart("metric=requests&groupBy=endpoint").await;
    assert_eq!(by_endpoint["data"], json!([]), "there is no dedicated endpoint");
    let queues = board.chart("metric=prefill_queue&groupBy=replica").await;
    assert_eq!((&queues["unit"], &queues["data"]), (&json!("tokens"), &json!([])));
}

#[tokio::test]
async fn charts_are_filtered_by_surface() {
    let board = Board::new(TestApp::start().await).await;
    let message = json!({"model": CHAT, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(board.app.client().post_json("/messages", message).await.status, 200);
    assert_eq!(board.app.chat("hi").await.status, 200);
    assert_eq!(board.app.ask(json!({"model": CHAT})).await.status, 400);
    board.wait_for("metric=requests", 3).await;
    for (query, count) in [
        ("metric=requests&surface=messages", 1),
        ("metric=requests&surface=chat", 2),
        ("metric=errors&surface=messages", 0),
        ("metric=errors&surface=chat", 1),
        ("metric=latency&surface=messages", 1),
        ("metric=requests&surface=embeddings", 0),
    ] {
        assert_eq!(total(&board.chart(query).await)["count"], count, "{query}");
    }
    let unknown = board.person.get(&format!("{}?metric=requests&surface=colour", board.base)).await;
    assert!(unknown.text().contains("a surface is one of chat, messages, responses"), "{}", unknown.text());
}

#[tokio::test]
async fn an_invalid_query_is_rejected_with_its_field() {
    let board = Board::new(TestApp::start().await).await;
    for (query, field) in [
        ("", "metric"),
        ("metric=colour", "metric"),
        ("metric=requests&step=fortnight", "step"),
        ("metric=requests&step=61", "step"),
        ("metric=requests&step=minute&from=2026-01-01T00:00:00Z", "step"),
        ("metric=gpu_busy&step=minute", "step"),
        ("metric=requests&groupBy=colour", "groupBy"),
        ("metric=latency&groupBy=code", "groupBy"),
        ("metric=kv_cache&groupBy=key", "groupBy"),
        ("metric=requests&groupBy=replica", "groupBy"),
        ("metric=prefill_queue&model=a/b", "model"),
        ("metric=requests&from=yesterday", "from"),
        ("metric=requests&from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("metric=requests&key=unknown", "key"),
        ("metric=requests&model=%00", "model"),
        ("metric=requests&model=a/b&endpoint=c", "endpoint"),
        ("metric=requests&code=x", "code"),
        ("metric=requests&surface=colour", "surface"),
        ("metric=gpu_busy&surface=chat", "surface"),
    ] {
        let response = board.person.get(&format!("{}?{query}", board.base)).await;
        assert_eq!(error_of(&response), format!("422 invalid_value {field}"), "{query}");
    }
    let other = board.app.admin("organizations create --name Other");
    let stranger = Person::of_organization(&board.app, "otto", &format!("{} --role admin", text(&other["id"]))).await;
    assert_eq!(error_of(&stranger.get(&format!("{}?metric=requests", board.base)).await), "404 not_found");
}
