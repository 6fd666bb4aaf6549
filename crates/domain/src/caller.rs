//! Who calls: exactly one workspace answers for every request.

use crate::ids::{OrganizationId, WorkspaceId};
use crate::usage::Actor;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
}
