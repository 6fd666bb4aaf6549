//! Requests of attackers, as bytes.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::gateway::ATTACKED_MODEL;

/// The largest body that the gateway accepts.
pub(crate) const MAX_BODY: usize = 16 << 20;

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
