//! Anthropic's surface, over engines that only speak chat.

mod count_tokens;
mod errors;
mod messages;
mod models;

use crate::app::{CHAT, TestApp, events_of, text};
use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::{Client, Event, Response};

/// A client as Anthropic's SDKs are.
fn client(app: &TestApp) -> Client {
    app.stranger().header("x-api-key", &app.key).header("anthropic-version", "2023-06-01")
}

fn message(content: &str) -> Value {
    json!({"model": CHAT, "max_tokens": 64, "messages": [{"role": "user", "content": content}]})
}

async fn create(app: &TestApp, body: Value) -> Response {
    client(app).post_json("/messages?beta=true", body).await
}

/// The events of a stream, with the engine following the script.
async fn events(app: &TestApp, script: Script) -> Vec<Event> {
    app.engine().push(script);
    let mut body = message("hi");
    body["stream"] = json!(true);
    events_of(&client(app), "/messages", body).await
}

/// `status type code param` of an error; also checks the envelope.
fn error_line(response: &Response) -> String {
    let body = response.json();
    let error = &body["error"];
    assert_eq!(body["type"], "error", "{body}");
    assert_eq!(body["request_id"].as_str(), response.header("x-request-id"), "{body}");
    assert_eq!(response.header("request-id"), response.header("x-request-id"));
    assert!(error.as_object().unwrap().len() == 4 && error["message"].is_string(), "{body}");
    let words = ["type", "code", "param"].map(|member| text(&error[member]));
    format!("{} {}", response.status.as_u16(), words.join(" ")).trim_end().to_owned()
}
