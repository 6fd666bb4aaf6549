//! Invitations: a link that adds a user to an organization, until it expires.

use crate::ids::{InvitationId, OrganizationId, UserId, WorkspaceId};
use crate::time::Timestamp;
use crate::user::{Email, Role};

/// Links are valid for 7 days.
pub const LIFETIME_MILLIS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// An invitation to an organization, with a role and workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub id: InvitationId,
    pub organization: OrganizationId,
    pub email: Email,
    pub role: Role,
    pub workspaces: Vec<WorkspaceId>,
    pub created_at: Timestamp,
    pub created_by: Option<UserId>,
    pub expires_at: Timestamp,
    pub accepted_at: Option<Timestamp>,
}

impl Invitation {
    /// Whether it can still be accepted.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.accepted_at.is_none() && now < self.expires_at
    }
}
