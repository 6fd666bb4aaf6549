//! `POST /tokenize` and `POST /detokenize`: the tokens of a chat or a text, and the text of tokens, in vLLM's format.

use super::Shared;
use super::response::{self, HttpResponse};
use super::text_choice::text_of;
use crate::chat::{self, ChatRequest, object};
use crate::completion::{known_tokens, text_tokens, token_ids};
use crate::error::RequestError;
use crate::members::Members;
use crate::model::Model;
use bytes::Bytes;
use http::StatusCode;
use llama_cpp_2::token::LlamaToken;
use serde_json::{Value, json};
use std::sync::Arc;

/// Takes a chat request, or a text as `prompt`. A prompt that is somewhat too long for the model is counted, too.
pub(super) async fn tokenize(shared: &Arc<Shared>, body: Bytes) -> Result<HttpResponse, RequestError> {
    let counting = Arc::clone(shared);
    shared.preparation.run(body.len(), move || count(&counting, &body)).await
}

/// Takes `tokens`.
pub(super) async fn detokenize(shared: &Arc<Shared>, body: Bytes) -> Result<HttpResponse, RequestError> {
    let joining = Arc::clone(shared);
    shared.preparation.run(body.len(), move || join(&joining, &body)).await
}

fn count(shared: &Shared, body: &[u8]) -> Result<HttpResponse, RequestError> {
    let members = object(body)?;
    let members = Members::new(&members);
    let model = &shared.state.serving()?.model;
    let tokens = if members.get("prompt").is_some() {
        check_model(shared, members)?;
        tokens_of_text(members, model)?
    } else {
        let request = ChatRequest::read(body)?;
        check_model(shared, members)?;
        chat::prompt_tokens(&request, model)?
    };
    let ids: Vec<i32> = tokens.iter().map(|token| token.0).collect();
    let mut response_body = json!({"count": ids.len(), "max_model_len": model.context_length, "tokens": ids});
    if members.flag("return_token_strs")? {
        response_body["token_strs"] = tokens.iter().map(|token| Value::from(text_of(&[*token], model))).collect();
    }
    Ok(response::json(StatusCode::OK, &response_body))
}

fn tokens_of_text(members: Members<'_>, model: &Model) -> Result<Vec<LlamaToken>, RequestError> {
    let text = members.text("prompt")?.unwrap_or_default();
    let mut tokens = text_tokens(text, "prompt", model)?;
    let adds_special = members.get("add_special_tokens").is_none() || members.flag("add_special_tokens")?;
    let bos = model.vocabulary().bos();
    if !adds_special && model.vocabulary().should_add_bos() && tokens.first() == Some(&bos) {
        tokens.remove(0);
    }
    Ok(tokens)
}

fn join(shared: &Shared, body: &[u8]) -> Result<HttpResponse, RequestError> {
    let members = object(body)?;
    let members = Members::new(&members);
    check_model(shared, members)?;
    members.required("tokens")?;
    let ids = members.list("tokens")?.unwrap_or_default();
    let model = &shared.state.serving()?.model;
    if ids.len() > model.context_length {
        return Err(RequestError::PromptTooLong { limit: model.context_length, prompt: ids.len(), param: "tokens" });
    }
    let ids = token_ids(ids, "tokens", members)?;
    let tokens = known_tokens(&ids, "tokens", model)?;
    Ok(response::json(StatusCode::OK, &json!({"prompt": text_of(&tokens, model)})))
}

fn check_model(shared: &Shared, members: Members<'_>) -> Result<(), RequestError> {
    let model = members.text("model")?.ok_or_else(|| RequestError::Missing { param: "model".to_owned() })?;
    if model == shared.identity.model { Ok(()) } else { Err(RequestError::UnknownModel { model: model.to_owned() }) }
}
