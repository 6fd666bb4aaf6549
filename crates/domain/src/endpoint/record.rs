//! The record of an endpoint, as it is remembered and as `/v1/endpoints` shows it.

use super::generation::Generation;
use super::labels::Labels;
use super::name::EndpointName;
use super::replica::Status;
use super::scaling::{Mode, Scaling, Target};
use super::shape::Shape;
use super::state::{Standing, State, StateReason};
use crate::gpu_type::GpuType;
use crate::ids::{EndpointId, OrganizationId, WorkspaceId};
use crate::model::ModelId;
use crate::time::Timestamp;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub id: EndpointId,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub name: EndpointName,
    pub model: ModelId,
    pub shape: Shape,
    pub scaling: Scaling,
    pub state: State,
    pub reason: StateReason,
    pub message: String,
    pub state_since: Timestamp,
    /// When somebody last wanted it to start. Failures before that count no more.
    pub started_at: Timestamp,
    /// How many replicas there should be, and what those that are there do.
    pub status: Status,
    pub committed_gpus: u32,
    pub last_request_at: Option<Timestamp>,
    pub labels: Labels,
    /// A user's id, a key's, or who else.
    pub created_by: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub generation: Generation,
}

impl Endpoint {
    pub const fn gpu_type(&self) -> &GpuType {
        &self.shape.flavor.gpu_type
    }

    pub const fn gpu_count(&self) -> u32 {
        self.shape.flavor.gpu_count
    }

    pub const fn standing(&self) -> Standing {
        Standing {
            state: self.state,
            reason: self.reason,
            scaling: self.scaling,
            gpu_count: self.gpu_count(),
            desired: self.status.desired,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    id: &'a EndpointId,
    object: &'static str,
    name: &'a EndpointName,
    model_id: String,
    model: &'a str,
    organization_id: &'a OrganizationId,
    workspace_id: &'a WorkspaceId,
    flavor: &'a str,
    hardware: Hardware<'a>,
    replicas: Option<u32>,
    min_replicas: Option<u32>,
    max_replicas: Option<u32>,
    autoscaling_metric: &'static str,
    autoscaling_target: TargetView,
    scale_to_zero_window_seconds: u32,
    scale_up_window_seconds: u32,
    scale_down_window_seconds: u32,
    state: &'static str,
    state_reason: &'static str,
    state_message: &'a str,
    state_since: Timestamp,
    status: Status,
    committed_gpus: u32,
    last_request_at: Option<Timestamp>,
    labels: &'a Labels,
    created_by: &'a str,
    created_at: Timestamp,
    updated_at: Timestamp,
    generation: Generation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hardware<'a> {
    gpu_type: &'a GpuType,
    gpu_count: u32,
    precision: &'a str,
}

/// A whole number of calls, or a fraction of the cache.
#[derive(Serialize)]
#[serde(untagged)]
enum TargetView {
    Calls(u32),
    Fraction(f64),
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (replicas, min_replicas, max_replicas) = match self.scaling.mode {
            Mode::Fixed { replicas } => (Some(replicas), None, None),
            Mode::Autoscaled { min, max } => (None, Some(min), Some(max)),
        };
        let flavor = &self.shape.flavor;
        let view = View {
            id: &self.id,
            object: "endpoint",
            name: &self.name,
            model_id: self.name.model_id().to_string(),
            model: self.model.as_str(),
            organization_id: &self.organization,
            workspace_id: &self.workspace,
            flavor: &flavor.name,
            hardware: Hardware {
                gpu_type: &flavor.gpu_type,
                gpu_count: flavor.gpu_count,
                precision: &flavor.precision,
            },
            replicas,
            min_replicas,
            max_replicas,
            autoscaling_metric: self.scaling.target.metric().as_str(),
            autoscaling_target: match self.scaling.target {
                Target::Concurrency(calls) => TargetView::Calls(calls),
                Target::KvCacheUsage(milli) => TargetView::Fraction(f64::from(milli) / 1_000.0),
            },
            scale_to_zero_window_seconds: self.scaling.windows.to_zero_secs,
            scale_up_window_seconds: self.scaling.windows.up_secs,
            scale_down_window_seconds: self.scaling.windows.down_secs,
            state: self.state.as_str(),
            state_reason: self.reason.as_str(),
            state_message: &self.message,
            state_since: self.state_since,
            status: self.status,
            committed_gpus: self.committed_gpus,
            last_request_at: self.last_request_at,
            labels: &self.labels,
            created_by: &self.created_by,
            created_at: self.created_at,
            updated_at: self.updated_at,
            generation: self.generation,
        };
        view.serialize(serializer)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
