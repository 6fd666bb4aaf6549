//! Keys with budgets.

use domain::{Day, NanoUsd, Timestamp};
use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::Response;

use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, error_line, text, wait_until};
use crate::console::person::Person;
use crate::endpoints::{create, problem, setup};

/// Uses 90 and 10 tokens, at 1 and 4 dollars per million.
fn uses_little() -> Script {
    Script { prompt_tokens: 90, completion_tokens: Some(10), ..Script::default() }
}

const COST: i64 = 130_000;

/// Its prompt may have more than 200 tokens.
fn chat() -> Value {
    json!({"model": CHAT, "max_tokens": 10, "messages": [{"role": "user", "content": "x".repeat(200)}]})
}

/// Whether a budget rejects the call, which it does until it resets: no other call is running.
fn is_spent(response: &Response) -> bool {
    if response.status == 200 {
        return false;
    }
    assert_eq!(error_line(response), "429 budget_exceeded");
    assert_eq!(response.header("x-should-retry"), Some("false"), "{}", response.text());
    true
}

#[tokio::test]
async fn a_spent_budget_rejects_calls_on_every_surface_until_it_is_raised() {
    let app = TestApp::start().await;
    app.engine().script(uses_little());
    let operator = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let budgets = json!([{"window": "day", "usd": "0.001"}, {"window": "total", "usd": "0.0001", "soft": true}]);
    let key = operator.make(&keys, json!({"name": "small", "budgets": budgets})).await;
    let client = app.client_with(text(&key["key"]));
    let mut spent = NanoUsd::ZERO;
    let rejected = loop {
        let response = client.post_json("/chat/completions", chat()).await;
        if is_spent(&response) {
            break response;
        }
        spent += NanoUsd::from_nanos(COST);
    };
    assert!((500_000..=1_000_000).contains(&spent.nanos()), "{spent}");
    assert_eq!(error_line(&rejected), "429 budget_exceeded");
    assert_eq!(rejected.header("x-should-retry"), Some("false"));
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap());
    let until = Day::of(now).next().start().millis_since(now) / 1_000;
    let retry_after: u64 = rejected.header("retry-after").unwrap().parse().unwrap();
    assert!(retry_after.abs_diff(until) <= 5, "{retry_after} instead of {until}");
    let message = text(&rejected.json()["error"]["message"]).to_owned();
    for part in ["(window `day`): 0.001 USD, ", " used and ", " reserved by running calls; it resets at "] {
        assert!(message.contains(part), "{message}");
    }
    let input = json!({"model": CHAT, "max_output_tokens": 10, "input": "x".repeat(400), "store": false});
    let long = json!({"model": EMBEDDING, "input": vec!["word ".repeat(1_000); 60]});
    let mut streamed = input.clone();
    streamed["stream"] = json!(true);
    let refused = client.post_json("/responses", streamed.clone()).await;
    assert_eq!(error_line(&refused), "429 budget_exceeded");
    let codex = client.clone().header("user-agent", "codex_cli_rs/0.50.0");
    let failed = codex.post_json("/responses", streamed).await;
    assert_eq!(failed.status, 200);
    for part in ["event: response.failed", r#""code":"insufficient_quota""#, "(window `day`): 0.001 USD, "] {
        assert!(failed.text().contains(part), "{}", failed.text());
    }
    for (path, body) in [("/responses", input), ("/embeddings", long)] {
        let response = client.post_json(path, body).await;
        assert_eq!(response.status, 429, "{path}: {}", response.text());
        assert_eq!(error_line(&response), "429 budget_exceeded", "{path}");
    }
    let messages = client.post_json("/messages", chat()).await;
    let body = messages.json();
    assert_eq!((messages.status.as_u16(), &body["error"]["type"]), (429, &json!("rate_limit_error")), "{body}");
    assert!(text(&body["error"]["message"]).contains("budget of key"), "{body}");
    assert_eq!(messages.header("x-should-retry"), Some("false"));

    let own = format!("{keys}/{}", text(&key["id"]));
    let spending = async || operator.get(&own).await.json()["spending"].clone();
    wait_until("all calls are counted", TIMEOUT, async || spending().await[0]["usedUsd"] == spent.to_string()).await;
    let shown = spending().await;
    let facts = |one: &Value| ["window", "usd", "usedUsd", "exceeded"].map(|member| one[member].to_string()).join(" ");
    assert_eq!(facts(&shown[0]), format!(r#""day" "0.001" "{spent}" false"#));
    assert_eq!(facts(&shown[1]), format!(r#""total" "0.0001" "{spent}" true"#), "a soft budget only shows it");
    assert!(shown[1]["resetsAt"].is_null());

    let raise = json!({"usd": "0.01", "until": "2999-01-01T00:00:00Z"});
    let raised = json!({"budgets": [{"window": "day", "usd": "0.001", "raise": raise}]});
    assert_eq!(operator.patch(&own, raised).await.status, 200);
    wait_until("raised", TIMEOUT, async || client.post_json("/chat/completions", chat()).await.status == 200).await;

    for bad in [
        json!([{"window": "week", "usd": "1"}]),
        json!([{"window": "day", "usd": "-1"}]),
        json!([{"window": "day", "usd": "1"}, {"window": "day", "usd": "2"}]),
        json!([{"window": "day", "usd": "2", "raise": {"usd": "1", "until": "2999-01-01T00:00:00Z"}}]),
    ] {
        let refused = operator.patch(&own, json!({"budgets": bad})).await;
        assert!(matches!(refused.status.as_u16(), 400 | 422), "{bad}: {}", refused.text());
    }
}

#[tokio::test]
async fn models_without_a_price_go_on_when_nothing_may_be_spent() {
    let free = "[[models]]\nid = \"acme/free\"\nupstreams = [ { url = \"http://127.0.0.1:1\" } ]";
    let app = TestApp::setup().table(free).start().await;
    let made = app.admin(&format!("keys create --workspace {} --name none --budget total=0", app.workspace()));
    let client = app.client_with(text(&made["key"]));
    let priced = client.post_json("/chat/completions", chat()).await;
    assert_eq!(error_line(&priced), "429 budget_exceeded");
    assert_eq!(priced.header("retry-after"), None, "it does not reset");
    let mut body = chat();
    body["model"] = json!("acme/free");
    let free = client.post_json("/chat/completions", body).await;
    assert_eq!(error_line(&free).split(' ').next(), Some("503"), "admitted; its engine does not exist");
}

#[tokio::test]
async fn a_spent_budget_of_a_workspace_rejects_calls_and_gpus_until_it_is_raised() {
    let app = setup(4).start().await;
    app.engine().script(uses_little());
    let operator = Person::operator(&app).await;
    app.admin(&format!("workspaces set {} --monthly-usd 0.001", app.workspace()));
    let ask = async || app.client().post_json("/chat/completions", chat()).await;
    let rejected = loop {
        let response = ask().await;
        if is_spent(&response) {
            break response;
        }
    };
    assert_eq!(error_line(&rejected), "429 budget_exceeded");
    let whose = format!("budget of workspace {} reached (window `month`): 0.001 USD", app.workspace());
    assert!(text(&rejected.json()["error"]["message"]).starts_with(&whose), "{}", rejected.text());
    let costs = format!("/api/workspaces/{}/costs", app.workspace());
    let counted = async || {
        let costs = operator.read(&costs).await;
        costs["budget"]["usedUsd"] == costs["total"]["costUsd"] && costs["total"]["costUsd"] != "0.00"
    };
    wait_until("all calls are counted", TIMEOUT, counted).await;
    let budget = operator.read(&costs).await["budget"].clone();
    assert_eq!((&budget["usd"], &budget["ofOrganization"]), (&json!("0.001"), &json!(false)), "{budget}");
    // What is left pays neither a call nor a minute of a GPU.
    for usd in ["0.001", "0"] {
        app.admin(&format!("workspaces set {} --monthly-usd {usd}", app.workspace()));
        assert_eq!(problem(&create(&app.client(), "a", 1, json!({})).await), "409 BUDGET_EXCEEDED");
    }
    app.admin(&format!("workspaces set {} --monthly-usd 5", app.workspace()));
    assert_eq!(create(&app.client(), "a", 1, json!({})).await.status, 201);
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    app.admin(&format!("workspaces set {} --monthly-usd none", app.workspace()));
    wait_until("no budget", TIMEOUT, async || ask().await.status == 200).await;
    let own = format!("/api/organizations/{organization}");
    assert_eq!(operator.patch(&own, json!({"monthlyUsd": "0.0001"})).await.json()["monthlyUsd"], "0.0001");
    wait_until("of the organization", TIMEOUT, async || ask().await.status == 429).await;
    let message = ask().await.json()["error"]["message"].clone();
    assert!(text(&message).starts_with(&format!("budget of organization {organization} reached")), "{message}");
    app.admin(&format!("organizations set {organization} --monthly-usd 5"));
    assert_eq!(ask().await.status, 429, "the lower amount applies");
    assert_eq!(operator.patch(&own, json!({"monthlyUsd": null})).await.json()["monthlyUsd"], "5.00");
    wait_until("raised", TIMEOUT, async || ask().await.status == 200).await;
}
