//! The caller of a request: every request belongs to exactly one workspace.

use crate::ids::{KeyId, OrganizationId, UserId, WorkspaceId};
use crate::limits::OwnPerMinute;
use crate::workspace::StoredLimits;

/// The workspace, the actor and the limits of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// The workspace's stored limits; unset ones follow the defaults.
    pub workspace_limits: StoredLimits,
    /// The key's own limits, which apply in addition to the workspace's.
    pub key_limits: OwnPerMinute,
}

impl Caller {
    /// A caller without limits of its own.
    pub fn new(organization: OrganizationId, workspace: WorkspaceId, actor: Actor) -> Self {
        let (workspace_limits, key_limits) = (StoredLimits::default(), OwnPerMinute::default());
        Self { organization, workspace, actor, workspace_limits, key_limits }
    }
}

/// The key that made a call, or the signed-in user in the Playground.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    Key(KeyId),
    User(UserId),
}

impl Actor {
    /// Parses an id; its prefix decides the variant.
    pub fn parse(text: &str) -> Option<Self> {
        KeyId::parse(text).map(Self::Key).or_else(|_| UserId::parse(text).map(Self::User)).ok()
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Key(key) => key.as_str(),
            Self::User(user) => user.as_str(),
        }
    }
}
