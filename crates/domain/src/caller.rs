//! Who calls: exactly one workspace answers for every request.

use crate::ids::{OrganizationId, WorkspaceId};
use crate::limits::OwnPerMinute;
use crate::usage::Actor;
use crate::workspace::Settings;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// What was set for the workspace; the rest follows the defaults.
    pub workspace_settings: Settings,
    /// The key's own limits, inside those of the workspace.
    pub key_limits: OwnPerMinute,
}

impl Caller {
    /// A caller who has no limits of its own.
    pub fn new(organization: OrganizationId, workspace: WorkspaceId, actor: Actor) -> Self {
        let (workspace_settings, key_limits) = (Settings::default(), OwnPerMinute::default());
        Self { organization, workspace, actor, workspace_settings, key_limits }
    }
}
