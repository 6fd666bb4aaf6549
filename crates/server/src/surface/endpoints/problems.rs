//! All problems: code, title, and the text of the page that explains it.

use crate::credential::{CredentialError, Forbidden};
use crate::surface::error::SurfaceError;
use edge::request_body::BodyError;

pub(super) struct Problem {
    pub code: &'static str,
    pub title: &'static str,
    pub help: &'static str,
}

const fn problem(code: &'static str, title: &'static str, help: &'static str) -> Problem {
    Problem { code, title, help }
}

pub(super) const ALL: &[Problem] = &[
    problem(
        "UNAUTHENTICATED",
        "Not authenticated",
        "The credential is missing, malformed, unknown, revoked, disabled or expired, or it is a key of another workspace. Check the Authorization header.",
    ),
    problem(
        "NO_ORGANIZATION_CONTEXT",
        "No organization chosen",
        "The session has no current organization. Choose one in the console.",
    ),
    problem(
        "NO_WORKSPACE_CONTEXT",
        "No workspace chosen",
        "The session has no current workspace. Choose one in the console, or name it in X-Workspace-Id.",
    ),
    problem("NOT_A_MEMBER", "Not a member", "The signed-in user is not a member of this workspace."),
    problem(
        "WRONG_WORKSPACE",
        "Owned by another workspace",
        "Another workspace of the organization owns the endpoint. Switch to it.",
    ),
    problem(
        "PERMISSION_DENIED",
        "Permission missing",
        "The key lacks the permission endpoints:read or endpoints:write. Use another key, or change its permissions.",
    ),
    problem("CSRF_FAILED", "CSRF token missing", "A session must send its token in X-CSRF-Token with every change."),
    problem("ROUTE_NOT_FOUND", "No such route", "There is no route with this path under /v1/endpoints."),
    problem(
        "METHOD_NOT_ALLOWED",
        "Method not allowed",
        "The route supports other methods; the header Allow lists them.",
    ),
    problem("REQUEST_TIMEOUT", "Request timeout", "The request took too long to arrive. Send it again."),
    problem("PAYLOAD_TOO_LARGE", "Payload too large", "The body is too large."),
    problem(
        "UNSUPPORTED_MEDIA_TYPE",
        "Unsupported media type",
        "Send application/json, plain or compressed with gzip.",
    ),
    problem(
        "RATE_LIMIT_EXCEEDED",
        "Too many requests",
        "Too many requests of this kind arrived within a minute; the detail names the limit. Wait as long as Retry-After says.",
    ),
    problem("HEADERS_TOO_LARGE", "Headers too large", "The request has more than 32 KiB of headers."),
    problem(
        "CONCURRENCY_LIMIT_EXCEEDED",
        "Too many running calls",
        "The running calls of the workspace use up its share of the server's memory. Retry when some have ended.",
    ),
    problem("SERVER_BUSY", "Server busy", "The server has no memory left for request bodies. Retry."),
    problem("ENDPOINT_NOT_FOUND", "No such endpoint", "No endpoint has this name or id. It may have been deleted."),
    problem("MODEL_NOT_FOUND", "No such model", "The catalogue has no such model; GET /v1/models lists it."),
    problem(
        "ENDPOINT_NAME_IN_USE",
        "Endpoint name in use",
        "Names are unique in an organization. A deleted endpoint releases its name when its last replica has ended.",
    ),
    problem(
        "ENDPOINT_LIMIT_REACHED",
        "Too many endpoints",
        "The workspace has as many endpoints as it may have, suspended ones included. Delete one that is not needed.",
    ),
    problem(
        "ENDPOINT_MODIFIED",
        "Endpoint modified",
        "The endpoint was changed since it was read. Read it again and send its ETag in If-Match.",
    ),
    problem("ENDPOINT_DELETING", "Endpoint is being deleted", "An endpoint that is being deleted cannot be changed."),
    problem(
        "IDEMPOTENCY_IN_PROGRESS",
        "Same request in progress",
        "A request with the same Idempotency-Key is still in progress. Wait a moment and send it again.",
    ),
    problem(
        "IDEMPOTENCY_KEY_REUSED",
        "Idempotency key reused",
        "The Idempotency-Key was used for another request in the last 24 hours. Use a new one.",
    ),
    problem(
        "GPU_ALLOTMENT_EXCEEDED",
        "GPU allotment exceeded",
        "The organization would commit more GPUs of this type than it is allotted. Nothing was changed. Request fewer replicas, a lower maximum or, for a new endpoint, a smaller flavor; or suspend or delete endpoints that are not needed.",
    ),
    problem(
        "BUDGET_EXCEEDED",
        "Monthly budget spent",
        "The workspace or the organization has spent its monthly budget, so it cannot commit more GPUs. Nothing was changed. Running endpoints go on. Raise the budget, or wait for the next month.",
    ),
    problem(
        "GPU_ALLOTMENT_UNAVAILABLE",
        "GPU allotment could not be checked",
        "The allotment could not be checked. Nothing was changed. Retry.",
    ),
    problem(
        "FLAVOR_NOT_OFFERED",
        "Flavor not offered",
        "The model is not offered in this flavor; GET /v1/endpoints/flavors?model= lists its flavors.",
    ),
    problem(
        "METRIC_NOT_SUPPORTED",
        "Metric not supported",
        "The engine of the flavor does not report its KV-cache utilization. Use the metric concurrency.",
    ),
    problem("OUT_OF_RANGE", "Out of range", "A value is out of the range that the endpoint's other values leave."),
    problem("INVALID_FORMAT", "Invalid format", "A value does not have the format of its field."),
    problem(
        "INVALID_COMBINATION",
        "Invalid combination",
        "A value conflicts with the endpoint's other values, such as a minReplicas above its maxReplicas.",
    ),
    problem("INTERNAL", "Internal error", "Internal error; the log has the cause."),
    problem("DATABASE_UNAVAILABLE", "Database unavailable", "The database cannot be reached right now. Retry."),
];

/// The code of a shared error in the spelling of this surface.
pub(super) const fn code_of(error: &SurfaceError) -> &'static str {
    match error {
        SurfaceError::Credential(error) => match error {
            CredentialError::Unauthenticated { .. } => "UNAUTHENTICATED",
            CredentialError::StoreUnavailable { .. } => "DATABASE_UNAVAILABLE",
            CredentialError::Throttled(_) => "RATE_LIMIT_EXCEEDED",
            CredentialError::Forbidden(forbidden) => match forbidden {
                Forbidden::CsrfFailed => "CSRF_FAILED",
                Forbidden::NoOrganizationContext => "NO_ORGANIZATION_CONTEXT",
                Forbidden::NoWorkspaceContext => "NO_WORKSPACE_CONTEXT",
                Forbidden::NotAMember => "NOT_A_MEMBER",
                Forbidden::PermissionDenied(_) => "PERMISSION_DENIED",
            },
            CredentialError::Internal => "INTERNAL",
        },
        SurfaceError::HeadersTooLarge { .. } => "HEADERS_TOO_LARGE",
        SurfaceError::RouteNotFound => "ROUTE_NOT_FOUND",
        SurfaceError::MethodNotAllowed { .. } => "METHOD_NOT_ALLOWED",
        SurfaceError::Body(error) => match error {
            BodyError::TooLarge { .. } | BodyError::RatioTooHigh { .. } => "PAYLOAD_TOO_LARGE",
            BodyError::TooSlow { .. } | BodyError::Stalled { .. } => "REQUEST_TIMEOUT",
            BodyError::UnsupportedType(_) | BodyError::UnsupportedEncoding(_) => "UNSUPPORTED_MEDIA_TYPE",
            BodyError::ServerBusy => "SERVER_BUSY",
            BodyError::OrganizationBusy => "CONCURRENCY_LIMIT_EXCEEDED",
            // These are faults of the request on this surface.
            BodyError::BadEncoding | BodyError::TooManyMembers { .. } | BodyError::Incomplete => "INTERNAL",
        },
        SurfaceError::Throttled(_) => "RATE_LIMIT_EXCEEDED",
        SurfaceError::Internal => "INTERNAL",
    }
}

/// The problem of a code; an unlisted code is a bug, and shown as an internal error.
pub(super) fn of(code: &str) -> &'static Problem {
    const UNLISTED: Problem = problem("INTERNAL", "Internal error", "Internal error.");
    ALL.iter().find(|problem| problem.code == code).unwrap_or(&UNLISTED)
}

/// `GPU_ALLOTMENT_EXCEEDED` is at `/problems/gpu-allotment-exceeded`.
pub(super) fn slug(code: &str) -> String {
    code.to_ascii_lowercase().replace('_', "-")
}
