//! Attributes of a response, read from the bytes on their way to the client.

use super::content::{self, Budget};
use super::names;
use super::otlp::Attributes;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The longest line of a stream that is read; after a longer one, the rest of the response is ignored.
const MAX_LINE: usize = 1 << 20;

/// The part of a response that its span shows.
#[derive(Debug, Default)]
pub(super) struct ResponseDetails {
    id: Option<String>,
    model: Option<String>,
    choices: BTreeMap<u64, ResponseChoice>,
    /// How much more content may be exported; `None` if content is off.
    budget: Option<Budget>,
    /// The beginning of a line of a stream.
    line: Vec<u8>,
    lost: bool,
}

#[derive(Debug, Default)]
struct ResponseChoice {
    finish_reason: Option<String>,
    text: String,
    tool_calls: BTreeMap<u64, ToolCall>,
    /// The parts of a response that is not a stream.
    parts: Vec<Value>,
}

#[derive(Debug, Default)]
struct ToolCall {
    id: String,
    name: String,
    arguments: String,
}

/// A whole response, or one chunk of a stream.
#[derive(Deserialize)]
struct Members<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow, default)]
    choices: Vec<ChoiceMembers<'a>>,
}

#[derive(Deserialize)]
struct ChoiceMembers<'a> {
    #[serde(default)]
    index: u64,
    finish_reason: Option<String>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
}

impl ResponseDetails {
    pub(super) fn new(with_content: bool) -> Self {
        Self { budget: with_content.then(Budget::default), ..Self::default() }
    }

    /// Reads a response that is not a stream.
    pub(super) fn read_whole(&mut self, body: &[u8]) {
        self.read_members(body);
    }

    /// Reads the next bytes of a stream.
    pub(super) fn read_stream(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (rest_of_line, after) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() {
                self.read_line(rest_of_line);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(rest_of_line);
                self.read_line(&line);
            }
            bytes = after;
        }
        self.lost |= self.line.len() + bytes.len() > MAX_LINE;
        if self.lost {
            self.line.clear();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn read_line(&mut self, line: &[u8]) {
        let Some(data) = line.strip_prefix(b"data: ").filter(|_| !self.lost) else { return };
        // Most chunks have only content, and need not be parsed if content is off.
        let is_worth_reading =
            self.budget.is_some() || self.id.is_none() || memmem::find(data, b"\"finish_reason\":\"").is_some();
        if is_worth_reading {
            self.read_members(data);
        }
    }

    fn read_members(&mut self, json: &[u8]) {
        let Ok(members) = serde_json::from_slice::<Members<'_>>(json) else { return };
        self.id = self.id.take().or(members.id);
        self.model = self.model.take().or(members.model);
        for found in members.choices {
            let choice = self.choices.entry(found.index).or_default();
            choice.finish_reason = found.finish_reason.or(choice.finish_reason.take());
            let Some(budget) = &mut self.budget else { continue };
            let value = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
            if let Some(message) = value(found.message) {
                choice.parts = content::parts(&message, budget);
            }
            if let Some(delta) = value(found.delta) {
                choice.add(&delta, budget);
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let of = |choice: &ResponseChoice| {
            choice.text.len() + choice.parts.iter().map(|part| part.to_string().len()).sum::<usize>()
        };
        self.choices.values().map(of).sum()
    }

    pub(super) fn write(self, attributes: &mut Attributes) {
        attributes.put_some(names::RESPONSE_ID, self.id);
        attributes.put_some(names::RESPONSE_MODEL, self.model);
        let reasons: Vec<String> = self.choices.values().filter_map(|choice| choice.finish_reason.clone()).collect();
        attributes.put_some(names::RESPONSE_FINISH_REASONS, Some(reasons).filter(|reasons| !reasons.is_empty()));
        if self.budget.is_some() && !self.choices.is_empty() {
            let messages: Vec<Value> = self.choices.into_values().map(ResponseChoice::into_message).collect();
            attributes.put(names::OUTPUT_MESSAGES, Value::Array(messages).to_string());
        }
    }
}

impl ResponseChoice {
    fn add(&mut self, delta: &Value, budget: &mut Budget) {
        if let Some(text) = delta["content"].as_str() {
            self.text.push_str(&budget.take(text));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let known = self.tool_calls.entry(call["index"].as_u64().unwrap_or(0)).or_default();
            for (text, value) in [
                (&mut known.id, &call["id"]),
                (&mut known.name, &call["function"]["name"]),
                (&mut known.arguments, &call["function"]["arguments"]),
            ] {
                text.push_str(&budget.take(value.as_str().unwrap_or_default()));
            }
        }
    }

    fn into_message(self) -> Value {
        let mut parts = self.parts;
        if !self.text.is_empty() {
            parts.push(json!({ "type": "text", "content": self.text }));
        }
        parts.extend(
            self.tool_calls.into_values().map(
                |call| json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments }),
            ),
        );
        json!({ "role": "assistant", "parts": parts, "finish_reason": self.finish_reason.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::otlp;
    use super::*;
    use expect_test::expect;

    fn shown(response: ResponseDetails) -> String {
        let mut attributes = Attributes::default();
        response.write(&mut attributes);
        let show = |value: otlp::Value| match value {
            otlp::Value::Text(text) => text,
            other => format!("{other:?}"),
        };
        let lines =
            attributes.0.into_iter().map(|pair| format!("{} {}", pair.key, show(pair.value.unwrap().value.unwrap())));
        lines.collect::<Vec<_>>().join("\n")
    }

    const STREAM: &str = concat!(
        "data: {\"id\":\"c1\",\"model\":\"acme/tiny\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}]}\n\n",
        ": ping\n\n",
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\ns\"},\"finish_reason\":null}]}\n\n",
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"look\",\"arguments\":\"{\"}}]}}]}\n\n",
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: [DONE]\n\n"
    );

    #[test]
    fn a_stream_is_read_in_pieces_of_any_size() {
        for size in [1, 7, 64, STREAM.len()] {
            let mut response = ResponseDetails::new(true);
            STREAM.as_bytes().chunks(size).for_each(|piece| response.read_stream(piece));
            expect![[r#"
                gen_ai.response.id c1
                gen_ai.response.model acme/tiny
                gen_ai.response.finish_reasons List(ArrayValue { values: [AnyValue { value: Some(Text("tool_calls")) }] })
                gen_ai.output.messages [{"role":"assistant","parts":[{"type":"text","content":"a\ns"},{"type":"tool_call","id":"t","name":"look","arguments":"{}"}],"finish_reason":"tool_calls"}]"#]]
            .assert_eq(&shown(response));
        }
    }

    #[test]
    fn content_is_exported_only_if_enabled() {
        let whole = r#"{"id":"c1","model":"acme/tiny","choices":[{"index":0,"message":{"role":"assistant","content":"private"},"finish_reason":"stop"}]}"#;
        let mut response = ResponseDetails::new(false);
        response.read_whole(whole.as_bytes());
        response.read_stream(STREAM.as_bytes());
        let text = shown(response);
        assert!(text.contains("stop") || text.contains("tool_calls"), "{text}");
        assert!(!text.contains("private") && !text.contains("messages") && !text.contains("look"), "{text}");
        let mut response = ResponseDetails::new(true);
        response.read_whole(whole.as_bytes());
        assert!(shown(response).contains(
            r#"[{"role":"assistant","parts":[{"type":"text","content":"private"}],"finish_reason":"stop"}]"#
        ));
    }

    #[test]
    fn a_line_without_an_end_stops_the_reading() {
        let mut response = ResponseDetails::new(true);
        response.read_stream(&vec![b'x'; MAX_LINE + 1]);
        assert!(response.line.is_empty() && response.lost);
        response.read_stream(STREAM.as_bytes());
        assert_eq!(shown(response), "");
    }
}
