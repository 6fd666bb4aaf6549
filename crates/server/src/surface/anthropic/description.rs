//! The surface's part of `/openapi.json`, from the annotations of its handlers.
//!
//! `/v1/models` is described once, in the format of its usual clients.

use super::batches;
use super::error::ErrorEnvelope;
use super::messages::{self, TokenCount};
use crate::surface::openapi::{ErrorDescription, add_errors, operations_of};
use utoipa::OpenApi as _;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{OpenApi, RefOr, Required};

#[derive(utoipa::OpenApi)]
#[openapi(
    paths(
        messages::create,
        messages::count_tokens,
        batches::create,
        batches::list,
        batches::show,
        batches::results,
        batches::cancel,
        batches::delete
    ),
    components(schemas(ErrorEnvelope<'static>, TokenCount))
)]
struct Handlers;

const ERRORS: [ErrorDescription; 12] = [
    (
        "400",
        "`invalid_payload`, `missing_parameter`, `invalid_value`, `unsupported_parameter`, `context_length_exceeded`, `response_too_large`",
        &["MessagesError"],
    ),
    ("401", "`invalid_api_key`", &["MessagesError"]),
    (
        "403",
        "keys: `permission_denied`; sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed`",
        &["MessagesError"],
    ),
    ("404", "`model_not_found`", &["MessagesError"]),
    ("408", "`request_timeout`, `upstream_timeout`", &["MessagesError"]),
    ("413", "`payload_too_large`", &["MessagesError"]),
    ("415", "`unsupported_media_type`", &["MessagesError"]),
    ("429", "`rate_limit_exceeded`, `quota_exceeded`, `budget_exceeded`", &["MessagesError"]),
    ("431", "`headers_too_large`", &["MessagesError"]),
    ("500", "`internal_error`", &["MessagesError"]),
    ("502", "`bad_gateway`", &["MessagesError"]),
    ("503", "`model_not_serving`, `request_quarantined`, `store_unavailable`", &["MessagesError"]),
];

const BATCHES: [ErrorDescription; 12] = [
    (
        "400",
        "`invalid_payload`, `missing_parameter`, `invalid_value`, `batch_not_ended`, `idempotency_key_reused`",
        &["MessagesError"],
    ),
    ("401", "`invalid_api_key`", &["MessagesError"]),
    (
        "403",
        "keys: `permission_denied`; sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed`",
        &["MessagesError"],
    ),
    ("404", "`batch_not_found`, `file_not_found`", &["MessagesError"]),
    ("408", "`request_timeout`", &["MessagesError"]),
    ("409", "`idempotency_in_progress`", &["MessagesError"]),
    ("413", "`payload_too_large`", &["MessagesError"]),
    ("415", "`unsupported_media_type`", &["MessagesError"]),
    ("429", "`rate_limit_exceeded`, `too_many_batches`, `too_many_lines`", &["MessagesError"]),
    ("431", "`headers_too_large`", &["MessagesError"]),
    ("500", "`internal_error`", &["MessagesError"]),
    ("503", "`store_unavailable`", &["MessagesError"]),
];

pub(crate) fn description() -> OpenApi {
    let mut description = Handlers::openapi();
    for (path, item) in &mut description.paths.paths {
        let is_batches = path.starts_with("/v1/messages/batches");
        for operation in operations_of(item) {
            let none = Vec::<String>::new;
            let session = SecurityRequirement::new("session", none()).add("csrf", none());
            let keys = ["apiKey", "anthropicKey"].map(|key| SecurityRequirement::new(key, none()));
            operation.security = Some(keys.into_iter().chain([session]).collect());
            if let Some(body) = &mut operation.request_body {
                body.required = Some(Required::True);
            }
            add_errors(operation, if is_batches { &BATCHES } else { &ERRORS });
        }
    }
    let schemas = &mut description.components.get_or_insert_default().schemas;
    for (name, schema) in [
        ("MessagesRequest", messages_request()),
        ("CountTokensRequest", prompt()),
        ("MessageBatchRequest", batch_request()),
    ] {
        schemas.insert(name.into(), RefOr::T(Schema::Object(schema)));
    }
    description
}

fn prompt() -> Object {
    let messages = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::Object)).min_items(Some(1));
    let model = ObjectBuilder::new().schema_type(Type::String);
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model.description(Some("A Model ID or an alias, as `GET /v1/models` lists them.")))
        .required("model")
        .property("messages", messages)
        .required("messages")
        .build()
}

fn batch_request() -> Object {
    let request = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("custom_id", ObjectBuilder::new().schema_type(Type::String))
        .required("custom_id")
        .property("params", messages_request())
        .required("params");
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("requests", ArrayBuilder::new().items(request).min_items(Some(1)))
        .required("requests")
        .build()
}

fn messages_request() -> Object {
    let stream = ObjectBuilder::new().schema_type(SchemaType::Array(vec![Type::Boolean, Type::Null]));
    let max_tokens = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1.0));
    let what = "The most tokens to generate; lowered to what the context leaves.";
    let mut request = prompt();
    request.properties.insert("max_tokens".into(), max_tokens.description(Some(what)).into());
    request.required.push("max_tokens".into());
    request.properties.insert("stream".into(), stream.description(Some("Events instead of one message.")).into());
    let tier = ObjectBuilder::new()
        .schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
        .description(Some("`flex` for a lower price and more time; others have no effect."));
    request.properties.insert("service_tier".into(), tier.into());
    request
}

#[cfg(test)]
mod tests {
    use super::super::route;
    use super::*;
    use edge::Headers;
    use http::Method;

    #[test]
    fn every_described_route_exists_with_its_methods() {
        for (path, item) in &description().paths.paths {
            let found = route(path, &Headers::default()).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(found.supports(&Method::POST), item.post.is_some(), "{path}");
        }
    }
}
