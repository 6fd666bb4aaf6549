//! Workspaces: the scope of keys, limits, quota and bills.

use crate::ids::{OrganizationId, WorkspaceId};
use crate::time::Timestamp;

/// Limits that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub requests_per_minute: u64,
    pub tokens_per_minute: u64,
    pub monthly_tokens: u64,
    pub max_api_keys: u64,
}

/// A workspace's own values; what is absent follows the configured defaults live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnLimits {
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    pub monthly_tokens: Option<u64>,
    pub max_api_keys: Option<u64>,
}

impl OwnLimits {
    pub fn over(&self, defaults: &Limits) -> Limits {
        Limits {
            requests_per_minute: self.requests_per_minute.unwrap_or(defaults.requests_per_minute),
            tokens_per_minute: self.tokens_per_minute.unwrap_or(defaults.tokens_per_minute),
            monthly_tokens: self.monthly_tokens.unwrap_or(defaults.monthly_tokens),
            max_api_keys: self.max_api_keys.unwrap_or(defaults.max_api_keys),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub organization: OrganizationId,
    pub name: String,
    /// The operator's values: the most that may be in force.
    pub own: OwnLimits,
    /// What administrators of the organization have lowered.
    pub lowered: OwnLimits,
    /// Grows with every change; a change must name the version it read.
    pub version: u64,
    pub created_at: Timestamp,
}

impl Workspace {
    /// The operator's values, or the defaults where there are none.
    pub fn ceiling(&self, defaults: &Limits) -> Limits {
        self.own.over(defaults)
    }

    /// What is in force.
    pub fn limits(&self, defaults: &Limits) -> Limits {
        self.stored_limits().over(defaults)
    }

    pub const fn stored_limits(&self) -> StoredLimits {
        StoredLimits { own: self.own, lowered: self.lowered }
    }
}

/// What is kept of a workspace's limits; what is in force also depends on the defaults, which may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredLimits {
    pub own: OwnLimits,
    pub lowered: OwnLimits,
}

impl StoredLimits {
    /// The operator's values, or less where an administrator wants less.
    pub fn over(&self, defaults: &Limits) -> Limits {
        let ceiling = self.own.over(defaults);
        Limits {
            requests_per_minute: lower(ceiling.requests_per_minute, self.lowered.requests_per_minute),
            tokens_per_minute: lower(ceiling.tokens_per_minute, self.lowered.tokens_per_minute),
            monthly_tokens: lower(ceiling.monthly_tokens, self.lowered.monthly_tokens),
            max_api_keys: lower(ceiling.max_api_keys, self.lowered.max_api_keys),
        }
    }
}

/// The lesser of a limit and what somebody has lowered it to.
pub fn lower(ceiling: u64, lowered: Option<u64>) -> u64 {
    lowered.map_or(ceiling, |lowered| lowered.min(ceiling))
}

/// The name of an organization, a workspace or a key: something to show, on one line.
pub fn check_name(text: &str) -> Result<&str, NameError> {
    let trimmed = text.trim();
    let length = trimmed.chars().count();
    if (1..=100).contains(&length) && !trimmed.chars().any(char::is_control) {
        return Ok(trimmed);
    }
    Err(NameError)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 100 characters on one line")]
pub struct NameError;
