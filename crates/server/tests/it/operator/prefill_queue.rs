use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_engine::Script;
use tokio::task::JoinSet;

use crate::app::{CHAT, TestApp, stream, text, wait_until};
use crate::console::person::{Person, error_of};

/// A node samples every ten seconds, once it leads.
const SAMPLED_WITHIN: Duration = Duration::from_secs(60);

fn lines(chart: &Value) -> &[Value] {
    chart["data"].as_array().unwrap()
}

#[tokio::test]
async fn only_the_operator_sees_the_prompts_that_wait_at_each_replica_of_a_model() {
    let app = TestApp::setup().engines(2).start().await;
    let operator = Person::operator(&app).await;
    let silent = Script { stall_after: Some(0), no_role: true, ..Script::default() };
    app.engines.iter().for_each(|engine| engine.script(silent.clone()));
    let client = app.client();
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { client.open_stream("/chat/completions", stream(&"long ".repeat(10_000))).await });

    let queue = format!("/api/operator/models/{}/prefill-queue", CHAT.replace('/', "%2F"));
    wait_until("the prompt is sampled", SAMPLED_WITHIN, async || {
        let chart = operator.read(&queue).await;
        lines(&chart).iter().any(|line| line["total"]["max"].as_f64().is_some_and(|tokens| tokens > 10_000.0))
    })
    .await;
    let chart = operator.read(&queue).await;
    assert_eq!((&chart["metric"], &chart["unit"]), (&json!("prefill_queue"), &json!("tokens")));
    let mut replicas: Vec<&str> = lines(&chart).iter().map(|line| text(&line["replica"])).collect();
    replicas.sort_unstable();
    assert_eq!(replicas, [format!("{CHAT}#1"), format!("{CHAT}#2")], "an idle replica has a queue of zero");

    let of_workspace = format!("/api/workspaces/{}/metrics?metric=prefill_queue", app.workspace());
    for (name, role) in [("mia", "member"), ("ada", "admin")] {
        let person = Person::new(&app, name, role).await;
        assert_eq!(error_of(&person.get(&queue).await), "403 operator_only");
        assert_eq!(person.read(&format!("{of_workspace}&groupBy=replica")).await["data"], json!([]));
        let by_model = person.get(&format!("{of_workspace}&model={CHAT}")).await;
        assert_eq!(error_of(&by_model), "422 invalid_value model");
    }
}

#[tokio::test]
async fn an_invalid_query_is_rejected_with_its_field() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let queue = "/api/operator/models/acme%2Fnone/prefill-queue";
    assert_eq!(operator.read(queue).await["data"], json!([]), "a model without samples");
    for (query, field) in [
        ("from=yesterday", "from"),
        ("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("step=colour", "step"),
        ("step=minute&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z", "step"),
    ] {
        let response = operator.get(&format!("{queue}?{query}")).await;
        assert_eq!(error_of(&response), format!("422 invalid_value {field}"), "{query}");
    }
}
