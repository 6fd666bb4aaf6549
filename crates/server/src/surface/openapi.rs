//! `/openapi.json`: what all surfaces say of themselves, and what is true of all their operations.
//!
//! Routes of the console describe themselves, since they are made from their descriptions; the hot path has its own
//! router, whose description a test compares with it.

use super::{console, endpoints, openai, operations};
use bytes::Bytes;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ContentBuilder, Info, OpenApi, OpenApiBuilder, Ref, RefOr, Required};

const DESCRIPTION: &str = "Inference and endpoints (`/v1`) take an API key, or a session with `X-CSRF-Token` and `X-Workspace-Id`. \
     The console's surface (`/api`) takes a session. Every answer carries `x-request-id`.";

/// The document, written once.
pub(crate) fn document() -> Bytes {
    let whole = describe();
    serde_json::to_vec(&whole).expect("a description has only text keys").into()
}

fn describe() -> OpenApi {
    let mut info = Info::new("Forebay", env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.into());
    let mut whole = OpenApiBuilder::new().info(info).build();
    let mut console = console::description();
    for (path, item) in &mut console.paths.paths {
        finish_console(path, item);
    }
    for part in [openai::describe::description(), endpoints::description(), console, operations::description()] {
        whole.merge(part);
    }
    for (path, item) in &mut whole.paths.paths {
        for operation in operations_of(item) {
            add_path_parameters(path, operation);
        }
    }
    add_security_schemes(&mut whole);
    whole
}

/// What every operation of the console may answer, needs and names.
fn finish_console(path: &str, item: &mut PathItem) {
    let methods = [
        ("get", &mut item.get),
        ("post", &mut item.post),
        ("put", &mut item.put),
        ("patch", &mut item.patch),
        ("delete", &mut item.delete),
    ];
    for (method, operation) in methods {
        let Some(operation) = operation else { continue };
        let is_read = method == "get";
        operation.operation_id = Some(operation_id(method, path));
        let mut requirement = SecurityRequirement::new("session", Vec::<String>::new());
        if !is_read {
            requirement = requirement.add("csrf", Vec::<String>::new());
        }
        operation.security.get_or_insert_with(|| vec![requirement]);
        for (status, told) in refusals(path, operation, is_read) {
            operation.responses.responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(refusal(told)));
        }
    }
}

/// `GET /api/workspaces/{workspaceId}/keys` is `getWorkspacesKeys`, and one of them `…ById`.
fn operation_id(method: &str, path: &str) -> String {
    let mut id = method.to_owned();
    let pieces = path.trim_start_matches("/api/").split(['/', '-']).filter(|piece| !piece.starts_with('{'));
    for piece in pieces {
        let (first, rest) = piece.split_at(1);
        id.push_str(&first.to_ascii_uppercase());
        id.push_str(rest);
    }
    if path.ends_with('}') {
        id.push_str("ById");
    }
    id
}

fn refusals(path: &str, operation: &Operation, is_read: bool) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("400", "`invalid_payload`"),
        ("401", "`not_signed_in`, `bad_credentials`"),
        ("404", "`not_found`"),
        ("408", "`request_timeout`"),
        ("413", "`payload_too_large`"),
        ("415", "`unsupported_media_type`"),
        ("422", "`invalid_value`, with `field`"),
        ("431", "`headers_too_large`"),
        ("500", "`internal_error`"),
        ("503", "`store_unavailable`"),
    ];
    let is_public = operation.security.as_ref().is_some_and(|all| all.contains(&SecurityRequirement::default()));
    if !is_public {
        let told = "`csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only`";
        all.push(("403", told));
    }
    if !is_read && (path.starts_with("/api/session") || path.starts_with("/api/invitations")) {
        all.push(("429", "`too_many_attempts`, with Retry-After"));
    }
    all
}

fn refusal(told: &str) -> Response {
    let schema = RefOr::Ref(Ref::from_schema_name("Error"));
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(told).content("application/json", content).build()
}

fn operations_of(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete].into_iter().flatten()
}

/// Places in a path are texts, and always there.
fn add_path_parameters(path: &str, operation: &mut Operation) {
    for name in path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
        let parameters = operation.parameters.get_or_insert_default();
        if !parameters.iter().any(|known| known.name == name) {
            parameters.insert(0, path_parameter(name));
        }
    }
}

fn path_parameter(name: &str) -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .schema(Some(text))
        .build()
}

fn add_security_schemes(whole: &mut OpenApi) {
    let components = whole.components.get_or_insert_default();
    let key = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("sk-<segment>-<secret>").build();
    components.add_security_scheme("apiKey", SecurityScheme::Http(key));
    let cookie = ApiKeyValue::with_description("forebay_session", "what `POST /api/session` hands out");
    components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    let csrf = ApiKeyValue::with_description("X-CSRF-Token", "`csrfToken` of `GET /api/session`; beside a session");
    components.add_security_scheme("csrf", SecurityScheme::ApiKey(ApiKey::Header(csrf)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_operation_has_a_name_of_its_own_and_every_reference_leads_somewhere() {
        let document: Value = serde_json::from_slice(&document()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        let mut names = std::collections::HashSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap().iter().filter(|(_, value)| value.is_object()) {
                let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path}"));
                assert!(names.insert(name.to_owned()), "{name} twice");
            }
        }
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(document.pointer(&format!("/{reference}")).is_some(), "{reference}");
        }
    }
}
