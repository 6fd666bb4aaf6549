//! The people behind one key.

use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::Client;

use crate::app::{CHAT, TIMEOUT, TestApp, chat, error_line, text, wait_until};
use crate::console::person::{Person, error_of};

/// Uses 90 and 10 tokens, at 1 and 4 dollars per million.
fn uses_little() -> Script {
    Script { prompt_tokens: 90, completion_tokens: Some(10), ..Script::default() }
}

async fn trusted(app: &TestApp, operator: &Person) -> (Client, String) {
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let key = operator.make(&keys, json!({"name": "webui", "trustsEndUser": true})).await;
    assert_eq!(key["trustsEndUser"], true);
    (app.client_with(text(&key["key"])), text(&key["id"]).to_owned())
}

/// Changes what applies to the end users of the workspace.
async fn apply(app: &TestApp, operator: &Person, end_users: Value) {
    let path = format!("/api/workspaces/{}", app.workspace());
    let version = operator.read(&path).await["version"].clone();
    let edited = operator.patch(&path, json!({"version": version, "endUsers": end_users})).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    assert_eq!(edited.json()["endUsers"]["keepText"], end_users["keepText"]);
}

fn of(user: &str) -> Value {
    let mut body = chat("hi");
    body["user"] = json!(user);
    body["max_tokens"] = json!(10);
    body
}

fn names(lines: &Value) -> Vec<(Value, u64)> {
    let lines = lines["data"].as_array().unwrap().iter();
    let mut named: Vec<_> =
        lines.map(|line| (line["endUserName"].clone(), line["requests"].as_u64().unwrap())).collect();
    named.sort_by_key(|(name, _)| name.to_string());
    named
}

#[tokio::test]
async fn usage_is_grouped_by_the_people_whom_trusted_calls_name() {
    let app = TestApp::start().await;
    app.engine().script(uses_little());
    let operator = Person::operator(&app).await;
    apply(&app, &operator, json!({"keepText": true})).await;
    let (client, key) = trusted(&app, &operator).await;
    let served = async |response: testkit::http::Response| assert_eq!(response.status, 200, "{}", response.text());

    served(client.post_json("/chat/completions", of("ada@example.com")).await).await;
    let sent = app.engine().calls().last().unwrap().json();
    assert_eq!(sent["user"], Value::Null, "engines need no identity");
    // The first header that is not empty counts.
    let open_webui =
        client.clone().header("x-openwebui-user-email", "").header("x-openwebui-user-id", "bob@example.com");
    served(open_webui.post_json("/chat/completions", chat("hi")).await).await;
    served(open_webui.post_json("/chat/completions", of("ada@example.com")).await).await;
    let mut messages = json!({"model": CHAT, "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]});
    messages["metadata"] = json!({"user_id": "eve"});
    served(client.post_json("/messages", messages).await).await;
    let input =
        json!({"model": CHAT, "max_output_tokens": 10, "input": "hi", "store": false, "safety_identifier": "eve"});
    served(client.post_json("/responses", input).await).await;
    served(client.post_json("/chat/completions", chat("hi")).await).await;
    served(app.ask(of("ada@example.com")).await).await;
    let sent = app.engine().calls().last().unwrap().json();
    assert_eq!(sent["user"], "ada@example.com", "a key that is not trusted names no end user");
    let long = client.post_json("/chat/completions", json!({"model": CHAT, "safety_identifier": "x".repeat(65)})).await;
    assert_eq!(error_line(&long).split(' ').next(), Some("422"), "{}", long.text());
    app.usage(7).await;

    let usage = format!("/api/workspaces/{}/usage", app.workspace());
    let grouped = operator.read(&format!("{usage}?groupBy=endUser")).await;
    let expected =
        [("ada@example.com", 2), ("bob@example.com", 1), ("eve", 2)].map(|(name, calls)| (json!(name), calls));
    assert_eq!(names(&grouped), [&expected[..], &[(Value::Null, 2)]].concat());
    assert_eq!(grouped["total"], operator.read(&usage).await["total"]);
    let by_key = operator.read(&format!("{usage}?groupBy=key,endUser,day&from=2020-01-01T00:00:00Z")).await;
    assert_eq!(by_key["data"].as_array().unwrap().len(), 5);
    assert!(by_key["data"].as_array().unwrap().iter().any(|line| line["key"] == json!(key)));
    let csv = operator.get(&format!("{usage}?groupBy=endUser&format=csv")).await.text();
    assert!(csv.starts_with("endUser,endUserName,requests"), "{csv}");
    assert_eq!(error_of(&operator.get(&format!("{usage}?groupBy=endUser,surface")).await), "422 invalid_value groupBy");

    let people = format!("/api/workspaces/{}/end-users", app.workspace());
    let found = operator.read(&format!("{people}?search=ADA")).await;
    let ada = text(&found["data"][0]["id"]).to_owned();
    assert_eq!((found["data"].as_array().unwrap().len(), &found["data"][0]["name"]), (1, &json!("ada@example.com")));
    let log = format!("/api/workspaces/{}/requests", app.workspace());
    let hers = operator.read(&format!("{log}?endUser={ada}")).await;
    let ids: Vec<_> = hers["data"].as_array().unwrap().iter().map(|call| call["endUser"].clone()).collect();
    assert_eq!(ids, [json!(ada), json!(ada)]);
    assert_eq!(error_of(&operator.get(&format!("{log}?endUser=ada")).await), "422 invalid_value endUser");

    let one = format!("{people}/{ada}");
    assert_eq!(operator.delete(&one).await.status, 204);
    assert_eq!(error_of(&operator.get(&one).await), "404 not_found");
    let left = operator.read(&format!("{usage}?groupBy=endUser")).await;
    assert_eq!(names(&left), [&expected[1..], &[(Value::Null, 4)]].concat());
    assert_eq!(left["total"], grouped["total"], "the sums stay");
    apply(&app, &operator, json!({"keepText": false})).await;
    let listed = operator.read(&people).await;
    assert!(listed["data"].as_array().unwrap().iter().all(|one| one["name"].is_null()), "{listed}");
}

#[tokio::test]
async fn people_who_were_never_seen_have_the_limits_of_the_workspace() {
    let app = TestApp::start().await;
    app.engine().script(uses_little());
    let operator = Person::operator(&app).await;
    let (client, _) = trusted(&app, &operator).await;
    apply(&app, &operator, json!({"keepText": false, "requestsPerMinute": 2})).await;
    let call = async |user: &str| client.post_json("/chat/completions", of(user)).await;
    // The change reaches the cached key within a second.
    wait_until("limited", TIMEOUT, async || call("warm-up").await.status == 429).await;
    for user in ["ada", "bob"] {
        for _ in 0..2 {
            assert_eq!(call(user).await.status, 200, "{user}");
        }
        let rejected = call(user).await;
        assert_eq!(error_line(&rejected), "429 rate_limit_exceeded");
        let message = text(&rejected.json()["error"]["message"]).to_owned();
        assert!(message.contains("end user eu_") && message.contains("2 requests per minute"), "{message}");
    }
    assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status, 200, "a call without a name");

    let people = format!("/api/workspaces/{}/end-users", app.workspace());
    let listed = async || operator.read(&people).await["data"].as_array().unwrap().clone();
    wait_until("all were seen", TIMEOUT, async || listed().await.len() == 3).await;
    let one = format!("{people}/{}", text(&listed().await[0]["id"]));
    let raised = operator.patch(&one, json!({"requestsPerMinute": 1000, "budgets": []})).await;
    assert_eq!((raised.status.as_u16(), &raised.json()["requestsPerMinute"]), (200, &json!(1000)));
    let refused = operator.patch(&one, json!({"requestsPerMinute": 0})).await;
    assert_eq!(error_of(&refused), "422 invalid_value requestsPerMinute");
    let unknown = format!("{people}/eu_{}", "0".repeat(32));
    assert_eq!(error_of(&operator.patch(&unknown, json!({})).await), "404 not_found");
    let member = Person::new(&app, "mia", "member").await;
    assert_eq!(error_of(&member.patch(&one, json!({})).await), "403 admin_only");
    assert_eq!(error_of(&member.delete(&one).await), "403 admin_only");
}

#[tokio::test]
async fn the_command_line_shows_limits_and_forgets_people() {
    let app = TestApp::start().await;
    app.engine().script(uses_little());
    let operator = Person::operator(&app).await;
    let workspace = format!("--workspace {}", app.workspace());
    let defaults =
        format!("end-users defaults {workspace} --keep-text true --budget month=5.00 --tokens-per-minute 90000");
    let set = app.admin(&defaults);
    assert_eq!((&set["keepText"], &set["budgets"][0]["usd"]), (&json!(true), &json!("5.00")));
    let set = app.admin(&format!("end-users defaults {workspace} --remove tokens-per-minute"));
    assert_eq!(
        (&set["keepText"], &set["tokensPerMinute"], &set["budgets"][0]["window"]),
        (&json!(true), &Value::Null, &json!("month"))
    );
    let (client, _) = trusted(&app, &operator).await;
    for user in ["ada", "bob"] {
        assert_eq!(client.post_json("/chat/completions", of(user)).await.status, 200);
    }
    app.usage(2).await;

    assert_eq!(app.admin(&format!("end-users list {workspace}"))["data"].as_array().unwrap().len(), 2);
    let found = app.admin(&format!("end-users list {workspace} --search AD"));
    assert_eq!((found["data"].as_array().unwrap().len(), &found["data"][0]["name"]), (1, &json!("ada")));
    let ada = format!("{} {workspace}", text(&found["data"][0]["id"]));
    let shown = app.admin(&format!("end-users show {ada}"));
    assert_eq!((&shown["budgets"], &shown["spending"][0]["usedUsd"]), (&Value::Null, &json!("0.00013")));

    let flags = "--requests-per-minute 7 --raise-budget month=9@2999-01-01T00:00:00Z --soft-budget day=1";
    let edited = app.admin(&format!("end-users edit {ada} {flags}"));
    let usd: Vec<_> = edited["spending"].as_array().unwrap().iter().map(|one| text(&one["usd"])).collect();
    assert_eq!((&edited["requestsPerMinute"], usd), (&json!(7), vec!["1.00", "9.00"]), "{edited}");
    let edited = app.admin(&format!("end-users edit {ada} --remove budgets"));
    assert_eq!((&edited["requestsPerMinute"], &edited["budgets"]), (&json!(7), &Value::Null));
    assert_eq!(app.admin(&format!("end-users delete {ada}"))["deleted"], true);
    assert_eq!(app.admin(&format!("end-users list {workspace}"))["data"].as_array().unwrap().len(), 1);
    assert_eq!(app.admin("usage rebuild")["rowsCorrected"], 0);
}

#[tokio::test]
async fn a_budget_of_each_person_rejects_the_calls_of_one_only() {
    let app = TestApp::start().await;
    app.engine().script(uses_little());
    let operator = Person::operator(&app).await;
    apply(&app, &operator, json!({"keepText": true, "budgets": [{"window": "month", "usd": "0.0006"}]})).await;
    let (client, _) = trusted(&app, &operator).await;
    let call = async |user: &str| client.post_json("/chat/completions", of(user)).await;
    let (mut spent, mut last) = (0, call("ada").await);
    wait_until("spent", TIMEOUT, async || {
        spent += if last.status == 200 { 130_000 } else { 0 };
        last = call("ada").await;
        last.status == 429 && last.header("x-should-retry").is_some()
    })
    .await;
    assert_eq!(error_line(&last), "429 budget_exceeded");
    let message = text(&last.json()["error"]["message"]).to_owned();
    assert!(message.contains("budget of end user eu_"), "{message}");
    assert!((130_000..=600_000).contains(&spent), "{spent}");
    assert_eq!(call("bob").await.status, 200, "a budget of his own");

    let people = format!("/api/workspaces/{}/end-users", app.workspace());
    wait_until("all is counted", TIMEOUT, async || {
        let found = operator.read(&format!("{people}?search=ada")).await;
        let Some(id) = found["data"][0]["id"].as_str().map(str::to_owned) else { return false };
        let shown = operator.read(&format!("{people}/{id}")).await;
        let used = domain::NanoUsd::parse(text(&shown["spending"][0]["usedUsd"])).unwrap();
        used.nanos() == spent
    })
    .await;
}
