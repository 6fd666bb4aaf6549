//! Pre-rendered requests.

use bytes::Bytes;
use serde_json::json;

use crate::proxy_bench::setup::gateways::Gateway;

/// Prompt-like text with a few characters that JSON escapes.
const SENTENCE: &str = "The forebay takes what arrives, holds it, and lets it in; \"steady\" is the word.\n";

/// A chat call with a prompt of this many bytes.
pub(crate) fn chat(gateway: &Gateway, prompt_bytes: usize) -> Bytes {
    chat_with_key(gateway, prompt_bytes, &gateway.key)
}

/// A chat call with an unknown key.
pub(crate) fn chat_with_unknown_key(gateway: &Gateway, prompt_bytes: usize) -> Bytes {
    chat_with_key(gateway, prompt_bytes, &format!("sk-{}-{}", "0".repeat(12), "0".repeat(32)))
}

pub(crate) fn chat_with_key(gateway: &Gateway, prompt_bytes: usize, key: &str) -> Bytes {
    chat_of(gateway, prompt_bytes, key, &gateway.chat_model)
}

pub(crate) fn chat_with_model(gateway: &Gateway, prompt_bytes: usize, model: &str) -> Bytes {
    chat_of(gateway, prompt_bytes, &gateway.key, model)
}

fn chat_of(gateway: &Gateway, prompt_bytes: usize, key: &str, model: &str) -> Bytes {
    let body = json!({"messages": [{"role": "user", "content": prompt(prompt_bytes)}], "model": model});
    post(gateway, "/v1/chat/completions", key, &body.to_string())
}

/// The same of a person behind the key.
pub(crate) fn chat_of_user(gateway: &Gateway, prompt_bytes: usize, key: &str, user: usize) -> Bytes {
    let messages = json!([{"role": "user", "content": prompt(prompt_bytes)}]);
    let body = json!({"messages": messages, "model": gateway.chat_model, "user": format!("user-{user:06}")});
    post(gateway, "/v1/chat/completions", key, &body.to_string())
}

/// A streamed chat call; the engine's script determines its length.
pub(crate) fn stream(gateway: &Gateway) -> Bytes {
    let messages = json!([{"role": "user", "content": prompt(1024)}]);
    let body = json!({"messages": messages, "model": gateway.chat_model, "stream": true});
    post(gateway, "/v1/chat/completions", &gateway.key, &body.to_string())
}

/// The same as a message in Anthropic's format.
pub(crate) fn message_stream(gateway: &Gateway) -> Bytes {
    let messages = json!([{"role": "user", "content": prompt(1024)}]);
    let body = json!({"messages": messages, "model": gateway.chat_model, "stream": true, "max_tokens": 1024});
    post(gateway, "/v1/messages", &gateway.key, &body.to_string())
}

/// The same as a response in OpenAI's format.
pub(crate) fn response_stream(gateway: &Gateway) -> Bytes {
    let body = json!({"input": prompt(1024), "model": gateway.chat_model, "stream": true});
    post(gateway, "/v1/responses", &gateway.key, &body.to_string())
}

pub(crate) fn embedding(gateway: &Gateway) -> Bytes {
    let body = json!({"input": prompt(1024), "model": "bench/embed", "encoding_format": "base64"});
    post(gateway, "/v1/embeddings", &gateway.key, &body.to_string())
}

fn prompt(bytes: usize) -> String {
    SENTENCE.chars().cycle().take(bytes).collect()
}

fn post(gateway: &Gateway, path: &str, key: &str, body: &str) -> Bytes {
    let (host, length) = (gateway.address, body.len());
    Bytes::from(format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         accept: application/json\r\nuser-agent: forebay-bench\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}
