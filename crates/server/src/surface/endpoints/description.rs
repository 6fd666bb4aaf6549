//! The surface's part of `/openapi.json`: its routes, with the errors and credentials that they share.

use super::error::{Problem, RequestFault};
use super::router;
use crate::surface::openapi::{ErrorDescription, add_errors};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::PathItem;
use utoipa::openapi::security::SecurityRequirement;

const FAULT: &[&str] = &["EndpointFault"];
const PROBLEM: &[&str] = &["EndpointProblem"];

const ALL: [ErrorDescription; 8] = [
    ("400", "`MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR`", FAULT),
    ("401", "`UNAUTHENTICATED`: every bad credential alike", PROBLEM),
    (
        "403",
        "keys: `PERMISSION_DENIED`; sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED`",
        &["EndpointFault", "EndpointProblem"],
    ),
    ("422", "`OUT_OF_RANGE`, `INVALID_FORMAT` and others", &["EndpointFault", "EndpointProblem"]),
    ("429", "`RATE_LIMIT_EXCEEDED`, with Retry-After", PROBLEM),
    ("431", "`HEADERS_TOO_LARGE`", PROBLEM),
    ("500", "`INTERNAL`", PROBLEM),
    ("503", "`DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After", PROBLEM),
];
const NOT_FOUND: ErrorDescription = ("404", "`ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND`", PROBLEM);
const CHANGES: [ErrorDescription; 4] = [
    (
        "409",
        "`GPU_ALLOTMENT_EXCEEDED`, `BUDGET_EXCEEDED`, `ENDPOINT_NAME_IN_USE`, `ENDPOINT_MODIFIED`, `ENDPOINT_DELETING`, `IDEMPOTENCY_IN_PROGRESS`",
        PROBLEM,
    ),
    ("408", "`REQUEST_TIMEOUT`", PROBLEM),
    ("413", "`PAYLOAD_TOO_LARGE`", PROBLEM),
    ("415", "`UNSUPPORTED_MEDIA_TYPE`", PROBLEM),
];

/// Bodies of errors, which no handler returns by itself.
#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(Problem, RequestFault)))]
struct Errors;

pub(crate) fn description() -> OpenApi {
    let mut description = router().into_openapi();
    description.merge(Errors::openapi());
    for (path, item) in &mut description.paths.paths {
        complete(path, item);
    }
    description
}

fn complete(path: &str, item: &mut PathItem) {
    let methods = [(true, &mut item.get), (false, &mut item.post), (false, &mut item.patch), (false, &mut item.delete)];
    for (is_read, operation) in methods {
        let Some(operation) = operation else { continue };
        let none = Vec::<String>::new;
        let session = SecurityRequirement::new("session", none());
        let session = if is_read { session } else { session.add("csrf", none()) };
        operation.security = Some(vec![SecurityRequirement::new("apiKey", none()), session]);
        add_errors(operation, &ALL);
        if path.contains('{') || path.ends_with("/flavors") || !is_read {
            add_errors(operation, &[NOT_FOUND]);
        }
        if !is_read {
            add_errors(operation, &CHANGES);
        }
    }
}
