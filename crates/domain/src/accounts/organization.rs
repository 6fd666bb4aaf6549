//! Organizations: they hold GPU allotments, members and workspaces.

use crate::ids::OrganizationId;
use crate::time::Timestamp;

/// An organization.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    pub id: OrganizationId,
    pub name: String,
    pub created_at: Timestamp,
}
