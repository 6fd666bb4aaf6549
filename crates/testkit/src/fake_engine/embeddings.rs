//! Responses to embedding calls: small vectors that depend on the input, so that their order can be checked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::script::{EmbedAs, Script};

/// Maximum length of rendered vectors.
const MAX_SIZE: usize = 65_536;

/// Members of an embedding request that affect the response.
#[derive(Deserialize)]
pub(super) struct EmbeddingCall {
    input: Value,
    encoding_format: Option<EmbedAs>,
    dimensions: Option<usize>,
    pub(super) fake: Option<Script>,
}

impl EmbeddingCall {
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }
}

/// Renders the response; the error is the message of a 400.
pub(super) fn render(script: &Script, call: &EmbeddingCall) -> Result<Bytes, String> {
    if let Some(raw) = &script.raw_body {
        return Ok(Bytes::from(raw.clone()));
    }
    let inputs = inputs(&call.input)?;
    let requested = if script.dimensions_ignored { None } else { call.dimensions };
    let size = requested.unwrap_or(script.embedding_size).min(MAX_SIZE);
    let encoding = script.embed_as.or(call.encoding_format).unwrap_or(EmbedAs::Float);
    let encode = |(index, input): (usize, &Value)| {
        let vector = vector(input, size);
        let embedding = match encoding {
            EmbedAs::Float => json!(vector),
            EmbedAs::Base64 => {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                json!(STANDARD.encode(bytes))
            }
        };
        json!({"object": "embedding", "index": index, "embedding": embedding})
    };
    let data: Vec<Value> = inputs.iter().copied().enumerate().map(encode).collect();
    let mut response = json!({"object": "list", "data": data, "model": script.model});
    if !script.no_usage {
        response["usage"] = json!({"prompt_tokens": script.prompt_tokens, "total_tokens": script.prompt_tokens});
    }
    Ok(Bytes::from(response.to_string()))
}

/// A string, strings, one token array, or token arrays.
fn inputs(input: &Value) -> Result<Vec<&Value>, String> {
    match input {
        Value::String(_) => Ok(vec![input]),
        Value::Array(items) if items.is_empty() => Err("input cannot be empty".to_owned()),
        Value::Array(items) if items.iter().all(Value::is_u64) => Ok(vec![input]),
        Value::Array(items) if items.iter().all(|item| item.is_string() || item.is_array()) => {
            Ok(items.iter().collect())
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err("input must be text or tokens, or an array of either".to_owned())
        }
    }
}

/// The vector of an input: multiples of 1/128 between -1 and 1, which are exact in every float format.
pub fn vector(input: &Value, size: usize) -> Vec<f32> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in input.to_string().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let component = |_| {
        hash = hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [.., top] = hash.to_le_bytes();
        f32::from(i16::from(top) - 128) / 128.0
    };
    (0..size).map(component).collect()
}
