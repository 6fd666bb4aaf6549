//! Records in responses.

use control::endpoints::{FlavorLine, UsageReport};
use domain::endpoint::event::{Actor, Event};
use domain::endpoint::replica::{Replica, Status};
use domain::endpoint::scaling::{Mode, Target};
use domain::endpoint::{Generation, State};
use domain::gpu_time::UsageLine;
use domain::{Endpoint, Grain, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;
use view::AllotmentView;

/// Lists, one type each, so that each has its name in `/openapi.json`.
macro_rules! lists {
    ($($list:ident of $item:ty),* $(,)?) => {$(
        #[derive(Serialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub(crate) struct $list {
            /// `list`
            object: &'static str,
            data: Vec<$item>,
            /// Where the next page begins; null at the end.
            next_cursor: Option<String>,
        }

        impl $list {
            pub(crate) fn new<T: Into<$item>>(rows: Vec<T>, next_cursor: Option<String>) -> Self {
                Self { object: "list", data: rows.into_iter().map(T::into).collect(), next_cursor }
            }
        }
    )*};
}

lists!(
    EventList of EventView,
    ReplicaList of ReplicaView,
    FlavorList of FlavorView,
    AllotmentList of AllotmentView,
);

/// A page of endpoints.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndpointList {
    /// `list`
    object: &'static str,
    data: Vec<EndpointView>,
    /// Where the next page begins; null at the end.
    next_cursor: Option<String>,
    /// The number of endpoints on all pages; only if the request has `count=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total: Option<u64>,
}

impl EndpointList {
    pub(crate) fn new(rows: Vec<Endpoint>, next_cursor: Option<String>, total: Option<u64>) -> Self {
        Self { object: "list", data: rows.into_iter().map(EndpointView::from).collect(), next_cursor, total }
    }
}

/// A dedicated endpoint.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Endpoint)]
pub(crate) struct EndpointView {
    id: String,
    /// `endpoint`
    object: &'static str,
    name: String,
    /// The `model` of calls to it.
    #[schema(example = "dedicated/chat-prod")]
    model_id: String,
    model: String,
    organization_id: String,
    workspace_id: String,
    flavor: String,
    hardware: HardwareView,
    /// Set if the number is fixed; then the next two are null.
    replicas: Option<u32>,
    min_replicas: Option<u32>,
    max_replicas: Option<u32>,
    autoscaling_metric: &'static str,
    #[schema(value_type = f64)]
    autoscaling_target: TargetView,
    scale_to_zero_window_seconds: u32,
    scale_up_window_seconds: u32,
    scale_down_window_seconds: u32,
    /// `provisioning`, `serving`, `scaled-to-zero`, `suspended`, `failed` or `deleting`.
    state: &'static str,
    state_reason: &'static str,
    state_message: String,
    #[schema(value_type = String, format = DateTime)]
    state_since: Timestamp,
    status: StatusView,
    committed_gpus: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_request_at: Option<Timestamp>,
    labels: BTreeMap<String, String>,
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    #[schema(value_type = u64)]
    generation: Generation,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndpointHardware)]
struct HardwareView {
    gpu_type: String,
    gpu_count: u32,
    precision: String,
}

/// A whole number of calls, or a fraction of the cache.
#[derive(Serialize)]
#[serde(untagged)]
enum TargetView {
    Calls(u32),
    Fraction(f64),
}

/// The current replicas, by state.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointStatus)]
struct StatusView {
    desired: u32,
    pending: u32,
    starting: u32,
    ready: u32,
    draining: u32,
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        let Status { desired, pending, starting, ready, draining } = status;
        Self { desired, pending, starting, ready, draining }
    }
}

impl From<Endpoint> for EndpointView {
    fn from(endpoint: Endpoint) -> Self {
        let (replicas, min_replicas, max_replicas) = match endpoint.scaling.mode {
            Mode::Fixed { replicas } => (Some(replicas), None, None),
            Mode::Autoscaled { min, max } => (None, Some(min), Some(max)),
        };
        let flavor = endpoint.shape.flavor;
        Self {
            id: endpoint.id.to_string(),
            object: "endpoint",
            name: endpoint.name.to_string(),
            model_id: endpoint.name.model_id().to_string(),
            model: endpoint.model.to_string(),
            organization_id: endpoint.organization.to_string(),
            workspace_id: endpoint.workspace.to_string(),
            flavor: flavor.name,
            hardware: HardwareView {
                gpu_type: flavor.gpu_type.to_string(),
                gpu_count: flavor.gpu_count,
                precision: flavor.precision,
            },
            replicas,
            min_replicas,
            max_replicas,
            autoscaling_metric: endpoint.scaling.target.metric().as_str(),
            autoscaling_target: match endpoint.scaling.target {
                Target::Concurrency(calls) => TargetView::Calls(calls),
                Target::KvCacheUsage(milli) => TargetView::Fraction(f64::from(milli) / 1_000.0),
            },
            scale_to_zero_window_seconds: endpoint.scaling.windows.to_zero_secs,
            scale_up_window_seconds: endpoint.scaling.windows.up_secs,
            scale_down_window_seconds: endpoint.scaling.windows.down_secs,
            state: endpoint.state.as_str(),
            state_reason: endpoint.reason.as_str(),
            state_message: endpoint.message,
            state_since: endpoint.state_since,
            status: endpoint.status.into(),
            committed_gpus: endpoint.committed_gpus,
            last_request_at: endpoint.last_request_at,
            labels: endpoint.labels,
            created_by: endpoint.created_by,
            created_at: endpoint.created_at,
            updated_at: endpoint.updated_at,
            generation: endpoint.generation,
        }
    }
}

/// The record of an endpoint as JSON. A replayed response repeats these bytes.
pub(crate) fn encode(endpoint: &Endpoint) -> String {
    serde_json::to_string(&EndpointView::from(endpoint.clone())).expect("a record has only text keys")
}

/// Members of an encoded record that its response's headers repeat.
#[derive(Deserialize)]
pub(crate) struct EncodedRecord {
    pub(crate) name: String,
    pub(crate) generation: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndpointEvent)]
pub(crate) struct EventView {
    id: String,
    #[schema(example = "endpoint.created")]
    r#type: &'static str,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    actor: ActorView,
    from: Option<&'static str>,
    to: Option<&'static str>,
    reason: String,
    message: String,
    replica_id: Option<String>,
    #[schema(value_type = Object)]
    data: Box<RawValue>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = EndpointActor)]
struct ActorView {
    /// `user`, `api-key` or `system`.
    kind: &'static str,
    id: String,
}

impl From<Actor> for ActorView {
    fn from(actor: Actor) -> Self {
        Self { kind: actor.kind(), id: actor.id().to_owned() }
    }
}

impl From<Event> for EventView {
    fn from(event: Event) -> Self {
        Self {
            id: event.id.to_string(),
            r#type: event.kind.as_str(),
            at: event.at,
            actor: event.actor.into(),
            from: event.from.map(State::as_str),
            to: event.to.map(State::as_str),
            reason: event.reason,
            message: event.message,
            replica_id: event.replica.map(|id| id.to_string()),
            data: RawValue::from_string(event.data).unwrap_or_else(|_| RawValue::NULL.to_owned()),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndpointReplica)]
pub(crate) struct ReplicaView {
    id: String,
    /// `pending`, `bound`, `starting`, `ready`, `draining`, `released` or `failed`.
    state: &'static str,
    gpu_ids: Vec<String>,
    node: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    last_error: Option<String>,
    log_tail: String,
}

impl From<Replica> for ReplicaView {
    fn from(replica: Replica) -> Self {
        Self {
            id: replica.id.to_string(),
            state: replica.state().as_str(),
            gpu_ids: replica.gpu_ids,
            node: replica.node,
            started_at: replica.started_at,
            last_error: replica.last_error,
            log_tail: replica.log_tail,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FlavorLine)]
pub(crate) struct FlavorView {
    flavor: String,
    gpu_type: String,
    gpu_count: u32,
    precision: String,
    engine: &'static str,
    /// Null when the ledger cannot be read.
    fits: Option<bool>,
    replicas_that_fit: Option<u64>,
    default_target: u32,
    /// Decimal text in USD.
    price_per_gpu_hour: String,
}

impl From<FlavorLine> for FlavorView {
    fn from(line: FlavorLine) -> Self {
        Self {
            flavor: line.flavor,
            gpu_type: line.gpu_type.to_string(),
            gpu_count: line.gpu_count,
            precision: line.precision,
            engine: line.engine,
            fits: line.fits,
            replicas_that_fit: line.replicas_that_fit,
            default_target: line.default_target,
            price_per_gpu_hour: line.price_per_gpu_hour.to_string(),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndpointUsage)]
pub(crate) struct UsageView {
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// `hour` or `day`.
    granularity: &'static str,
    /// Decimal text.
    gpu_hours: String,
    /// Decimal text in USD.
    cost_usd: String,
    /// How busy the GPUs were: a fraction.
    utilization: f64,
    /// False if no window has a measurement: then `utilization` says nothing.
    utilization_measured: bool,
    data: Vec<UsageLineView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndpointUsageLine)]
struct UsageLineView {
    #[schema(value_type = String, format = DateTime)]
    start: Timestamp,
    gpu_hours: String,
    cost_usd: String,
    utilization: f64,
    utilization_measured: bool,
}

impl From<UsageLine> for UsageLineView {
    fn from(line: UsageLine) -> Self {
        Self {
            start: line.start,
            gpu_hours: line.gpu_time.to_string(),
            cost_usd: line.cost.to_string(),
            utilization: line.busy.fraction(),
            utilization_measured: line.is_measured,
        }
    }
}

impl From<UsageReport> for UsageView {
    fn from(report: UsageReport) -> Self {
        Self {
            from: report.span.from,
            to: report.span.to,
            granularity: match report.grain {
                Grain::Hour => "hour",
                Grain::Day => "day",
            },
            gpu_hours: report.total.gpu_time.to_string(),
            cost_usd: report.total.cost.to_string(),
            utilization: report.total.busy.fraction(),
            utilization_measured: report.total.is_measured,
            data: report.lines.into_iter().map(UsageLineView::from).collect(),
        }
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
