//! What `/openapi.json` says of inference. The shapes are OpenAI's; members that are not named here travel untouched.
//!
//! The hot path has its own router, so these functions describe and do nothing; a test asks the router about each.

use serde::Serialize;
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};

#[derive(OpenApi)]
#[openapi(paths(chat, embeddings, models, model, model_with_slash), components(schemas(ErrorEnvelope)))]
struct Inference;

pub(crate) fn description() -> utoipa::openapi::OpenApi {
    Inference::openapi()
}

/// How every refusal looks: four texts.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceError)]
struct ErrorEnvelope {
    error: ErrorMembers,
}

#[derive(Serialize, ToSchema)]
#[schema(as = InferenceErrorMembers)]
struct ErrorMembers {
    /// A category, such as `invalid_request_error`.
    #[serde(rename = "type")]
    kind: String,
    /// Stable, and made for programs.
    code: String,
    /// For people; it may change.
    message: String,
    /// The member at fault, or nothing.
    param: String,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes")]
struct ChatRequest {
    /// A Model ID, as `GET /v1/models` lists them.
    model: String,
    #[schema(min_items = 1, value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// Events instead of one answer.
    stream: Option<bool>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes")]
struct EmbeddingsRequest {
    /// A Model ID, as `GET /v1/models` lists them.
    model: String,
    /// A text, several texts, token ids, or several lists of them.
    #[schema(value_type = Value)]
    input: Value,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes")]
struct ModelList {
    /// `list`
    object: String,
    data: Vec<Model>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what `models.rs` writes")]
struct Model {
    id: String,
    /// `model`
    object: String,
    created: i64,
    owned_by: String,
    name: String,
    provider: String,
    /// `chat` or `embedding`
    modality: String,
    /// `available`, `degraded` or `unavailable`
    status: String,
    context_length: u64,
    optimized: bool,
    pricing: ModelPricing,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what `models.rs` writes")]
struct ModelPricing {
    /// `USD`
    currency: String,
    /// Decimal text.
    input_per_1m: String,
    cached_input_per_1m: String,
    output_per_1m: String,
}

/// Chat with a model.
#[utoipa::path(post, path = "/v1/chat/completions", operation_id = "chatCompletions", tag = "inference",
    security(("apiKey" = []), ("session" = [], "csrf" = [])), request_body = ChatRequest,
    params(("X-Workspace-Id" = Option<String>, Header, description = "the workspace a session acts in; default: its current one")),
    responses(
        (status = 200, description = "OpenAI's chat completion, or its chunks as events",
            content((Object = "application/json"), (String = "text/event-stream"))),
        (status = 400, description = "`invalid_payload`, `missing_parameter`, `context_length_exceeded`", body = ErrorEnvelope),
        (status = 401, description = "`invalid_api_key`", body = ErrorEnvelope),
        (status = 403, description = "sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed`", body = ErrorEnvelope),
        (status = 404, description = "`model_not_found`", body = ErrorEnvelope),
        (status = 408, description = "`request_timeout`, `upstream_timeout`", body = ErrorEnvelope),
        (status = 413, description = "`payload_too_large`", body = ErrorEnvelope),
        (status = 415, description = "`unsupported_media_type`", body = ErrorEnvelope),
        (status = 422, description = "`invalid_value`", body = ErrorEnvelope),
        (status = 429, description = "`rate_limit_exceeded`, `quota_exceeded`", body = ErrorEnvelope),
        (status = 431, description = "`headers_too_large`", body = ErrorEnvelope),
        (status = 500, description = "`internal_error`", body = ErrorEnvelope),
        (status = 502, description = "`bad_gateway`", body = ErrorEnvelope),
        (status = 503, description = "`model_not_serving`, `store_unavailable`", body = ErrorEnvelope),
        (status = 504, description = "the edge's time-out, not JSON", body = String, content_type = "text/html")))]
#[expect(dead_code, reason = "it only describes")]
fn chat() {}

/// Turn texts into vectors.
#[utoipa::path(post, path = "/v1/embeddings", operation_id = "embeddings", tag = "inference",
    security(("apiKey" = []), ("session" = [], "csrf" = [])), request_body = EmbeddingsRequest,
    params(("X-Workspace-Id" = Option<String>, Header, description = "the workspace a session acts in; default: its current one")),
    responses(
        (status = 200, description = "OpenAI's list of embeddings", body = Object),
        (status = 400, description = "`invalid_payload`, `missing_parameter`, `context_length_exceeded`", body = ErrorEnvelope),
        (status = 401, description = "`invalid_api_key`", body = ErrorEnvelope),
        (status = 403, description = "sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed`", body = ErrorEnvelope),
        (status = 404, description = "`model_not_found`", body = ErrorEnvelope),
        (status = 408, description = "`request_timeout`, `upstream_timeout`", body = ErrorEnvelope),
        (status = 413, description = "`payload_too_large`", body = ErrorEnvelope),
        (status = 415, description = "`unsupported_media_type`", body = ErrorEnvelope),
        (status = 422, description = "`invalid_value`", body = ErrorEnvelope),
        (status = 429, description = "`rate_limit_exceeded`, `quota_exceeded`", body = ErrorEnvelope),
        (status = 431, description = "`headers_too_large`", body = ErrorEnvelope),
        (status = 500, description = "`internal_error`", body = ErrorEnvelope),
        (status = 502, description = "`bad_gateway`", body = ErrorEnvelope),
        (status = 503, description = "`model_not_serving`, `store_unavailable`", body = ErrorEnvelope)))]
#[expect(dead_code, reason = "it only describes")]
fn embeddings() {}

/// The catalogue.
#[utoipa::path(get, path = "/v1/models", operation_id = "listModels", tag = "inference",
    security(("apiKey" = []), ("session" = [])),
    params(
        ("provider" = Option<String>, Query), ("modality" = Option<String>, Query), ("status" = Option<String>, Query),
        ("X-Workspace-Id" = Option<String>, Header, description = "the workspace a session acts in; default: its current one")),
    responses(
        (status = 200, body = ModelList),
        (status = 401, description = "`invalid_api_key`", body = ErrorEnvelope),
        (status = 403, description = "sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`", body = ErrorEnvelope),
        (status = 431, description = "`headers_too_large`", body = ErrorEnvelope),
        (status = 500, description = "`internal_error`", body = ErrorEnvelope),
        (status = 503, description = "`store_unavailable`", body = ErrorEnvelope)))]
#[expect(dead_code, reason = "it only describes")]
fn models() {}

/// One model; the slash of its id raw.
#[utoipa::path(get, path = "/v1/models/{provider}/{name}", operation_id = "getModel", tag = "inference",
    security(("apiKey" = []), ("session" = [])),
    responses(
        (status = 200, body = Model),
        (status = 401, description = "`invalid_api_key`", body = ErrorEnvelope),
        (status = 403, description = "sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`", body = ErrorEnvelope),
        (status = 404, description = "`model_not_found`", body = ErrorEnvelope),
        (status = 431, description = "`headers_too_large`", body = ErrorEnvelope),
        (status = 500, description = "`internal_error`", body = ErrorEnvelope),
        (status = 503, description = "`store_unavailable`", body = ErrorEnvelope)))]
#[expect(dead_code, reason = "it only describes")]
fn model_with_slash() {}

/// One model; the slash of its id encoded as `%2F`.
#[utoipa::path(get, path = "/v1/models/{id}", operation_id = "getModelByEncodedId", tag = "inference",
    security(("apiKey" = []), ("session" = [])),
    responses(
        (status = 200, body = Model),
        (status = 401, description = "`invalid_api_key`", body = ErrorEnvelope),
        (status = 403, description = "sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`", body = ErrorEnvelope),
        (status = 404, description = "`model_not_found`", body = ErrorEnvelope),
        (status = 431, description = "`headers_too_large`", body = ErrorEnvelope),
        (status = 500, description = "`internal_error`", body = ErrorEnvelope),
        (status = 503, description = "`store_unavailable`", body = ErrorEnvelope)))]
#[expect(dead_code, reason = "it only describes")]
fn model() {}

#[cfg(test)]
mod tests {
    use super::super::{Route, route};
    use super::*;
    use http::Method;

    #[test]
    fn the_router_knows_every_route_that_is_described_with_its_method() {
        let description = description();
        for (path, item) in &description.paths.paths {
            let found = route(path);
            assert_ne!(found, Route::Unknown, "{path}");
            assert_eq!(found.takes(&Method::GET), item.get.is_some(), "{path}");
            assert_eq!(found.takes(&Method::POST), item.post.is_some(), "{path}");
        }
    }
}
