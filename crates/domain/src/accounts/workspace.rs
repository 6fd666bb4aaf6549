//! Workspaces: the scope of keys, limits, quota and bills.

use crate::ids::{OrganizationId, WorkspaceId};
use crate::time::Timestamp;

/// Effective limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub requests_per_minute: u64,
    pub tokens_per_minute: u64,
    pub monthly_tokens: u64,
    pub max_api_keys: u64,
}

/// A workspace's own limits; `None` follows the configured default, also when that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnLimits {
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    pub monthly_tokens: Option<u64>,
    pub max_api_keys: Option<u64>,
}

impl OwnLimits {
    /// These limits, with defaults for unset ones.
    pub fn over(&self, defaults: &Limits) -> Limits {
        Limits {
            requests_per_minute: self.requests_per_minute.unwrap_or(defaults.requests_per_minute),
            tokens_per_minute: self.tokens_per_minute.unwrap_or(defaults.tokens_per_minute),
            monthly_tokens: self.monthly_tokens.unwrap_or(defaults.monthly_tokens),
            max_api_keys: self.max_api_keys.unwrap_or(defaults.max_api_keys),
        }
    }
}

/// A workspace of an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub organization: OrganizationId,
    pub name: String,
    /// Set by the operator: the ceiling.
    pub own: OwnLimits,
    /// Lowered by administrators of the organization.
    pub lowered: OwnLimits,
    /// Incremented by every change; a change must name the version it read.
    pub version: u64,
    pub created_at: Timestamp,
}

impl Workspace {
    /// The operator's limits, or the defaults if unset.
    pub fn ceiling(&self, defaults: &Limits) -> Limits {
        self.own.over(defaults)
    }

    /// The effective limits.
    pub fn limits(&self, defaults: &Limits) -> Limits {
        self.stored_limits().over(defaults)
    }

    pub const fn stored_limits(&self) -> StoredLimits {
        StoredLimits { own: self.own, lowered: self.lowered }
    }
}

/// The stored limits of a workspace. The effective ones also depend on the defaults, which may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredLimits {
    pub own: OwnLimits,
    pub lowered: OwnLimits,
}

impl StoredLimits {
    /// The effective limits: the operator's, or lower if an administrator lowered them.
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

/// The smaller of a ceiling and a lowered value.
pub fn lower(ceiling: u64, lowered: Option<u64>) -> u64 {
    lowered.map_or(ceiling, |lowered| lowered.min(ceiling))
}

/// Checks and trims the display name of an organization, a workspace or a key.
pub fn check_name(text: &str) -> Result<&str, NameError> {
    let trimmed = text.trim();
    let length = trimmed.chars().count();
    if (1..=100).contains(&length) && !trimmed.chars().any(char::is_control) {
        return Ok(trimmed);
    }
    Err(NameError)
}

/// A name is empty, too long or has control characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name must have 1 to 100 characters on one line")]
pub struct NameError;
