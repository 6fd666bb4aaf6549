//! The record of an endpoint.

use super::generation::Generation;
use super::labels::Labels;
use super::name::EndpointName;
use super::replica::Status;
use super::scaling::Scaling;
use super::shape::Shape;
use super::state::{State, StateInput, StateReason};
use crate::gpu_type::GpuType;
use crate::ids::{EndpointId, OrganizationId, WorkspaceId};
use crate::model::ModelId;
use crate::time::Timestamp;

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
    /// When it was last started by a user. Earlier failures no longer count.
    pub started_at: Timestamp,
    /// The desired number of replicas, and the current ones by state.
    pub status: Status,
    pub committed_gpus: u32,
    pub last_request_at: Option<Timestamp>,
    pub labels: Labels,
    /// The id of a user or of a key, or another author.
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

    pub const fn state_input(&self) -> StateInput {
        StateInput {
            state: self.state,
            reason: self.reason,
            scaling: self.scaling,
            gpu_count: self.gpu_count(),
            desired: self.status.desired,
        }
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
