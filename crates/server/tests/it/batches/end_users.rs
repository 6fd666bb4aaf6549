//! Lines of batches whose key names end users.

use super::{content, create, ended, line_of};
use crate::app::{CHAT, TIMEOUT, TestApp, text, wait_until};
use serde_json::{Value, json};
use testkit::http::Client;

fn body_of(user: &str) -> Value {
    json!({"model": CHAT, "max_tokens": 10, "user": user, "messages": [{"role": "user", "content": "hi"}]})
}

/// A batch with a line of each of two end users, once it has ended.
async fn run(client: &Client) -> Value {
    let lines = ["ada", "bob"].map(|user| line_of(user, "/v1/chat/completions", &body_of(user)));
    ended(client, &create(client, &lines.concat()).await).await
}

#[tokio::test]
async fn lines_count_for_the_end_users_that_they_name_and_against_their_budgets() {
    let app = TestApp::start().await;
    let workspace = format!("--workspace {}", app.workspace());
    app.admin(&format!("end-users defaults {workspace} --keep-text true"));
    let key = app.admin(&format!("keys create {workspace} --name webui --trusts-end-user"));
    let client = app.client_with(text(&key["key"]));
    let first = run(&client).await;
    assert_eq!(first["request_counts"]["completed"], 2, "{first}");
    assert!(app.engine().calls().iter().all(|call| call.json()["user"].is_null()), "engines need no identity");
    app.usage(2).await;

    let found = app.admin(&format!("end-users list {workspace} --search ada"));
    let ada = format!("{} {workspace}", text(&found["data"][0]["id"]));
    let edited = app.admin(&format!("end-users edit {ada} --budget month=0.000001"));
    assert_eq!(edited["spending"][0]["exceeded"], true, "the line has cost more: {edited}");
    wait_until("the budget applies", TIMEOUT, async || {
        client.post_json("/chat/completions", body_of("ada")).await.status == 429
    })
    .await;
    let second = run(&client).await;
    assert_eq!(second["request_counts"], json!({"total": 2, "completed": 1, "failed": 1}), "{second}");
    let errors = content(&client, &second["error_file_id"]).await;
    assert_eq!(errors["ada"]["response"]["body"]["error"]["code"], "budget_exceeded", "{errors:?}");
}
