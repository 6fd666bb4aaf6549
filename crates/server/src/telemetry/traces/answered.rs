//! What an answer said, read from the bytes that pass by on their way to the client.

use super::content::{self, Budget};
use super::names;
use super::otlp::Attributes;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The longest line of a stream that is read; what has a longer one is told without its end.
const MAX_LINE: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Answered {
    id: Option<String>,
    model: Option<String>,
    choices: BTreeMap<u64, Choice>,
    /// How much more of its content may be told; none where none may be.
    budget: Option<Budget>,
    /// The beginning of a line of a stream.
    line: Vec<u8>,
    lost: bool,
}

#[derive(Debug, Default)]
struct Choice {
    finish_reason: Option<String>,
    text: String,
    tool_calls: BTreeMap<u64, ToolCall>,
    /// Of an answer that came whole.
    parts: Vec<Value>,
}

#[derive(Debug, Default)]
struct ToolCall {
    id: String,
    name: String,
    arguments: String,
}

/// A whole answer, or one chunk of a stream.
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

impl Answered {
    pub(super) fn new(with_content: bool) -> Self {
        Self { budget: with_content.then(Budget::default), ..Self::default() }
    }

    /// All of an answer that comes at once.
    pub(super) fn read_whole(&mut self, body: &[u8]) {
        self.read_members(body);
    }

    /// Some bytes of a stream.
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
        // Most chunks have nothing but content, and need not be read where that is not told.
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
        let of =
            |choice: &Choice| choice.text.len() + choice.parts.iter().map(|part| part.to_string().len()).sum::<usize>();
        self.choices.values().map(of).sum()
    }

    pub(super) fn write(self, attributes: &mut Attributes) {
        attributes.put_some(names::RESPONSE_ID, self.id);
        attributes.put_some(names::RESPONSE_MODEL, self.model);
        let reasons: Vec<String> = self.choices.values().filter_map(|choice| choice.finish_reason.clone()).collect();
        attributes.put_some(names::RESPONSE_FINISH_REASONS, Some(reasons).filter(|reasons| !reasons.is_empty()));
        if self.budget.is_some() && !self.choices.is_empty() {
            let messages: Vec<Value> = self.choices.into_values().map(Choice::into_message).collect();
            attributes.put(names::OUTPUT_MESSAGES, Value::Array(messages).to_string());
        }
    }
}

impl Choice {
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

    fn told(answered: Answered) -> String {
        let mut attributes = Attributes::default();
        answered.write(&mut attributes);
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
    fn a_stream_is_read_whatever_pieces_it_comes_in() {
        for size in [1, 7, 64, STREAM.len()] {
            let mut answered = Answered::new(true);
            STREAM.as_bytes().chunks(size).for_each(|piece| answered.read_stream(piece));
            expect![[r#"
                gen_ai.response.id c1
                gen_ai.response.model acme/tiny
                gen_ai.response.finish_reasons List(ArrayValue { values: [AnyValue { value: Some(Text("tool_calls")) }] })
                gen_ai.output.messages [{"role":"assistant","parts":[{"type":"text","content":"a\ns"},{"type":"tool_call","id":"t","name":"look","arguments":"{}"}],"finish_reason":"tool_calls"}]"#]]
            .assert_eq(&told(answered));
        }
    }

    #[test]
    fn content_is_told_only_where_it_may_be() {
        let whole = r#"{"id":"c1","model":"acme/tiny","choices":[{"index":0,"message":{"role":"assistant","content":"private"},"finish_reason":"stop"}]}"#;
        let mut answered = Answered::new(false);
        answered.read_whole(whole.as_bytes());
        answered.read_stream(STREAM.as_bytes());
        let text = told(answered);
        assert!(text.contains("stop") || text.contains("tool_calls"), "{text}");
        assert!(!text.contains("private") && !text.contains("messages") && !text.contains("look"), "{text}");
        let mut answered = Answered::new(true);
        answered.read_whole(whole.as_bytes());
        assert!(told(answered).contains(
            r#"[{"role":"assistant","parts":[{"type":"text","content":"private"}],"finish_reason":"stop"}]"#
        ));
    }

    #[test]
    fn a_line_without_an_end_is_given_up() {
        let mut answered = Answered::new(true);
        answered.read_stream(&vec![b'x'; MAX_LINE + 1]);
        assert!(answered.line.is_empty() && answered.lost);
        answered.read_stream(STREAM.as_bytes());
        assert_eq!(told(answered), "");
    }
}
