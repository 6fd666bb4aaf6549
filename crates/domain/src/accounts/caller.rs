//! Who calls: exactly one workspace answers for every request.

use crate::ids::{KeyId, OrganizationId, UserId, WorkspaceId};
use crate::limits::OwnPerMinute;
use crate::workspace::StoredLimits;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// The workspace's own limits; what it has not follows the defaults.
    pub workspace_limits: StoredLimits,
    /// The key's own limits, inside those of the workspace.
    pub key_limits: OwnPerMinute,
}

impl Caller {
    /// A caller who has no limits of its own.
    pub fn new(organization: OrganizationId, workspace: WorkspaceId, actor: Actor) -> Self {
        let (workspace_limits, key_limits) = (StoredLimits::default(), OwnPerMinute::default());
        Self { organization, workspace, actor, workspace_limits, key_limits }
    }
}

/// Who made the call: a key, or a signed-in user in the Playground.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    Key(KeyId),
    User(UserId),
}

impl Actor {
    /// The prefix of an id says which of the two it is.
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
