//! Who calls: exactly one workspace answers for every request.

use crate::ids::{OrganizationId, WorkspaceId};
use crate::limits::OwnPerMinute;
use crate::usage::Actor;
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
