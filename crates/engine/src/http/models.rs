//! `GET /v1/models`: lists the one loaded model.

use super::Shared;
use super::response::{self, HttpResponse};
use crate::error::RequestError;
use http::StatusCode;
use serde_json::{Value, json};

pub(super) fn list(shared: &Shared) -> HttpResponse {
    response::json(StatusCode::OK, &json!({"object": "list", "data": [record(shared)]}))
}

/// One model. SDKs encode the slash of an id as `%2F`; curl users do not.
pub(super) fn show(shared: &Shared, id: &str) -> Result<HttpResponse, RequestError> {
    let id = id.replace("%2F", "/").replace("%2f", "/");
    if id != shared.identity.model {
        return Err(RequestError::UnknownModel { model: id });
    }
    Ok(response::json(StatusCode::OK, &record(shared)))
}

fn record(shared: &Shared) -> Value {
    let context = shared.state.serving().ok().map(|serving| serving.model.context_length);
    json!({
        "id": shared.identity.model,
        "object": "model",
        "created": shared.identity.created,
        "owned_by": "forebay",
        "max_model_len": context,
    })
}
