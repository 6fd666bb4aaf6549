//! Every problem there is: its code, its title, and what its page says.

/// What a problem is called and what to do about it.
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
        "The request has no credential that is good here: none at all, one that is malformed, unknown, revoked, disabled or expired, or a key of another workspace. Check the Authorization header.",
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
    problem("NOT_A_MEMBER", "Not a member", "The signed-in user is no member of the workspace that was named."),
    problem(
        "WRONG_WORKSPACE",
        "Owned by another workspace",
        "Another workspace of the organization owns the endpoint. Switch to it.",
    ),
    problem(
        "CSRF_FAILED",
        "CSRF token missing",
        "A session that changes something sends its own token in X-CSRF-Token.",
    ),
    problem("ROUTE_NOT_FOUND", "No such route", "There is no route with this path under /v1/endpoints."),
    problem("METHOD_NOT_ALLOWED", "Method not allowed", "The route takes other methods; the header Allow names them."),
    problem("REQUEST_TIMEOUT", "Request timeout", "The request took too long to arrive. Send it again."),
    problem("PAYLOAD_TOO_LARGE", "Payload too large", "The body is larger than is read here."),
    problem("UNSUPPORTED_MEDIA_TYPE", "Unsupported media type", "Send application/json, plain or packed with gzip."),
    problem("HEADERS_TOO_LARGE", "Headers too large", "The request has more than 32 KiB of headers."),
    problem("ENDPOINT_NOT_FOUND", "No such endpoint", "No endpoint has this name or id. It may have been deleted."),
    problem("MODEL_NOT_FOUND", "No such model", "The catalogue has no such model; GET /v1/models lists it."),
    problem(
        "ENDPOINT_NAME_IN_USE",
        "Endpoint name in use",
        "Names are unique in an organization. A deleted endpoint frees its name when its last replica is gone.",
    ),
    problem(
        "ENDPOINT_MODIFIED",
        "Endpoint modified",
        "The endpoint was changed since it was read. Read it again and send its ETag in If-Match.",
    ),
    problem("ENDPOINT_DELETING", "Endpoint is being deleted", "What is being deleted cannot be changed any more."),
    problem(
        "IDEMPOTENCY_IN_PROGRESS",
        "Same request in progress",
        "A request with the same Idempotency-Key is still being answered. Wait a moment and send it again.",
    ),
    problem(
        "IDEMPOTENCY_KEY_REUSED",
        "Idempotency key reused",
        "The Idempotency-Key was used for another request in the last 24 hours. Use a new one.",
    ),
    problem(
        "GPU_ALLOTMENT_EXCEEDED",
        "GPU allotment exceeded",
        "The organization would commit more GPUs of this type than it is allotted. Nothing was changed. Ask for fewer replicas, a lower ceiling or, for a new endpoint, a smaller flavor; or suspend or delete what is not needed.",
    ),
    problem(
        "GPU_ALLOTMENT_UNAVAILABLE",
        "GPU allotment could not be checked",
        "The check itself could not be made. Nothing was changed, and nothing is known to be exceeded. Retry.",
    ),
    problem(
        "FLAVOR_NOT_OFFERED",
        "Flavor not offered",
        "The model is not offered in this flavor; GET /v1/endpoints/flavors?model= lists those it has.",
    ),
    problem(
        "METRIC_NOT_SUPPORTED",
        "Metric not supported",
        "The engine of the flavor does not tell its KV-cache utilization. Use the metric concurrency.",
    ),
    problem(
        "OUT_OF_RANGE",
        "Out of range",
        "A value does not go with those that the endpoint already has: it is out of the range they leave.",
    ),
    problem("INVALID_FORMAT", "Invalid format", "A value does not have the form that its field needs."),
    problem(
        "INVALID_COMBINATION",
        "Invalid combination",
        "A value does not go with those that the endpoint already has, such as a minReplicas above its maxReplicas.",
    ),
    problem("INTERNAL", "Internal error", "Something went wrong on our side; the log has the cause."),
    problem("DATABASE_UNAVAILABLE", "Database unavailable", "The database cannot be reached right now. Retry."),
];

/// A code that is not listed is a fault of ours, and still a problem with a page.
pub(super) fn of(code: &str) -> &'static Problem {
    const UNLISTED: Problem = problem("INTERNAL", "Internal error", "Something went wrong on our side.");
    ALL.iter().find(|problem| problem.code == code).unwrap_or(&UNLISTED)
}

/// `GPU_ALLOTMENT_EXCEEDED` is at `/problems/gpu-allotment-exceeded`.
pub(super) fn slug(code: &str) -> String {
    code.to_ascii_lowercase().replace('_', "-")
}
