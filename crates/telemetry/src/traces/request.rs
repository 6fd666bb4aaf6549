//! Attributes of a request. Parsed again from the body, only for calls that are traced.

use super::content::{self, Budget};
use super::names;
use super::otlp::Attributes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Members that become attributes. They are validated elsewhere; invalid ones are skipped here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Members<'a> {
    n: Option<Value>,
    seed: Option<Value>,
    max_tokens: Option<Value>,
    max_completion_tokens: Option<Value>,
    temperature: Option<Value>,
    top_p: Option<Value>,
    top_k: Option<Value>,
    frequency_penalty: Option<Value>,
    presence_penalty: Option<Value>,
    stop: Option<Value>,
    response_format: Option<Value>,
    encoding_format: Option<Value>,
    dimensions: Option<Value>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
}

/// The part of a request that its span shows.
#[derive(Debug, Default)]
pub(super) struct RequestDetails {
    choices: Option<i64>,
    seed: Option<i64>,
    max_tokens: Option<i64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<f64>,
    frequency_penalty: Option<f64>,
    presence_penalty: Option<f64>,
    stop: Vec<String>,
    output_type: Option<&'static str>,
    encoding_format: Option<String>,
    dimensions: Option<i64>,
    messages: Option<String>,
    tools: Option<String>,
}

impl RequestDetails {
    /// Reads a JSON body; without its prompt unless `with_content`.
    pub(super) fn read(body: &[u8], with_content: bool) -> Self {
        let members: Members<'_> = serde_json::from_slice(body).unwrap_or_default();
        let whole = |value: &Option<Value>| value.as_ref().and_then(Value::as_i64);
        let real = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
        let text = |raw: Option<&RawValue>, write: fn(&str, &mut Budget) -> Option<String>| {
            raw.filter(|_| with_content).and_then(|raw| write(raw.get(), &mut Budget::default()))
        };
        Self {
            choices: whole(&members.n).filter(|choices| *choices != 1),
            seed: whole(&members.seed),
            max_tokens: whole(&members.max_completion_tokens).or(whole(&members.max_tokens)),
            temperature: real(&members.temperature),
            top_p: real(&members.top_p),
            top_k: real(&members.top_k),
            frequency_penalty: real(&members.frequency_penalty),
            presence_penalty: real(&members.presence_penalty),
            stop: members.stop.map(texts).unwrap_or_default(),
            output_type: members.response_format.as_ref().and_then(output_type),
            encoding_format: members.encoding_format.and_then(|format| format.as_str().map(str::to_owned)),
            dimensions: whole(&members.dimensions),
            messages: text(members.messages, content::input_messages),
            tools: text(members.tools, content::tool_definitions),
        }
    }

    /// The size of the content in memory.
    pub(super) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.stop.iter().map(String::len).sum::<usize>() + length(&self.messages) + length(&self.tools)
    }

    pub(super) fn write(self, attributes: &mut Attributes) {
        attributes.put_some(names::REQUEST_CHOICES, self.choices);
        attributes.put_some(names::REQUEST_SEED, self.seed);
        attributes.put_some(names::REQUEST_MAX_TOKENS, self.max_tokens);
        attributes.put_some(names::REQUEST_TEMPERATURE, self.temperature);
        attributes.put_some(names::REQUEST_TOP_P, self.top_p);
        attributes.put_some(names::REQUEST_TOP_K, self.top_k);
        attributes.put_some(names::REQUEST_FREQUENCY_PENALTY, self.frequency_penalty);
        attributes.put_some(names::REQUEST_PRESENCE_PENALTY, self.presence_penalty);
        attributes.put_some(names::REQUEST_STOP_SEQUENCES, Some(self.stop).filter(|stop| !stop.is_empty()));
        attributes.put_some(names::OUTPUT_TYPE, self.output_type);
        attributes.put_some(names::REQUEST_ENCODING_FORMATS, self.encoding_format.map(|format| vec![format]));
        attributes.put_some(names::EMBEDDING_DIMENSIONS, self.dimensions);
        attributes.put_some(names::INPUT_MESSAGES, self.messages);
        attributes.put_some(names::TOOL_DEFINITIONS, self.tools);
    }
}

/// A text or a list of texts.
fn texts(value: Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.into_iter().filter_map(|value| value.as_str().map(str::to_owned)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn output_type(format: &Value) -> Option<&'static str> {
    match format["type"].as_str()? {
        "text" => Some("text"),
        "json_object" | "json_schema" => Some("json"),
        _ => None,
    }
}
