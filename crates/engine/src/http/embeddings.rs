//! `POST /v1/embeddings`.

use super::Shared;
use super::response::{self, HttpResponse};
use crate::chat::object;
use crate::error::RequestError;
use crate::loading::Workload;
use crate::long_text::least_tokens;
use crate::members::Members;
use crate::model::Model;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use llama_cpp_2::token::LlamaToken;
use serde_json::{Value, json};
use std::sync::Arc;

/// Same limit as OpenAI.
const MAX_INPUTS: usize = 2048;

/// Encoding of vectors in a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Float,
    Base64,
}

pub(super) async fn embed(shared: &Arc<Shared>, body: Bytes) -> Result<HttpResponse, RequestError> {
    let preparing = Arc::clone(shared);
    let Prepared { tokens, encoding } = shared.preparation.run(body.len(), move || prepare(&preparing, &body)).await?;
    let Workload::Embeddings(embedder) = &shared.state.serving()?.workload else {
        return Err(RequestError::Failed);
    };
    let used: usize = tokens.iter().map(Vec::len).sum();
    let vectors = embedder.embed(tokens).await?;
    let data: Vec<Value> = vectors.iter().enumerate().map(|(index, vector)| record(index, vector, encoding)).collect();
    let usage = json!({"prompt_tokens": used, "total_tokens": used});
    let model = &shared.identity.model;
    Ok(response::json(StatusCode::OK, &json!({"object": "list", "data": data, "model": model, "usage": usage})))
}

/// The parts of a request that computing it needs.
struct Prepared {
    tokens: Vec<Vec<LlamaToken>>,
    encoding: Encoding,
}

fn prepare(shared: &Shared, body: &[u8]) -> Result<Prepared, RequestError> {
    let body = object(body)?;
    let members = Members::new(&body);
    let model = members.text("model")?.ok_or_else(|| RequestError::Missing { param: "model".to_owned() })?;
    if model != shared.identity.model {
        return Err(RequestError::UnknownModel { model: model.to_owned() });
    }
    let inputs = inputs(members)?;
    let encoding = encoding(members)?;
    let serving = shared.state.serving()?;
    if !matches!(serving.workload, Workload::Embeddings(_)) {
        return Err(RequestError::unsupported("model", "this is a chat model; call /v1/chat/completions"));
    }
    check_dimensions(members, &serving.model)?;
    Ok(Prepared { tokens: tokens(&inputs, &serving.model)?, encoding })
}

fn inputs(members: Members<'_>) -> Result<Vec<&str>, RequestError> {
    let texts: Vec<&str> = match members.required("input")? {
        Value::String(text) => vec![text],
        Value::Array(list) if list.first().is_some_and(|first| first.is_number() || first.is_array()) => {
            let reason = "send text instead of token ids, which depend on the model's vocabulary";
            return Err(RequestError::unsupported("input", reason));
        }
        Value::Array(list) if (1..=MAX_INPUTS).contains(&list.len()) => {
            let invalid = |index| members.invalid(&format!("input[{index}]"), "must be a string");
            let texts = list.iter().enumerate().map(|(index, text)| text.as_str().ok_or_else(|| invalid(index)));
            texts.collect::<Result<_, _>>()?
        }
        _ => return Err(members.invalid("input", format!("must be a string or 1 to {MAX_INPUTS} strings"))),
    };
    match texts.iter().position(|text| text.is_empty()) {
        Some(index) => Err(members.invalid(&format!("input[{index}]"), "must not be empty")),
        None => Ok(texts),
    }
}

fn encoding(members: Members<'_>) -> Result<Encoding, RequestError> {
    match members.text("encoding_format")? {
        None | Some("float") => Ok(Encoding::Float),
        Some("base64") => Ok(Encoding::Base64),
        Some(_) => Err(members.invalid("encoding_format", "must be `float` or `base64`")),
    }
}

fn check_dimensions(members: Members<'_>, model: &Model) -> Result<(), RequestError> {
    let requested = members.integer("dimensions", 1..=i64::MAX)?;
    match requested.filter(|requested| usize::try_from(*requested) != Ok(model.dimensions())) {
        None => Ok(()),
        Some(_) => {
            let reason =
                format!("embeddings of this model have {} dimensions and cannot be shortened", model.dimensions());
            Err(RequestError::unsupported("dimensions", reason))
        }
    }
}

fn tokens(inputs: &[&str], model: &Model) -> Result<Vec<Vec<LlamaToken>>, RequestError> {
    let limit = model.context_length;
    let tokens = |(index, input): (usize, &&str)| {
        let least = least_tokens(input.len());
        if least > limit {
            return Err(RequestError::InputTooLong { limit, index, tokens: least });
        }
        if model.has_long_run(input) {
            return Err(RequestError::long_run(format!("input[{index}]")));
        }
        let tokens = model.tokenize_input(input);
        if tokens.len() > limit {
            return Err(RequestError::InputTooLong { limit, index, tokens: tokens.len() });
        }
        Ok(tokens)
    };
    inputs.iter().enumerate().map(tokens).collect()
}

fn record(index: usize, vector: &[f32], encoding: Encoding) -> Value {
    let embedding = match encoding {
        Encoding::Float => vector.iter().copied().collect(),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            Value::String(STANDARD.encode(bytes))
        }
    };
    json!({"object": "embedding", "index": index, "embedding": embedding})
}
