//! `POST /tokenize`: the tokens of a chat prompt, in vLLM's format.

use super::Shared;
use super::response::{self, HttpResponse};
use crate::chat::{self, ChatRequest};
use crate::error::RequestError;
use bytes::Bytes;
use http::StatusCode;
use serde_json::json;
use std::sync::Arc;

/// Takes a chat request. A prompt that is somewhat too long for the model is counted, too.
pub(super) async fn tokenize(shared: &Arc<Shared>, body: Bytes) -> Result<HttpResponse, RequestError> {
    let counting = Arc::clone(shared);
    shared.preparation.run(body.len(), move || count(&counting, &body)).await
}

fn count(shared: &Shared, body: &[u8]) -> Result<HttpResponse, RequestError> {
    let request = ChatRequest::read(body)?;
    if request.model != shared.identity.model {
        return Err(RequestError::UnknownModel { model: request.model });
    }
    let serving = shared.state.serving()?;
    let tokens = chat::prompt_tokens(&request, &serving.model)?;
    let ids: Vec<i32> = tokens.iter().map(|token| token.0).collect();
    let max_len = serving.model.context_length;
    Ok(response::json(StatusCode::OK, &json!({"count": ids.len(), "max_model_len": max_len, "tokens": ids})))
}
