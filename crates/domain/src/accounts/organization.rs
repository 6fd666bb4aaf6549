//! Organizations: they hold GPU allotments, members and workspaces.

use crate::ids::OrganizationId;
use crate::time::Timestamp;

/// An organization.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    pub id: OrganizationId,
    pub name: String,
    /// The most workspaces that its administrators may create; `None` follows the configured default.
    pub max_workspaces: Option<u64>,
    pub created_at: Timestamp,
}
