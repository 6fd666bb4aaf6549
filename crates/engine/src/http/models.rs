//! `GET /v1/models`: the one model that is here.

use super::Shared;
use super::answer::{self, Answer};
use crate::refusal::Refusal;
use http::StatusCode;
use serde_json::{Value, json};

pub(super) fn list(shared: &Shared) -> Answer {
    answer::json(StatusCode::OK, &json!({"object": "list", "data": [record(shared)]}))
}

/// One record; SDKs write the slash of an id as `%2F`, curl users do not.
pub(super) fn show(shared: &Shared, id: &str) -> Result<Answer, Refusal> {
    let id = id.replace("%2F", "/").replace("%2f", "/");
    if id != shared.identity.model {
        return Err(Refusal::UnknownModel { model: id });
    }
    Ok(answer::json(StatusCode::OK, &record(shared)))
}

fn record(shared: &Shared) -> Value {
    let context = shared.stage.serving().ok().map(|serving| serving.model.context_length);
    json!({
        "id": shared.identity.model,
        "object": "model",
        "created": shared.identity.created,
        "owned_by": "forebay",
        "max_model_len": context,
    })
}
