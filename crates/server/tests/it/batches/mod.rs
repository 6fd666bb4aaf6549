//! Files and batches.

mod deaths;
mod end_users;
mod files;
mod lines;
mod messages;
mod rules;
mod three_nodes;
mod waiting;

use crate::app::{CHAT, TIMEOUT, TestApp, text, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::http::form::{form, form_client};
use testkit::http::{Client, Response};

async fn try_upload(client: &Client, fields: &[(&str, &str)], content: &str) -> Response {
    form_client(client.clone()).post_bytes("/files", form(fields, Some(content))).await
}

/// Uploads a file and returns its id.
pub(crate) async fn upload(client: &Client, content: &str) -> String {
    let response = try_upload(client, &[("purpose", "batch")], content).await;
    assert_eq!(response.status, 200, "{}", response.text());
    text(&response.json()["id"]).to_owned()
}

/// A line that calls chat.
fn line(id: &str, content: &str) -> String {
    let body = json!({"model": CHAT, "messages": [{"role": "user", "content": content}]});
    line_of(id, "/v1/chat/completions", &body)
}

pub(crate) fn line_of(id: &str, url: &str, body: &Value) -> String {
    json!({"custom_id": id, "method": "POST", "url": url, "body": body}).to_string() + "\n"
}

pub(crate) fn lines(count: usize) -> String {
    (0..count).map(|number| line(&format!("line-{number}"), &format!("text {number}"))).collect()
}

fn request(file: &str) -> Value {
    json!({"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"})
}

/// Creates a batch of chats and returns its id.
pub(crate) async fn create(client: &Client, content: &str) -> String {
    let file = upload(client, content).await;
    let response = client.post_json("/batches", request(&file)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    text(&response.json()["id"]).to_owned()
}

async fn batch(client: &Client, id: &str) -> Value {
    let response = client.get(&format!("/batches/{id}")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

/// The batch once it has ended.
pub(crate) async fn ended(client: &Client, id: &str) -> Value {
    let mut found = Value::Null;
    wait_until("the batch ends", 3 * TIMEOUT, async || {
        found = batch(client, id).await;
        ["completed", "failed", "expired", "cancelled"].contains(&text(&found["status"]))
    })
    .await;
    found
}

/// The lines of a file, by their `custom_id`.
pub(crate) async fn content(client: &Client, file: &Value) -> BTreeMap<String, Value> {
    let Some(id) = file.as_str() else { return BTreeMap::new() };
    let response = client.get(&format!("/files/{id}/content")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let text = response.text();
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let found: Vec<Value> = text.lines().map(parse).collect();
    let by_id: BTreeMap<String, Value> =
        found.iter().map(|line| (line["custom_id"].as_str().unwrap().to_owned(), line.clone())).collect();
    assert_eq!(by_id.len(), found.len(), "no line is a duplicate");
    by_id
}

/// A gateway and its client.
async fn start() -> (TestApp, Client) {
    let app = TestApp::start().await;
    let client = app.client();
    (app, client)
}

/// How many calls of lines at this node have ended with this code, which is empty for those that were served.
pub(crate) async fn calls_of_lines(app: &TestApp, code: &str) -> u64 {
    let page = Client::new(app.forebay.ops).get("/metrics").await.text();
    let code = format!("code=\"{code}\"");
    let of_lines = page.lines().filter(|line| line.starts_with("forebay_requests_total{route=\"batch\""));
    of_lines
        .filter(|line| line.contains(&code))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum()
}
