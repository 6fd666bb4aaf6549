//! A response that is not streamed, as the chunks of a stream: for engines that lose a part of their responses in streams.

use super::{BadUpstreamResponse, note_once};
use bytes::Bytes;
use json::edits::Edits;
use json::members::removal;
use json::{JsonError, Reader, ValueKind};

const MESSAGE: &str = "\"message\"";
const DELTA: &[u8] = b"\"delta\"";
const CHUNK_TYPE: &[u8] = b"\"chat.completion.chunk\"";

/// The chunks of a normalized response. Members that are not known here are in both.
pub(super) struct GatheredChunks {
    /// All choices, without the usage.
    pub(super) content: Bytes,
    /// The usage, without choices.
    pub(super) usage: Option<Bytes>,
}

impl GatheredChunks {
    pub(super) fn of(response: &Bytes) -> Result<Self, BadUpstreamResponse> {
        let (mut content, mut usage) = (Edits::default(), Edits::default());
        let (mut is_noted, mut has_usage) = (false, false);
        let mut reader = Reader::new(response);
        reader.object(|reader, name, name_at| {
            match name.raw() {
                b"object" => {
                    let span = reader.span()?;
                    content.replace(span.clone(), CHUNK_TYPE);
                    usage.replace(span, CHUNK_TYPE);
                }
                b"choices" if reader.kind()? == ValueKind::Array => {
                    let start = reader.position();
                    reader.array(|reader, _| rename_message(reader, &mut content))?;
                    usage.replace(start..reader.position(), &b"[]"[..]);
                }
                b"usage" => {
                    note_once(&mut is_noted)?;
                    has_usage = reader.kind()? == ValueKind::Object;
                    let value = reader.span()?;
                    content.replace(removal(response, name_at..value.end), &b""[..]);
                }
                _ => reader.skip()?,
            }
            Ok::<(), BadUpstreamResponse>(())
        })?;
        Ok(Self { content: content.apply(response), usage: has_usage.then(|| usage.apply(response)) })
    }
}

fn rename_message(reader: &mut Reader<'_>, edits: &mut Edits<'_>) -> Result<(), JsonError> {
    if reader.kind()? != ValueKind::Object {
        return reader.skip();
    }
    reader.object(|reader, name, name_at| {
        if name.raw() == b"message" {
            edits.replace(name_at..name_at + MESSAGE.len(), DELTA);
        }
        reader.skip()
    })
}

/// Without line breaks, which events cannot have. In JSON they are between tokens only.
pub(super) fn one_line(json: &Bytes) -> Bytes {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !json.iter().any(is_break) {
        return json.clone();
    }
    json.iter().map(|byte| if is_break(byte) { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_response_becomes_a_chunk_with_its_choices_and_one_with_its_usage() {
        let response = r#"{"id":"x","object":"chat.completion","created":1,"usage":{"prompt_tokens":5},"own":[1],
            "choices":[{"index":0,"message":{"content":"hi\n"},"finish_reason":"stop"},{"message":{}}],
            "note":"message"}"#;
        let chunks = GatheredChunks::of(&one_line(&Bytes::from_static(response.as_bytes()))).unwrap();
        assert!(!chunks.content.contains(&b'\n'));
        let read = |chunk: &Bytes| serde_json::from_slice::<Value>(chunk).unwrap();
        let choices = json!([{"index": 0, "delta": {"content": "hi\n"}, "finish_reason": "stop"}, {"delta": {}}]);
        let chunk = json!({
            "id": "x", "object": "chat.completion.chunk", "created": 1, "own": [1], "choices": choices, "note": "message",
        });
        assert_eq!(read(&chunks.content), chunk);
        let usage = json!({
            "id": "x", "object": "chat.completion.chunk", "created": 1, "own": [1], "choices": [], "note": "message",
            "usage": {"prompt_tokens": 5},
        });
        assert_eq!(read(&chunks.usage.unwrap()), usage);
        let without = GatheredChunks::of(&Bytes::from_static(br#"{"choices":[],"usage":null}"#)).unwrap();
        assert!(without.usage.is_none());
        assert_eq!(without.content, r#"{"choices":[]}"#);
        let twice = Bytes::from_static(br#"{"choices":[],"usage":{},"usage":{}}"#);
        assert!(GatheredChunks::of(&twice).is_err());
    }
}
