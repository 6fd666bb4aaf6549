//! What `/openapi.json` says of this surface. The records are written elsewhere; here are their shapes.

use crate::view::AllotmentView;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Schema};
use utoipa::{OpenApi, ToSchema};

#[derive(OpenApi)]
#[openapi(
    paths(
        super::records::create,
        super::records::list,
        super::records::show,
        super::records::change,
        super::records::delete,
        super::records::suspend,
        super::records::resume,
        super::events::list,
        super::replicas::list,
        super::usage::show,
        super::flavors::list,
        super::allotments::list
    ),
    components(schemas(EndpointProblem, EndpointFault))
)]
struct Endpoints;

pub(crate) fn description() -> utoipa::openapi::OpenApi {
    let mut described = Endpoints::openapi();
    for (path, item) in &mut described.paths.paths {
        finish(path, item);
    }
    described
}

/// What every operation may answer and needs.
fn finish(path: &str, item: &mut PathItem) {
    let methods = [(true, &mut item.get), (false, &mut item.post), (false, &mut item.patch), (false, &mut item.delete)];
    for (is_read, operation) in methods {
        let Some(operation) = operation else { continue };
        let none = Vec::<String>::new;
        let session = SecurityRequirement::new("session", none());
        let session = if is_read { session } else { session.add("csrf", none()) };
        operation.security = Some(vec![SecurityRequirement::new("apiKey", none()), session]);
        add_refusals(path, operation, is_read);
    }
}

fn add_refusals(path: &str, operation: &mut Operation, is_read: bool) {
    const BOTH: &[&str] = &["EndpointFault", "EndpointProblem"];
    const SMALL: &[&str] = &["EndpointFault"];
    const PROBLEM: &[&str] = &["EndpointProblem"];
    let mut all = vec![
        ("400", "`MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR`", SMALL),
        ("401", "`UNAUTHENTICATED`: every bad credential alike", PROBLEM),
        (
            "403",
            "sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED`",
            PROBLEM,
        ),
        ("422", "`OUT_OF_RANGE`, `INVALID_FORMAT` and others", BOTH),
        ("431", "`HEADERS_TOO_LARGE`", PROBLEM),
        ("500", "`INTERNAL`", PROBLEM),
        ("503", "`DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After", PROBLEM),
    ];
    if path.contains('{') || path.ends_with("/flavors") || !is_read {
        all.push(("404", "`ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND`", PROBLEM));
    }
    if !is_read {
        all.push((
            "409",
            "`GPU_ALLOTMENT_EXCEEDED`, `ENDPOINT_NAME_IN_USE`, `ENDPOINT_MODIFIED`, `ENDPOINT_DELETING`, `IDEMPOTENCY_IN_PROGRESS`",
            PROBLEM,
        ));
        all.push(("408", "`REQUEST_TIMEOUT`", PROBLEM));
        all.push(("413", "`PAYLOAD_TOO_LARGE`", PROBLEM));
        all.push(("415", "`UNSUPPORTED_MEDIA_TYPE`", PROBLEM));
    }
    for (status, told, shapes) in all {
        let reference = |name: &&str| RefOr::<Schema>::Ref(Ref::from_schema_name(*name));
        let schema = match shapes {
            [one] => reference(one),
            several => {
                let any = several.iter().fold(AnyOfBuilder::new(), |any, name| any.item(reference(name)));
                RefOr::T(Schema::AnyOf(any.build()))
            }
        };
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response = ResponseBuilder::new().description(told).content("application/json", content).build();
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(response));
    }
}

/// A problem: RFC 7807's members, and more for programs.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what `error.rs` writes")]
struct EndpointProblem {
    /// A page about problems of this kind.
    r#type: String,
    title: String,
    status: u16,
    /// For people; it may change.
    detail: String,
    instance: String,
    extensions: EndpointExtensions,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what `error.rs` writes")]
struct EndpointExtensions {
    /// Stable, and made for programs.
    code: String,
    /// The rest is in a `GPU_ALLOTMENT_EXCEEDED`.
    #[schema(nullable = false)]
    gpu_type: Option<String>,
    #[schema(nullable = false)]
    allotment: Option<u64>,
    #[schema(nullable = false)]
    committed: Option<u64>,
    #[schema(nullable = false)]
    projected: Option<u64>,
    #[schema(nullable = false)]
    need: Option<u64>,
    #[schema(nullable = false)]
    remediation: Option<String>,
}

/// A fault that the request's bytes alone tell.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what `error.rs` writes")]
struct EndpointFault {
    /// Begins with the path of the field.
    detail: String,
    code: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what domain reads")]
pub(super) struct NewEndpoint {
    #[schema(pattern = "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$")]
    name: String,
    model: String,
    flavor: String,
    #[schema(inline)]
    #[serde(flatten)]
    scaling: Scaling,
    /// Texts by name.
    labels: Option<BTreeMap<String, Option<String>>>,
}

#[derive(ToSchema)]
#[schema(as = EndpointChange, rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what domain reads")]
pub(super) struct Change {
    #[schema(inline)]
    #[serde(flatten)]
    scaling: Scaling,
    /// What is null goes.
    labels: Option<BTreeMap<String, Option<String>>>,
}

/// Either `replicas`, or `minReplicas` and `maxReplicas`.
#[derive(ToSchema)]
#[schema(as = EndpointScaling, rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what domain reads")]
pub(super) struct Scaling {
    #[schema(minimum = 1, maximum = 64)]
    replicas: Option<u32>,
    #[schema(minimum = 0, maximum = 64)]
    min_replicas: Option<u32>,
    #[schema(minimum = 1, maximum = 64)]
    max_replicas: Option<u32>,
    /// `concurrency` or `kv-cache-utilization`.
    autoscaling_metric: Option<String>,
    /// Calls (1 to 1024), or a fraction of the cache (0.10 to 0.95).
    autoscaling_target: Option<f64>,
    #[schema(minimum = 60, maximum = 86400)]
    scale_to_zero_window_seconds: Option<u32>,
    #[schema(maximum = 3600)]
    scale_up_window_seconds: Option<u32>,
    #[schema(maximum = 3600)]
    scale_down_window_seconds: Option<u32>,
}

macro_rules! lists {
    ($($list:ident of $item:ty),* $(,)?) => {$(
        #[derive(ToSchema)]
        #[schema(rename_all = "camelCase")]
        #[expect(dead_code, reason = "it only describes what `ask.rs` writes")]
        pub(super) struct $list {
            /// `list`
            object: String,
            data: Vec<$item>,
            /// Where the next page begins; null at the end.
            next_cursor: Option<String>,
        }
    )*};
}

lists!(
    EndpointList of EndpointRecord,
    EventList of EndpointEvent,
    ReplicaList of EndpointReplica,
    FlavorList of FlavorLine,
    AllotmentList of AllotmentView,
);

/// A dedicated endpoint.
#[derive(ToSchema)]
#[schema(as = Endpoint, rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what domain writes")]
pub(super) struct EndpointRecord {
    id: String,
    /// `endpoint`
    object: String,
    name: String,
    /// What calls to it name as their model.
    #[schema(example = "dedicated/chat-prod")]
    model_id: String,
    model: String,
    organization_id: String,
    workspace_id: String,
    flavor: String,
    hardware: EndpointHardware,
    /// Set where the number is fixed; then the next two are null.
    replicas: Option<u32>,
    min_replicas: Option<u32>,
    max_replicas: Option<u32>,
    autoscaling_metric: String,
    autoscaling_target: f64,
    scale_to_zero_window_seconds: u32,
    scale_up_window_seconds: u32,
    scale_down_window_seconds: u32,
    /// `provisioning`, `serving`, `scaled-to-zero`, `suspended`, `failed` or `deleting`.
    state: String,
    state_reason: String,
    state_message: String,
    #[schema(format = DateTime)]
    state_since: String,
    status: EndpointStatus,
    committed_gpus: u32,
    #[schema(format = DateTime)]
    last_request_at: Option<String>,
    labels: BTreeMap<String, String>,
    created_by: String,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    generation: u64,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what domain writes")]
struct EndpointHardware {
    gpu_type: String,
    gpu_count: u32,
    precision: String,
}

/// What replicas really do.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what domain writes")]
struct EndpointStatus {
    desired: u32,
    pending: u32,
    starting: u32,
    ready: u32,
    draining: u32,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what domain writes")]
struct EndpointEvent {
    id: String,
    #[schema(example = "endpoint.created")]
    r#type: String,
    #[schema(format = DateTime)]
    at: String,
    actor: EndpointActor,
    from: Option<String>,
    to: Option<String>,
    reason: String,
    message: String,
    replica_id: Option<String>,
    #[schema(value_type = Object)]
    data: Value,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what domain writes")]
struct EndpointActor {
    /// `user`, `api-key` or `system`.
    kind: String,
    id: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what domain writes")]
struct EndpointReplica {
    id: String,
    /// `pending`, `bound`, `starting`, `ready`, `draining`, `released` or `failed`.
    state: String,
    gpu_ids: Vec<String>,
    node: Option<String>,
    #[schema(format = DateTime)]
    started_at: Option<String>,
    last_error: Option<String>,
    log_tail: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what control writes")]
struct FlavorLine {
    flavor: String,
    gpu_type: String,
    gpu_count: u32,
    precision: String,
    engine: String,
    /// Null when the ledger cannot be read.
    fits: Option<bool>,
    replicas_that_fit: Option<u64>,
    default_target: u32,
    /// Decimal text in USD.
    price_per_gpu_hour: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what control writes")]
pub(super) struct EndpointUsage {
    #[schema(format = DateTime)]
    from: String,
    #[schema(format = DateTime)]
    to: String,
    /// `hour` or `day`.
    granularity: String,
    /// Decimal text.
    gpu_hours: String,
    /// Decimal text in USD.
    cost_usd: String,
    /// How busy the GPUs were: a fraction.
    utilization: f64,
    data: Vec<EndpointUsageLine>,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes what control writes")]
struct EndpointUsageLine {
    #[schema(format = DateTime)]
    start: String,
    gpu_hours: String,
    cost_usd: String,
    utilization: f64,
}

#[cfg(test)]
mod tests {
    use super::super::route::Route;
    use super::*;
    use http::Method;

    #[test]
    fn the_router_knows_every_route_that_is_described_with_its_method() {
        for (path, item) in &description().paths.paths {
            let found = Route::of(path);
            assert_ne!(found, Route::Unknown, "{path}");
            for (method, described) in [
                (Method::GET, item.get.is_some()),
                (Method::POST, item.post.is_some()),
                (Method::PATCH, item.patch.is_some()),
                (Method::DELETE, item.delete.is_some()),
            ] {
                assert_eq!(found.takes(&method), described, "{method} {path}");
            }
        }
    }
}
