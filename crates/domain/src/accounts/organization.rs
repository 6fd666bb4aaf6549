//! Organizations: they hold GPU allotments, members and workspaces.

use crate::ids::OrganizationId;
use crate::limits::OwnPerMinute;
use crate::monthly_budget::{MonthlyBudget, OnBudget};
use crate::time::Timestamp;

/// An organization.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    pub id: OrganizationId,
    pub name: String,
    /// The most workspaces that its administrators may create; `None` follows the configured default.
    pub max_workspaces: Option<u64>,
    /// The tokens that all its workspaces may use in a month; `None` bounds each workspace alone.
    pub monthly_tokens: Option<u64>,
    /// The most bytes of stored responses of all its workspaces; `None` follows the configured default.
    pub max_stored_bytes: Option<u64>,
    /// The requests of all its workspaces together, set by the operator; `None` bounds each workspace alone.
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    /// The budget of all its workspaces together.
    pub monthly_usd: MonthlyBudget,
    /// Set by administrators.
    pub on_budget: OnBudget,
    pub created_at: Timestamp,
}

impl Organization {
    /// An organization without bounds of its own.
    pub fn new(id: OrganizationId, name: &str, created_at: Timestamp) -> Self {
        Self {
            id,
            name: name.to_owned(),
            max_workspaces: None,
            monthly_tokens: None,
            max_stored_bytes: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            monthly_usd: MonthlyBudget::NONE,
            on_budget: OnBudget::default(),
            created_at,
        }
    }

    pub const fn per_minute(&self) -> OwnPerMinute {
        OwnPerMinute { requests: self.requests_per_minute, tokens: self.tokens_per_minute }
    }
}
