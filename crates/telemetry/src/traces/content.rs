//! Prompts and responses in the format of the OpenTelemetry conventions. Only if enabled, and only up to a bound.

use serde_json::{Value, json};

/// Most bytes of text of a prompt, of its tools, or of a response.
const MAX_CONTENT_BYTES: usize = 64 << 10;
/// Marks a truncated text.
const ELLIPSIS: &str = "…";

/// How much more content may be exported.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: MAX_CONTENT_BYTES }
    }
}

impl Budget {
    /// As much of the text as fits, truncated between characters.
    pub(super) fn take(&mut self, text: &str) -> String {
        if text.len() <= self.left {
            self.left -= text.len();
            return text.to_owned();
        }
        let kept = text.floor_char_boundary(self.left);
        self.left = 0;
        format!("{}{ELLIPSIS}", &text[..kept])
    }
}

/// `messages` of a chat.
pub(super) fn input_messages(messages: &str, budget: &mut Budget) -> Option<String> {
    let messages: Vec<Value> = serde_json::from_str(messages).ok()?;
    let mut written = Vec::new();
    for message in &messages {
        if budget.left == 0 {
            break;
        }
        written.push(json!({ "role": message["role"], "parts": parts(message, budget) }));
    }
    Some(Value::Array(written).to_string())
}

/// `tools` as they were sent, unless they are too long.
pub(super) fn tool_definitions(tools: &str, budget: &mut Budget) -> Option<String> {
    (tools.len() <= budget.left).then(|| tools.to_owned())
}

/// The parts of a message of any role.
pub(super) fn parts(message: &Value, budget: &mut Budget) -> Vec<Value> {
    let content = &message["content"];
    if message["role"] == "tool" {
        let response = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        let response = budget.take(&response);
        return vec![json!({ "type": "tool_call_response", "id": message["tool_call_id"], "response": response })];
    }
    let mut parts: Vec<Value> = match content {
        Value::String(text) => vec![text_part(text, budget)],
        Value::Array(pieces) => pieces.iter().map(|piece| part(piece, budget)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    parts.extend(calls.map(|call| tool_call(&call["id"], &call["function"], budget)));
    parts
}

fn text_part(text: &str, budget: &mut Budget) -> Value {
    json!({ "type": "text", "content": budget.take(text) })
}

fn part(piece: &Value, budget: &mut Budget) -> Value {
    match piece["type"].as_str() {
        Some("text") => text_part(piece["text"].as_str().unwrap_or_default(), budget),
        Some("image_url") => {
            let address = piece["image_url"]["url"].as_str().unwrap_or_default();
            json!({ "type": "uri", "modality": "image", "uri": budget.take(address) })
        }
        // Only its type, without its content.
        other => json!({ "type": other.unwrap_or("unknown") }),
    }
}

fn tool_call(id: &Value, function: &Value, budget: &mut Budget) -> Value {
    let arguments = budget.take(function["arguments"].as_str().unwrap_or_default());
    json!({ "type": "tool_call", "id": id, "name": function["name"], "arguments": arguments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn messages_become_parts() {
        let messages = r#"[{"role":"system","content":"Be brief."},
            {"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"https://x/y.png"}},{"type":"input_audio","input_audio":{"data":"AAAA"}}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"a cat"}]"#;
        expect![[r#"[{"role":"system","parts":[{"type":"text","content":"Be brief."}]},{"role":"user","parts":[{"type":"text","content":"What is it?"},{"type":"uri","modality":"image","uri":"https://x/y.png"},{"type":"input_audio"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look","arguments":"{}"}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"a cat"}]}]"#]]
        .assert_eq(&input_messages(messages, &mut Budget::default()).unwrap());
    }

    #[test]
    fn long_content_is_truncated_between_characters_and_stays_json() {
        let long =
            json!([{ "role": "user", "content": "é".repeat(MAX_CONTENT_BYTES) }, { "role": "user", "content": "x" }]);
        let written = input_messages(&long.to_string(), &mut Budget::default()).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written.as_array().unwrap().len(), 1);
        let text = written[0]["parts"][0]["content"].as_str().unwrap();
        assert!(text.len() <= MAX_CONTENT_BYTES + ELLIPSIS.len() && text.ends_with("é…"), "{}", text.len());
        assert_eq!(tool_definitions(&"x".repeat(MAX_CONTENT_BYTES + 1), &mut Budget::default()), None);
    }
}
