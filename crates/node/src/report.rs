//! What a node reports about itself with its heartbeat, for the operator of all nodes.

use crate::clock;
use crate::downloads::DownloadReport;
use crate::health::Health;
use domain::Timestamp;
use domain::fair_queue::WaitingCalls;
use fleet::logs::{MachineLog, MachineLogs};
use fleet::weights::Downloads;
use fleet::{Endpoints, Route, Routes};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// The most logs that a node reports, the last written ones.
const MAX_LOGS: usize = 100;

/// The most queues that a node reports, the largest ones.
const MAX_QUEUES: usize = 100;

/// The state of a node at its last heartbeat.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    pub version: String,
    /// `ready`, `degraded`, `not_ready` or `draining`.
    pub status: String,
    /// Open calls, streams included; those that wait for a replica count, too.
    pub calls_in_flight: u64,
    /// Calls that wait for a replica.
    pub held_calls: u64,
    pub journal: JournalReport,
    pub store_latency_millis: Option<f64>,
    /// Null if limits are in memory, or Redis does not respond.
    pub redis_latency_millis: Option<f64>,
    /// How far the clock of the node is ahead of the store's.
    pub clock_skew_millis: Option<i64>,
    /// The parts of `/readyz`.
    pub parts: Vec<PartReport>,
    /// The GPUs and slots of its machine.
    pub gpus: Vec<GpuReport>,
    /// The logs of engines on its machine. Older versions do not report them.
    #[serde(default)]
    pub logs: Vec<LogReport>,
    /// The downloads of weights to its machine. Older versions do not report them.
    #[serde(default)]
    pub downloads: Vec<DownloadReport>,
    /// Whether it calls replicas with their keys. Older versions do not.
    #[serde(default)]
    pub replica_keys: bool,
    /// The calls that wait at the node, most tokens first. Older versions do not report them.
    #[serde(default)]
    pub queues: Vec<QueueReport>,
}

/// A log of the node's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogReport {
    /// A replica, or an engine of a serverless model, such as `acme/tiny#1`.
    pub name: String,
    /// Without the parts that were rotated away.
    pub bytes: u64,
    #[schema(value_type = String, format = DateTime)]
    pub written_at: Timestamp,
}

impl From<MachineLog> for LogReport {
    fn from(MachineLog { name, bytes, written_at }: MachineLog) -> Self {
        Self { name, bytes, written_at }
    }
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JournalReport {
    /// Usage events that wait for the store.
    pub waiting_bytes: u64,
    pub max_bytes: u64,
}

/// The waiting calls of a workspace at a model, in one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueReport {
    /// A model of the catalogue, or a dedicated endpoint of the workspace.
    pub model: String,
    /// `interactive`, `flex` or `batch`; in this order they are served.
    pub class: String,
    pub workspace_id: String,
    /// The weight of the workspace.
    pub weight: u16,
    pub calls: u64,
    /// What they will probably cost.
    pub tokens: u64,
    /// When the first of them began to wait. Older versions do not report it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub waiting_since: Option<Timestamp>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PartReport {
    pub name: String,
    /// `ok`, `degraded` or `unavailable`.
    pub status: String,
    /// Empty if the part is ok.
    pub why: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuReport {
    pub id: String,
    pub gpu_type: String,
    /// Whether a process computes on it.
    pub busy: bool,
    /// The share of the last moments in which it computed; null for slots, and for GPUs that do not report it.
    #[serde(default)]
    pub busy_percent: Option<u32>,
    /// Null as above.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
}

/// Observes this node.
pub struct NodeReporter {
    /// Version, commit and kind of this build.
    pub version: &'static str,
    pub health: Arc<Health>,
    pub routes: Routes,
    pub endpoints: Endpoints,
    /// The logs of this machine, with its GPUs.
    pub logs: MachineLogs,
    pub downloads: Arc<Downloads>,
}

impl NodeReporter {
    /// The report as JSON.
    pub async fn report(&self) -> String {
        let process = &self.logs.process;
        let (devices, shares, memory) = tokio::join!(process.devices(), process.gpu_busy(), process.gpu_memory());
        let gpus = devices.into_iter().map(|device| GpuReport {
            busy_percent: shares.iter().find(|(id, _)| *id == device.id).map(|(_, percent)| *percent),
            memory_bytes: memory.iter().find(|gpu| gpu.id == device.id).map(|gpu| gpu.total_bytes),
            id: device.id.to_string(),
            gpu_type: device.gpu_type,
            busy: device.busy,
        });
        let mut logs = self.logs.list().await;
        logs.sort_by_key(|log| Reverse(log.written_at));
        logs.truncate(MAX_LOGS);
        let logs = logs.into_iter().map(LogReport::from).collect();
        let downloads = self.downloads.list().await.iter().map(|entry| DownloadReport::from(&**entry)).collect();
        let report = self.observe(gpus.collect(), logs, downloads);
        serde_json::to_string(&report).expect("a report has only text keys")
    }

    /// The largest queues of this node.
    fn queues(&self) -> Vec<QueueReport> {
        let mut all: Vec<QueueReport> = self.routes.table().iter().flat_map(|route| reports_of(route)).collect();
        all.extend(self.endpoints.all().iter().flat_map(|endpoint| reports_of(&endpoint.view().route)));
        all.sort_by_key(|queue| Reverse(queue.tokens));
        all.truncate(MAX_QUEUES);
        all
    }

    fn observe(&self, gpus: Vec<GpuReport>, logs: Vec<LogReport>, downloads: Vec<DownloadReport>) -> NodeReport {
        let (seen, report) = self.health.check();
        let serverless = self.routes.table().replicas().map(|(_, backend)| u64::from(backend.in_flight())).sum::<u64>();
        let endpoints = self.endpoints.all();
        let dedicated = endpoints.iter().map(|endpoint| u64::from(endpoint.open_calls())).sum::<u64>();
        let parts = report.parts().map(|(name, part)| PartReport {
            name: name.to_owned(),
            status: part.status().to_owned(),
            why: part.why().to_owned(),
        });
        NodeReport {
            version: self.version.to_owned(),
            status: report.status().to_owned(),
            calls_in_flight: serverless + dedicated,
            held_calls: endpoints.iter().map(|endpoint| u64::from(endpoint.held())).sum(),
            journal: JournalReport { waiting_bytes: seen.journal.level.waiting, max_bytes: seen.journal.max },
            store_latency_millis: self.health.node.cluster().store_latency.map(millis),
            redis_latency_millis: self.health.limits.as_ref().and_then(|limits| limits.latency()).map(millis),
            clock_skew_millis: seen.clock_skew_millis,
            parts: parts.collect(),
            gpus,
            logs,
            downloads,
            replica_keys: true,
            queues: self.queues(),
        }
    }
}

fn reports_of(route: &Route) -> Vec<QueueReport> {
    let waiting = route.pool.queue().waiting().into_iter();
    let moment = |since: Instant| {
        let millis = i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
        clock::now().plus_millis(-millis)
    };
    let report = |waiting: WaitingCalls| QueueReport {
        model: route.model.id.to_string(),
        class: waiting.class.to_string(),
        workspace_id: waiting.workspace.to_string(),
        weight: waiting.weight.get(),
        calls: waiting.calls as u64,
        tokens: waiting.tokens,
        waiting_since: Some(moment(waiting.since)),
    };
    waiting.map(report).collect()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
