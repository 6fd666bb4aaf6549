//! The event log of an endpoint.

use super::state::State;
use crate::ids::{EndpointId, EventId, KeyId, ReplicaId, UserId};
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    Created,
    Updated,
    Suspended,
    Resumed,
    Deleting,
    Deleted,
    StateChanged,
    Scaled,
    ReplicaBound,
    ReplicaReady,
    ReplicaFailed,
    ReplicaDrained,
    ReplicaReleased,
    AllotmentRejected,
    MetricsMissing,
    MetricsRecovered,
}

impl EventType {
    pub const ALL: [Self; 16] = [
        Self::Created,
        Self::Updated,
        Self::Suspended,
        Self::Resumed,
        Self::Deleting,
        Self::Deleted,
        Self::StateChanged,
        Self::Scaled,
        Self::ReplicaBound,
        Self::ReplicaReady,
        Self::ReplicaFailed,
        Self::ReplicaDrained,
        Self::ReplicaReleased,
        Self::AllotmentRejected,
        Self::MetricsMissing,
        Self::MetricsRecovered,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "endpoint.created",
            Self::Updated => "endpoint.updated",
            Self::Suspended => "endpoint.suspended",
            Self::Resumed => "endpoint.resumed",
            Self::Deleting => "endpoint.deleting",
            Self::Deleted => "endpoint.deleted",
            Self::StateChanged => "endpoint.state-changed",
            Self::Scaled => "endpoint.scaled",
            Self::ReplicaBound => "replica.bound",
            Self::ReplicaReady => "replica.ready",
            Self::ReplicaFailed => "replica.failed",
            Self::ReplicaDrained => "replica.drained",
            Self::ReplicaReleased => "replica.released",
            Self::AllotmentRejected => "allotment.rejected",
            Self::MetricsMissing => "autoscaler.metrics-missing",
            Self::MetricsRecovered => "autoscaler.metrics-recovered",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Who caused an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    User(UserId),
    ApiKey(KeyId),
    /// The service or its operator; the text names the part, such as `reconciler`.
    System(String),
}

impl Actor {
    pub fn system(part: &str) -> Self {
        Self::System(part.to_owned())
    }

    pub const fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::ApiKey(_) => "api-key",
            Self::System(_) => "system",
        }
    }

    pub fn id(&self) -> &str {
        match self {
            Self::User(id) => id.as_str(),
            Self::ApiKey(id) => id.as_str(),
            Self::System(part) => part,
        }
    }

    pub fn parse(kind: &str, id: &str) -> Option<Self> {
        match kind {
            "user" => UserId::parse(id).ok().map(Self::User),
            "api-key" => KeyId::parse(id).ok().map(Self::ApiKey),
            "system" => Some(Self::system(id)),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub endpoint: EndpointId,
    pub kind: EventType,
    pub at: Timestamp,
    pub actor: Actor,
    pub from: Option<State>,
    pub to: Option<State>,
    pub reason: String,
    pub message: String,
    pub replica: Option<ReplicaId>,
    /// The numbers behind the message: the text of a JSON object.
    pub data: String,
}

impl Event {
    pub fn new(id: EventId, endpoint: EndpointId, kind: EventType, actor: Actor, at: Timestamp) -> Self {
        Self {
            id,
            endpoint,
            kind,
            at,
            actor,
            from: None,
            to: None,
            reason: String::new(),
            message: String::new(),
            replica: None,
            data: "{}".to_owned(),
        }
    }
}
