//! `POST /v1/embeddings`.

use super::Shared;
use super::answer::{self, Answer};
use crate::chat::object;
use crate::loading::Work;
use crate::members::Members;
use crate::model::Model;
use crate::refusal::Refusal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use llama_cpp_2::token::LlamaToken;
use serde_json::{Value, json};

/// As many as OpenAI takes.
const MOST_INPUTS: usize = 2048;

/// How the numbers of a vector are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Float,
    Base64,
}

pub(super) async fn embed(shared: &Shared, body: &[u8]) -> Result<Answer, Refusal> {
    let body = object(body)?;
    let members = Members::new(&body);
    let model = members.text("model")?.ok_or_else(|| Refusal::Missing { param: "model".to_owned() })?;
    if model != shared.identity.model {
        return Err(Refusal::UnknownModel { model: model.to_owned() });
    }
    let inputs = inputs(members)?;
    let encoding = encoding(members)?;
    let serving = shared.stage.serving()?;
    let Work::Embeddings(embedder) = &serving.work else {
        return Err(Refusal::unsupported("model", "this model chats, at /v1/chat/completions"));
    };
    check_dimensions(members, &serving.model)?;
    let tokens = tokens(&inputs, &serving.model)?;
    let used: usize = tokens.iter().map(Vec::len).sum();
    let vectors = embedder.embed(tokens).await?;
    let data: Vec<Value> = vectors.iter().enumerate().map(|(index, vector)| record(index, vector, encoding)).collect();
    let usage = json!({"prompt_tokens": used, "total_tokens": used});
    Ok(answer::json(StatusCode::OK, &json!({"object": "list", "data": data, "model": model, "usage": usage})))
}

fn inputs(members: Members<'_>) -> Result<Vec<&str>, Refusal> {
    let texts: Vec<&str> = match members.required("input")? {
        Value::String(text) => vec![text],
        Value::Array(list) if list.first().is_some_and(|first| first.is_number() || first.is_array()) => {
            let reason = "send text: token numbers belong to one model's vocabulary, and would be read wrongly here";
            return Err(Refusal::unsupported("input", reason));
        }
        Value::Array(list) if (1..=MOST_INPUTS).contains(&list.len()) => {
            let wrong = |index| members.invalid(&format!("input[{index}]"), "must be a string");
            let texts = list.iter().enumerate().map(|(index, text)| text.as_str().ok_or_else(|| wrong(index)));
            texts.collect::<Result<_, _>>()?
        }
        _ => return Err(members.invalid("input", format!("must be a string or 1 to {MOST_INPUTS} strings"))),
    };
    match texts.iter().position(|text| text.is_empty()) {
        Some(index) => Err(members.invalid(&format!("input[{index}]"), "must not be empty")),
        None => Ok(texts),
    }
}

fn encoding(members: Members<'_>) -> Result<Encoding, Refusal> {
    match members.text("encoding_format")? {
        None | Some("float") => Ok(Encoding::Float),
        Some("base64") => Ok(Encoding::Base64),
        Some(_) => Err(members.invalid("encoding_format", "must be `float` or `base64`")),
    }
}

fn check_dimensions(members: Members<'_>, model: &Model) -> Result<(), Refusal> {
    let asked = members.integer("dimensions", 1..=i64::MAX)?;
    match asked.filter(|asked| usize::try_from(*asked) != Ok(model.dimensions())) {
        None => Ok(()),
        Some(_) => {
            let reason =
                format!("vectors of this model have {} dimensions, and cannot be shortened", model.dimensions());
            Err(Refusal::unsupported("dimensions", reason))
        }
    }
}

fn tokens(inputs: &[&str], model: &Model) -> Result<Vec<Vec<LlamaToken>>, Refusal> {
    let limit = model.context_length;
    let tokens = |(index, input): (usize, &&str)| {
        let tokens = model.tokenize_input(input);
        if tokens.len() > limit {
            return Err(Refusal::InputTooLong { limit, index, tokens: tokens.len() });
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
