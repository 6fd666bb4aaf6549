//! Workspaces: the scope of keys, limits, quota and bills.

use crate::end_user::EndUserSettings;
use crate::ids::{OrganizationId, WorkspaceId};
use crate::limits::OwnPerMinute;
use crate::monthly_budget::{MonthlyBudget, OnBudget};
use crate::queue_weight::QueueWeight;
use crate::response_retention::ResponseRetention;
use crate::time::Timestamp;
use std::convert::Infallible;

/// One value for each limit of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitSet<T> {
    pub requests_per_minute: T,
    pub tokens_per_minute: T,
    pub monthly_tokens: T,
    pub max_api_keys: T,
}

/// Effective limits.
pub type Limits = LimitSet<u64>;

/// A workspace's own limits; `None` follows the configured default, also when that changes.
pub type OwnLimits = LimitSet<Option<u64>>;

impl<T> LimitSet<T> {
    /// Pairs each value with that of another set.
    pub fn zip<U>(self, other: LimitSet<U>) -> LimitSet<(T, U)> {
        LimitSet {
            requests_per_minute: (self.requests_per_minute, other.requests_per_minute),
            tokens_per_minute: (self.tokens_per_minute, other.tokens_per_minute),
            monthly_tokens: (self.monthly_tokens, other.monthly_tokens),
            max_api_keys: (self.max_api_keys, other.max_api_keys),
        }
    }

    /// Converts each value.
    pub fn map<U>(self, convert: impl Fn(T) -> U) -> LimitSet<U> {
        let Ok(converted) = self.try_map(|_, value| Ok::<_, Infallible>(convert(value)));
        converted
    }

    /// Converts each value, given the JSON name of its limit. Fails with the first error.
    pub fn try_map<U, E>(self, convert: impl Fn(&'static str, T) -> Result<U, E>) -> Result<LimitSet<U>, E> {
        Ok(LimitSet {
            requests_per_minute: convert("requestsPerMinute", self.requests_per_minute)?,
            tokens_per_minute: convert("tokensPerMinute", self.tokens_per_minute)?,
            monthly_tokens: convert("monthlyTokens", self.monthly_tokens)?,
            max_api_keys: convert("maxApiKeys", self.max_api_keys)?,
        })
    }
}

impl OwnLimits {
    /// These limits, with defaults for unset ones.
    pub fn over(&self, defaults: &Limits) -> Limits {
        self.zip(*defaults).map(|(own, default)| own.unwrap_or(default))
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
    pub monthly_usd: MonthlyBudget,
    pub on_budget: OnBudget,
    pub end_users: EndUserSettings,
    /// Whether its organization has a monthly budget. It is read with the workspace and not written.
    pub organization_has_budget: bool,
    /// What all workspaces of its organization may use in a minute. They are read with the workspace and not written.
    pub organization_per_minute: OwnPerMinute,
    /// How long responses are stored; `None` if they are not.
    pub response_retention: Option<ResponseRetention>,
    /// Set by the operator: its weight where calls wait.
    pub weight: QueueWeight,
    /// Incremented by every change; a change must name the version it read.
    pub version: u64,
    pub created_at: Timestamp,
}

impl Workspace {
    /// A workspace with the default limits.
    pub fn new(id: WorkspaceId, organization: OrganizationId, name: &str, created_at: Timestamp) -> Self {
        Self {
            id,
            organization,
            name: name.to_owned(),
            own: OwnLimits::default(),
            lowered: OwnLimits::default(),
            monthly_usd: MonthlyBudget::NONE,
            on_budget: OnBudget::default(),
            end_users: EndUserSettings::default(),
            organization_has_budget: false,
            organization_per_minute: OwnPerMinute::default(),
            response_retention: None,
            weight: QueueWeight::default(),
            version: 1,
            created_at,
        }
    }

    /// The operator's limits, or the defaults if unset.
    pub fn ceiling(&self, defaults: &Limits) -> Limits {
        self.own.over(defaults)
    }

    /// The effective limits.
    pub fn limits(&self, defaults: &Limits) -> Limits {
        self.stored_limits().over(defaults)
    }

    /// Whether a monthly budget bounds its calls.
    pub fn has_monthly_budget(&self) -> bool {
        self.organization_has_budget || self.monthly_usd.cap().is_some()
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
        self.own.over(defaults).zip(self.lowered).map(|(ceiling, lowered)| lower(ceiling, lowered))
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
