//! The surface's part of `/openapi.json`, from the annotations of its handlers.
//!
//! Bodies of calls are OpenAI's and mostly travel untouched, so only the members that every call needs are described.

use super::error::ErrorEnvelope;
use super::responses::{self, InputTokenCount};
use super::{batches, chat, files, models, tokens};
use crate::surface::openapi::{ErrorDescription, add_errors, operations_of};
use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{OpenApi, RefOr, Required};

#[derive(utoipa::OpenApi)]
#[openapi(
    paths(
        chat::completions,
        chat::text_completions,
        chat::embeddings,
        chat::rerank,
        chat::rerank_v2,
        chat::score,
        tokens::tokenize,
        tokens::detokenize,
        files::upload::create,
        files::list,
        files::show,
        files::content,
        files::delete,
        batches::create,
        batches::list,
        batches::show,
        batches::cancel,
        responses::create,
        responses::input_tokens,
        responses::records::show,
        responses::records::delete,
        responses::records::input_items,
        models::list,
        models::show
    ),
    components(schemas(ErrorEnvelope<'static>, InputTokenCount, tokens::TokenList<'static>, tokens::DetokenizedText<'static>))
)]
struct Handlers;

const READ: [ErrorDescription; 6] = [
    ("401", "`invalid_api_key`", &["InferenceError"]),
    ("403", "sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`", &["InferenceError"]),
    ("429", "`rate_limit_exceeded`", &["InferenceError"]),
    ("431", "`headers_too_large`", &["InferenceError"]),
    ("500", "`internal_error`", &["InferenceError"]),
    ("503", "`store_unavailable`", &["InferenceError"]),
];
const MODEL: [ErrorDescription; 1] = [("404", "`model_not_found`", &["InferenceError"])];
const RESPONSE: [ErrorDescription; 1] = [("404", "`response_not_found`, `model_not_found`", &["InferenceError"])];
/// Files and batches.
const RECORD: [ErrorDescription; 13] = [
    ("400", "`invalid_payload`, `missing_parameter`", &["InferenceError"]),
    ("401", "`invalid_api_key`", &["InferenceError"]),
    (
        "403",
        "keys: `permission_denied`; sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed`",
        &["InferenceError"],
    ),
    ("404", "`file_not_found`, `batch_not_found`", &["InferenceError"]),
    ("408", "`request_timeout`", &["InferenceError"]),
    ("409", "`idempotency_in_progress`, `batch_not_cancellable`", &["InferenceError"]),
    ("413", "`payload_too_large`, `storage_full`", &["InferenceError"]),
    ("415", "`unsupported_media_type`", &["InferenceError"]),
    ("422", "`invalid_value`, `idempotency_key_reused`", &["InferenceError"]),
    ("429", "`rate_limit_exceeded`, `too_many_batches`", &["InferenceError"]),
    ("431", "`headers_too_large`", &["InferenceError"]),
    ("500", "`internal_error`", &["InferenceError"]),
    ("503", "`store_unavailable`", &["InferenceError"]),
];
const ITEMS: [ErrorDescription; 1] = [("422", "`invalid_value`", &["InferenceError"])];
const CALL: [ErrorDescription; 13] = [
    (
        "400",
        "`invalid_payload`, `missing_parameter`, `unsupported_parameter`, `context_length_exceeded`, `response_too_large`",
        &["InferenceError"],
    ),
    ("401", "`invalid_api_key`", &["InferenceError"]),
    (
        "403",
        "keys: `permission_denied`; sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed`",
        &["InferenceError"],
    ),
    ("404", "`model_not_found`", &["InferenceError"]),
    ("408", "`request_timeout`, `upstream_timeout`", &["InferenceError"]),
    ("413", "`payload_too_large`", &["InferenceError"]),
    ("415", "`unsupported_media_type`", &["InferenceError"]),
    ("422", "`invalid_value`", &["InferenceError"]),
    ("429", "`rate_limit_exceeded`, `quota_exceeded`, `budget_exceeded`", &["InferenceError"]),
    ("431", "`headers_too_large`", &["InferenceError"]),
    ("500", "`internal_error`", &["InferenceError"]),
    ("502", "`bad_gateway`", &["InferenceError"]),
    ("503", "`model_not_serving`, `request_quarantined`, `store_unavailable`", &["InferenceError"]),
];

/// Responses can refer to others.
const STORED: [ErrorDescription; 1] =
    [("404", "`model_not_found`, `previous_response_not_found`, `response_not_found`", &["InferenceError"])];

pub(crate) fn description() -> OpenApi {
    let mut description = Handlers::openapi();
    add_encoded_id(&mut description);
    for (path, item) in &mut description.paths.paths {
        if path.starts_with("/v1/files") || path.starts_with("/v1/batches") {
            describe_records(item);
            continue;
        }
        let is_read = item.get.is_some();
        let is_stored = path.starts_with("/v1/responses/{");
        for operation in operations_of(item) {
            operation.security = Some(security(is_read));
            if let Some(body) = &mut operation.request_body {
                body.required = Some(Required::True);
            }
            if is_stored {
                add_errors(operation, &RESPONSE);
                if path.ends_with("/input_items") {
                    add_errors(operation, &ITEMS);
                }
            } else if path.starts_with("/v1/responses") {
                add_errors(operation, &STORED);
            }
            add_errors(operation, if is_read { &READ } else { &CALL });
            if path.contains('{') && !is_stored {
                add_errors(operation, &MODEL);
            } else {
                add_workspace_header(operation);
            }
        }
        if let Some(delete) = &mut item.delete {
            delete.security = Some(security(false));
        }
    }
    let schemas = &mut description.components.get_or_insert_default().schemas;
    for (name, schema) in [
        ("ChatRequest", chat_request()),
        ("CompletionsRequest", completions_request()),
        ("RerankRequest", rerank_request()),
        ("ScoreRequest", score_request()),
        ("TokenizeRequest", tokenize_request()),
        ("DetokenizeRequest", detokenize_request()),
        ("EmbeddingsRequest", embeddings_request()),
        ("ResponsesRequest", responses_request()),
        ("BatchRequest", batch_request()),
    ] {
        schemas.insert(name.into(), RefOr::T(Schema::Object(schema)));
    }
    description
}

/// Files and batches: paths that are read and changed.
fn describe_records(item: &mut PathItem) {
    for operation in operations_of(item) {
        if let Some(body) = &mut operation.request_body {
            body.required = Some(Required::True);
        }
        add_errors(operation, &RECORD);
        add_workspace_header(operation);
        operation.security = Some(security(false));
    }
    if let Some(get) = &mut item.get {
        get.security = Some(security(true));
    }
}

/// The route of one model matches its id with the slash encoded, too.
fn add_encoded_id(description: &mut OpenApi) {
    let mut item = description.paths.paths["/v1/models/{provider}/{name}"].clone();
    for operation in operations_of(&mut item) {
        operation.summary = Some("One model; the slash of its id encoded as `%2F`.".into());
        operation.operation_id = Some("getModelByEncodedId".into());
    }
    description.paths.paths.insert("/v1/models/{id}".into(), item);
}

fn security(is_read: bool) -> Vec<SecurityRequirement> {
    let none = Vec::<String>::new;
    let session = SecurityRequirement::new("session", none());
    let session = if is_read { session } else { session.add("csrf", none()) };
    vec![SecurityRequirement::new("apiKey", none()), session]
}

fn add_workspace_header(operation: &mut Operation) {
    let header = ParameterBuilder::new()
        .name("X-Workspace-Id")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("the workspace a session acts in; default: its current one"))
        .schema(Some(ObjectBuilder::new().schema_type(or_null(Type::String)).build()))
        .build();
    operation.parameters.get_or_insert_default().push(header);
}

fn chat_request() -> Object {
    let messages = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::Object)).min_items(Some(1));
    let stream = ObjectBuilder::new().schema_type(or_null(Type::Boolean));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("messages", messages)
        .required("messages")
        .property("stream", stream.description(Some("Events instead of one response.")))
        .build()
}

fn completions_request() -> Object {
    let prompt = "A text, several texts, token ids, or several lists of them.";
    let stream = ObjectBuilder::new().schema_type(or_null(Type::Boolean));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("prompt", ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(prompt)))
        .required("prompt")
        .property("stream", stream.description(Some("Events instead of one response.")))
        .build()
}

fn rerank_request() -> Object {
    let document = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let document = document.description(Some("A text, or an object with a `text`."));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("query", ObjectBuilder::new().schema_type(Type::String))
        .required("query")
        .property("documents", ArrayBuilder::new().items(document).min_items(Some(1)))
        .required("documents")
        .property("top_n", ObjectBuilder::new().schema_type(or_null(Type::Integer)))
        .build()
}

fn score_request() -> Object {
    let texts = || ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some("A text or several."));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("queries", texts())
        .property("documents", texts())
        .build()
}

fn tokenize_request() -> Object {
    let text =
        ObjectBuilder::new().schema_type(or_null(Type::String)).description(Some("A text, unless there are messages."));
    let messages = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::Object));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("prompt", text)
        .property("messages", messages)
        .build()
}

fn detokenize_request() -> Object {
    let tokens = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::Integer)).min_items(Some(1));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("tokens", tokens)
        .required("tokens")
        .build()
}

fn embeddings_request() -> Object {
    let input = "A text, several texts, token ids, or several lists of them.";
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("input", ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(input)))
        .required("input")
        .build()
}

fn responses_request() -> Object {
    let input = "A text, or the items of a conversation.";
    let stream = ObjectBuilder::new().schema_type(or_null(Type::Boolean));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("model", model_id())
        .required("model")
        .property("input", ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(input)))
        .required("input")
        .property("stream", stream.description(Some("Events instead of one response.")))
        .build()
}

fn batch_request() -> Object {
    let text = |what: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(what));
    let object = |what: &str| ObjectBuilder::new().schema_type(or_null(Type::Object)).description(Some(what));
    let metadata =
        object("Up to 16 texts by name.").additional_properties(Some(ObjectBuilder::new().schema_type(Type::String)));
    let anchor = text("`created_at`");
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(3_600.0)).maximum(Some(2_592_000.0));
    let expiry = object("When the files of results expire.").property("anchor", anchor).required("anchor");
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("input_file_id", text("A file of lines, each one call."))
        .required("input_file_id")
        .property("endpoint", text("The route that the lines call, such as `/v1/chat/completions`."))
        .required("endpoint")
        .property("completion_window", text("`24h`"))
        .required("completion_window")
        .property("metadata", metadata)
        .property("output_expires_after", expiry.property("seconds", seconds).required("seconds"))
        .build()
}

fn model_id() -> Object {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.description(Some("A Model ID, as `GET /v1/models` lists them.")).build()
}

fn or_null(kind: Type) -> SchemaType {
    SchemaType::Array(vec![kind, Type::Null])
}

#[cfg(test)]
mod tests {
    use super::super::{Route, route};
    use super::*;
    use http::Method;

    #[test]
    fn every_described_route_exists_with_its_methods() {
        let description = description();
        for (path, item) in &description.paths.paths {
            let found = route(path);
            assert_ne!(found, Route::Unknown, "{path}");
            assert_eq!(found.supports(&Method::GET), item.get.is_some(), "{path}");
            assert_eq!(found.supports(&Method::POST), item.post.is_some(), "{path}");
        }
    }
}
