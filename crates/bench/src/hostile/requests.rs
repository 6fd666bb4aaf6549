//! Requests of attackers, as bytes.

use std::io::Write as _;

use anyhow::{Context, ensure};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use testkit::http::Client;

use super::gateway::{ATTACKED_MODEL, Target};

/// The largest body that the gateway accepts.
pub(crate) const MAX_BODY: usize = 16 << 20;
/// The size of a stored conversation.
const STORED_BYTES: usize = 1_000_000;
/// Prompt-like text with characters that JSON escapes.
const SENTENCE: &str = "The forebay takes what arrives, holds it, and lets it in; \"steady\" is the word.\n";

/// Prompt-like text.
pub(crate) fn prompt(bytes: usize) -> String {
    SENTENCE.chars().cycle().take(bytes).collect()
}

pub(crate) fn key_header(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

pub(crate) fn post(path: &str, headers: &str, body: &str) -> Bytes {
    request("POST", path, headers, body)
}

pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> Bytes {
    Bytes::from(format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}content-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

pub(crate) fn text(value: &Value) -> anyhow::Result<String> {
    Ok(value.as_str().with_context(|| format!("{value} is not a text"))?.to_owned())
}

/// Stores a conversation for each of the further workspaces; returns the calls that continue them.
pub(crate) async fn continued(target: &Target) -> anyhow::Result<Vec<Bytes>> {
    let text_of_conversation = prompt(STORED_BYTES);
    let mut calls = Vec::new();
    for key in &target.siblings {
        let client = Client::new(format!("http://{}/v1", target.address)).key(key);
        let first = json!({"model": ATTACKED_MODEL, "input": text_of_conversation});
        let stored = client.post_json("/responses", first).await;
        ensure!(stored.status == 200, "no response was stored: {}", stored.text());
        let id = text(&stored.json()["id"])?;
        let body = json!({"model": ATTACKED_MODEL, "input": "more", "previous_response_id": id, "store": false});
        calls.push(post("/v1/responses", &key_header(key), &body.to_string()));
    }
    Ok(calls)
}

/// The head of a chat call; each of `headers` ends with a line end.
pub(crate) fn chat_head(key: &str, headers: &str) -> String {
    format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n{headers}\r\n")
}

/// The body of a chat call.
pub(crate) fn chat_body(model: &str, text: &str, is_stream: bool) -> String {
    json!({"model": model, "stream": is_stream, "messages": [{"role": "user", "content": text}]}).to_string()
}

/// A whole chat call.
pub(crate) fn chat_call(key: &str, body: &str) -> Bytes {
    Bytes::from(chat_head(key, &format!("content-length: {}\r\n", body.len())) + body)
}

/// Gzip bodies: one that expands as far as deflate can, and one that stays just below the bound on the ratio.
pub(crate) fn bombs() -> anyhow::Result<[Vec<u8>; 2]> {
    let gzip = |text: &str| -> anyhow::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(chat_body(ATTACKED_MODEL, text, false).as_bytes())?;
        Ok(encoder.finish()?)
    };
    let lines: String = (0..MAX_BODY / 400).map(|line| format!("{line:x}{}", "a".repeat(390))).collect();
    Ok([gzip(&"a".repeat(MAX_BODY - 1_000))?, gzip(&lines)?])
}

/// The head of a call with a gzip body.
pub(crate) fn gzip_head(key: &str, length: usize) -> String {
    chat_head(key, &format!("content-encoding: gzip\r\ncontent-length: {length}\r\n"))
}
