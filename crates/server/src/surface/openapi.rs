//! `/openapi.json`: the descriptions of all surfaces, completed with what all their operations share.
//!
//! Descriptions come from the annotations of handlers. The hot path has its own router; a test compares the two.

use super::{anthropic, console, endpoints, openai, operations};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{AllOf, AnyOfBuilder, ArrayItems, Object, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ContentBuilder, Info, OpenApi, OpenApiBuilder, Ref, RefOr, Required, Response, ResponseBuilder};

const DESCRIPTION: &str = "Inference and endpoints (`/v1`) take an API key, or a session with `X-CSRF-Token` and `X-Workspace-Id`. \
     The console's surface (`/api`) takes a session. Every response carries `x-request-id`.";

/// An error of an operation: status, codes, and the names of the schemas its body may have.
pub(super) type ErrorDescription = (&'static str, &'static str, &'static [&'static str]);

/// The document, encoded. Made when it is first asked for, since few nodes are.
pub(crate) fn document() -> Bytes {
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| serde_json::to_vec(&describe()).expect("a description has only text keys").into());
    DOCUMENT.clone()
}

fn describe() -> OpenApi {
    let mut info = Info::new("Forebay", env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.into());
    let mut whole = OpenApiBuilder::new().info(info).build();
    let mut console = console::description();
    for (path, item) in &mut console.paths.paths {
        finish_console(path, item);
    }
    let inference = [openai::description(), anthropic::description()];
    for part in inference.into_iter().chain([endpoints::description(), console, operations::description()]) {
        whole.merge(part);
    }
    for (path, item) in &mut whole.paths.paths {
        for operation in operations_of(item) {
            add_path_parameters(path, operation);
        }
    }
    share_errors(&mut whole);
    add_security_schemes(&mut whole);
    join_flattened(&mut whole.components.get_or_insert_default().schemas);
    whole
}

/// Makes one object of a struct with a flattened one that knows all of its members: as parts of `allOf`, it would reject
/// those of the other.
fn join_flattened(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let known = schemas.clone();
    schemas.values_mut().for_each(|schema| join_inside(schema, &known));
}

fn join_inside(schema: &mut RefOr<Schema>, known: &BTreeMap<String, RefOr<Schema>>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            object.properties.values_mut().for_each(|member| join_inside(member, known));
        }
        RefOr::T(Schema::Array(array)) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                join_inside(items, known);
            }
        }
        RefOr::T(Schema::AllOf(all)) => {
            if let Some(whole) = joined(all, known) {
                *schema = RefOr::T(Schema::Object(whole));
            }
        }
        RefOr::Ref(_) | RefOr::T(_) => {}
    }
}

fn joined(all: &AllOf, known: &BTreeMap<String, RefOr<Schema>>) -> Option<Object> {
    let mut whole = Object::new();
    for part in &all.items {
        let part = resolve(known, part)?;
        whole.properties.extend(part.properties);
        whole.required.extend(part.required);
        whole.additional_properties = part.additional_properties.or(whole.additional_properties);
    }
    whole.description.clone_from(&all.description);
    whole.additional_properties.is_some().then_some(whole)
}

fn resolve(schemas: &BTreeMap<String, RefOr<Schema>>, schema: &RefOr<Schema>) -> Option<Object> {
    match schema {
        RefOr::Ref(reference) => resolve(schemas, schemas.get(reference.ref_location.rsplit('/').next()?)?),
        RefOr::T(Schema::Object(object)) => Some(object.clone()),
        RefOr::T(_) => None,
    }
}

/// Moves error responses that several operations have to `components.responses` and refers to them there.
fn share_errors(whole: &mut OpenApi) {
    let mut uses: Vec<(Response, usize)> = Vec::new();
    for (_, response) in errors_of(whole) {
        let RefOr::T(response) = response else { continue };
        match uses.iter_mut().find(|(other, _)| other == response) {
            Some((_, count)) => *count += 1,
            None => uses.push((response.clone(), 1)),
        }
    }
    let mut shared: Vec<(String, Response)> = Vec::new();
    for (status, response) in errors_of(whole) {
        let RefOr::T(own) = response else { continue };
        if uses.iter().any(|(other, count)| other == own && *count > 1) {
            *response = RefOr::Ref(Ref::from_response_name(share(&mut shared, status, own)));
        }
    }
    whole.components.get_or_insert_default().responses =
        shared.into_iter().map(|(name, response)| (name, RefOr::T(response))).collect();
}

fn errors_of(whole: &mut OpenApi) -> impl Iterator<Item = (&String, &mut RefOr<Response>)> {
    let operations = whole.paths.paths.values_mut().flat_map(operations_of);
    operations.flat_map(|one| &mut one.responses.responses).filter(|(status, _)| status.starts_with(['4', '5']))
}

/// The name of an equal response in the list, to which it is added if none is: `Error404`, and `Error404_2` for one with another
/// description.
fn share(shared: &mut Vec<(String, Response)>, status: &str, response: &Response) -> String {
    if let Some((name, _)) = shared.iter().find(|(_, other)| other == response) {
        return name.clone();
    }
    let base = format!("{}{status}", schema_name(response));
    let alike = shared.iter().filter(|(name, _)| name.split('_').next() == Some(&base)).count();
    let name = if alike == 0 { base } else { format!("{base}_{}", alike + 1) };
    shared.push((name.clone(), response.clone()));
    name
}

/// The first schema of the response's body.
fn schema_name(response: &Response) -> &str {
    let first = response.content.values().next().and_then(|content| content.schema.as_ref());
    let reference = match first {
        Some(RefOr::T(Schema::AnyOf(several))) => several.items.first(),
        other => other,
    };
    match reference {
        Some(RefOr::Ref(reference)) => reference.ref_location.rsplit('/').next().unwrap_or_default(),
        _ => "Error",
    }
}

/// Adds name, security and errors to the operations of the console.
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
        add_errors(operation, &CONSOLE_ERRORS);
        let is_public = operation.security.as_ref().is_some_and(|all| all.contains(&SecurityRequirement::default()));
        if !is_public {
            add_errors(operation, &[FORBIDDEN]);
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

const CONSOLE_ERRORS: [ErrorDescription; 11] = [
    ("400", "`invalid_payload`", &["Error"]),
    ("401", "`not_signed_in`, `bad_credentials`", &["Error"]),
    ("404", "`not_found`", &["Error"]),
    ("408", "`request_timeout`", &["Error"]),
    ("413", "`payload_too_large`", &["Error"]),
    ("415", "`unsupported_media_type`", &["Error"]),
    ("422", "`invalid_value`, with `field`", &["Error"]),
    ("429", "`too_many_attempts`, with Retry-After", &["Error"]),
    ("431", "`headers_too_large`", &["Error"]),
    ("500", "`internal_error`", &["Error"]),
    ("503", "`store_unavailable`", &["Error"]),
];
const FORBIDDEN: ErrorDescription =
    ("403", "`csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only`", &["Error"]);

/// Adds the errors whose status the operation does not describe itself.
pub(super) fn add_errors(operation: &mut Operation, errors: &[ErrorDescription]) {
    for (status, codes, schemas) in errors {
        let reference = |name: &&str| RefOr::<Schema>::Ref(Ref::from_schema_name(*name));
        let schema = match schemas {
            [one] => reference(one),
            several => {
                let any = several.iter().fold(AnyOfBuilder::new(), |any, name| any.item(reference(name)));
                RefOr::T(Schema::AnyOf(any.build()))
            }
        };
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response = ResponseBuilder::new().description(*codes).content("application/json", content).build();
        operation.responses.responses.entry((*status).to_owned()).or_insert_with(|| RefOr::T(response));
    }
}

pub(super) fn operations_of(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete].into_iter().flatten()
}

/// Describes the parameters in a path: required texts.
fn add_path_parameters(path: &str, operation: &mut Operation) {
    for name in path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
        let parameters = operation.parameters.get_or_insert_default();
        if !parameters.iter().any(|other| other.name == name) {
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
    let header = ApiKeyValue::with_description("x-api-key", "the same key, as Anthropic's clients send it");
    components.add_security_scheme("anthropicKey", SecurityScheme::ApiKey(ApiKey::Header(header)));
    let cookie = ApiKeyValue::with_description(
        "forebay_session",
        "set by `POST /api/session`; `__Host-forebay_session` if `server.public_url` is https",
    );
    components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    let csrf =
        ApiKeyValue::with_description("X-CSRF-Token", "`csrfToken` of `GET /api/session`; together with a session");
    components.add_security_scheme("csrf", SecurityScheme::ApiKey(ApiKey::Header(csrf)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn operation_ids_are_unique_and_references_resolve() {
        let document: Value = serde_json::from_slice(&document()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        let mut names = std::collections::HashSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap().iter().filter(|(_, value)| value.is_object()) {
                let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path}"));
                assert!(names.insert(name.to_owned()), "duplicate {name}");
            }
        }
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(document.pointer(&format!("/{reference}")).is_some(), "{reference}");
        }
    }

    #[test]
    fn an_error_response_is_described_once() {
        let mut whole = describe();
        let shared = whole.components.as_ref().unwrap().responses.values().cloned().collect::<Vec<_>>();
        assert!(shared.len() > 20, "{}", shared.len());
        let own = errors_of(&mut whole).map(|(_, response)| response.clone()).filter(|one| matches!(one, RefOr::T(_)));
        let all: Vec<_> = shared.into_iter().chain(own).collect();
        assert!(all.iter().enumerate().all(|(index, one)| !all[..index].contains(one)));
    }
}
