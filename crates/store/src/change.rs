//! A change that other nodes are notified of.

use domain::{EndpointId, OrganizationId, Segment, UserId, WorkspaceId};

/// The subject that was created, changed or removed. A node that learns of it reads the subject again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Key(Segment),
    Workspace(WorkspaceId),
    Organization(OrganizationId),
    User(UserId),
    Endpoint(EndpointId),
    /// A model or an alias of the catalogue in the store.
    Catalogue,
    /// Changes were missed, or written by a newer version: everything cached must be read again.
    Everything,
}

impl Change {
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Workspace(_) => "workspace",
            Self::Organization(_) => "organization",
            Self::User(_) => "user",
            Self::Endpoint(_) => "endpoint",
            Self::Catalogue => "catalogue",
            Self::Everything => "everything",
        }
    }

    pub(crate) fn subject(&self) -> &str {
        match self {
            Self::Key(segment) => segment.as_str(),
            Self::Workspace(id) => id.as_str(),
            Self::Organization(id) => id.as_str(),
            Self::User(id) => id.as_str(),
            Self::Endpoint(id) => id.as_str(),
            Self::Catalogue | Self::Everything => "",
        }
    }

    pub(crate) fn parse(kind: &str, subject: &str) -> Self {
        let known = match kind {
            "key" => Segment::parse(subject).map(Self::Key),
            "workspace" => WorkspaceId::parse(subject).ok().map(Self::Workspace),
            "organization" => OrganizationId::parse(subject).ok().map(Self::Organization),
            "user" => UserId::parse(subject).ok().map(Self::User),
            "endpoint" => EndpointId::parse(subject).ok().map(Self::Endpoint),
            "catalogue" => Some(Self::Catalogue),
            _ => None,
        };
        known.unwrap_or(Self::Everything)
    }
}
