//! The event log of an endpoint.

use super::state::State;
use crate::ids::{EndpointId, EventId, KeyId, ReplicaId, UserId};
use crate::named_enum;
use crate::time::Timestamp;

named_enum! {
    pub enum EventType {
        Created = "endpoint.created",
        Updated = "endpoint.updated",
        Suspended = "endpoint.suspended",
        Resumed = "endpoint.resumed",
        Deleting = "endpoint.deleting",
        Deleted = "endpoint.deleted",
        StateChanged = "endpoint.state-changed",
        Scaled = "endpoint.scaled",
        ReplicaBound = "replica.bound",
        ReplicaReady = "replica.ready",
        ReplicaFailed = "replica.failed",
        ReplicaDrained = "replica.drained",
        ReplicaReleased = "replica.released",
        AllotmentRejected = "allotment.rejected",
        MetricsMissing = "autoscaler.metrics-missing",
        MetricsRecovered = "autoscaler.metrics-recovered",
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
