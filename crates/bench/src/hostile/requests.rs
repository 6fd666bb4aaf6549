//! Requests of attackers, as bytes.

use std::io::Write as _;

use anyhow::{Context, ensure};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use testkit::http::Client;

use super::gateway::{ATTACKED_MODEL, SHORT_MODEL, Target};

/// The largest body that the gateway accepts.
pub(crate) const MAX_BODY: usize = 16 << 20;
/// The largest body that a client without a credential may announce.
pub(crate) const ANNOUNCED_WITHOUT_KEY: usize = 256 << 10;
/// The size of a prompt that cannot fit into its context.
const HOPELESS_BYTES: usize = 12_000_000;
/// The size of a prompt whose tokens are counted; a little less than what is accepted.
const COUNTED_BYTES: usize = 1_000_000;
/// What its engine counts, and returns the ids of.
pub(crate) const COUNTED_TOKENS: u64 = COUNTED_BYTES as u64 / 4;
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

/// The head of a request and one byte of its body: of a call with a key, or of a request without a credential.
pub(crate) fn announced(key: Option<&str>, length: usize) -> Bytes {
    let announced = format!("content-length: {length}\r\n");
    let head = match key {
        Some(key) => chat_head(key, &announced),
        None => format!("POST /api/x HTTP/1.1\r\nhost: x\r\n{announced}\r\n"),
    };
    Bytes::from(head + "{")
}

/// For each of the further workspaces, a call whose prompt cannot fit into the context.
pub(crate) fn hopeless(target: &Target) -> Vec<Bytes> {
    let body = chat_body(SHORT_MODEL, &prompt(HOPELESS_BYTES), false);
    target.siblings.iter().map(|key| chat_call(key, &body)).collect()
}

/// For each of the further workspaces, a request to count the tokens of a prompt.
pub(crate) fn counted(target: &Target) -> Vec<Bytes> {
    let messages = json!([{"role": "user", "content": prompt(COUNTED_BYTES)}]);
    let body = json!({"model": ATTACKED_MODEL, "messages": messages}).to_string();
    target.siblings.iter().map(|key| post("/v1/messages/count_tokens", &key_header(key), &body)).collect()
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
