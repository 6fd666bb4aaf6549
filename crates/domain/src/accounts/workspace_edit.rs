//! Rules for changing the limits of a workspace.
//!
//! Each limit has two stored values: the operator's ceiling, and the administrators' value, which can only lower it. An
//! administrator cannot exceed the ceiling. When the operator sets a limit, the administrators' value is dropped.

use crate::monthly_budget::MonthlyBudget;
use crate::organization::Organization;
use crate::response_retention::ResponseRetention;
use crate::workspace::{LimitSet, Limits, OwnLimits, Workspace, lower};

/// A requested change of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitChange {
    #[default]
    Keep,
    /// Follow the next level: the operator's value, or the configured default.
    Follow,
    Set(u64),
}

impl LimitChange {
    /// The value after the change; `None` follows the next level.
    pub const fn apply(self, current: Option<u64>) -> Option<u64> {
        match self {
            Self::Keep => current,
            Self::Follow => None,
            Self::Set(value) => Some(value),
        }
    }
}

/// Requested changes of all limits.
pub type LimitChanges = LimitSet<LimitChange>;

/// A requested change of how long responses are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetentionChange {
    #[default]
    Keep,
    /// `None` stops storing them.
    Set(Option<ResponseRetention>),
}

impl RetentionChange {
    pub const fn apply(self, current: Option<ResponseRetention>) -> Option<ResponseRetention> {
        match self {
            Self::Keep => current,
            Self::Set(retention) => retention,
        }
    }
}

/// An administrator tried to raise a limit above the ceiling. `field` is its JSON name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("only the operator may raise this limit above {ceiling}")]
pub struct OperatorOnlyError {
    pub field: &'static str,
    pub ceiling: u64,
}

/// The limits with which the workspace of an administrator starts: the defaults, but no more than the operator leaves to
/// any workspace that the organization has, and to the organization itself.
pub fn starting(existing: &[Workspace], defaults: &Limits, organization: &Organization) -> OwnLimits {
    let most = existing
        .iter()
        .map(|workspace| workspace.own.over(defaults))
        .reduce(|one, other| one.zip(other).map(|(one, other)| one.max(other)));
    let mut most = most.unwrap_or(*defaults);
    most.monthly_tokens = lower(most.monthly_tokens, organization.monthly_tokens);
    most.zip(*defaults).map(|(most, default)| (most < default).then_some(most))
}

/// The monthly budget with which it starts: the highest that the operator gave to an existing workspace, if each has one.
pub fn starting_budget(existing: &[Workspace]) -> MonthlyBudget {
    let amounts: Option<Vec<_>> = existing.iter().map(|workspace| workspace.monthly_usd.operator).collect();
    MonthlyBudget { operator: amounts.and_then(|amounts| amounts.into_iter().max()), ..MonthlyBudget::NONE }
}

/// One limit of a workspace: the operator's value, the administrators' value, and the default.
#[derive(Debug, Clone, Copy)]
struct Limit {
    own: Option<u64>,
    lowered: Option<u64>,
    default: u64,
}

impl Limit {
    fn ceiling(self) -> u64 {
        self.own.unwrap_or(self.default)
    }

    fn effective(self) -> u64 {
        lower(self.ceiling(), self.lowered)
    }

    fn by_operator(self, change: LimitChange) -> Self {
        match change {
            LimitChange::Keep => self,
            LimitChange::Follow => Self { own: None, lowered: None, ..self },
            LimitChange::Set(value) => Self { own: Some(value), lowered: None, ..self },
        }
    }

    fn by_admin(self, field: &'static str, change: LimitChange) -> Result<Self, OperatorOnlyError> {
        match change {
            LimitChange::Keep => Ok(self),
            LimitChange::Set(value) if value == self.effective() => Ok(self),
            LimitChange::Set(value) if value > self.ceiling() => {
                Err(OperatorOnlyError { field, ceiling: self.ceiling() })
            }
            LimitChange::Set(value) if value < self.ceiling() => Ok(Self { lowered: Some(value), ..self }),
            LimitChange::Follow | LimitChange::Set(_) => Ok(Self { lowered: None, ..self }),
        }
    }
}

/// The operator's and the administrators' values after a change by the operator.
pub fn by_operator(workspace: &Workspace, changes: &LimitChanges, defaults: &Limits) -> (OwnLimits, OwnLimits) {
    values(limits_of(workspace, defaults).zip(*changes).map(|(limit, change)| limit.by_operator(change)))
}

/// The same after a change by an administrator. Fails if it would raise a limit above the ceiling.
pub fn by_admin(
    workspace: &Workspace,
    changes: &LimitChanges,
    defaults: &Limits,
) -> Result<(OwnLimits, OwnLimits), OperatorOnlyError> {
    let limits = limits_of(workspace, defaults).zip(*changes);
    limits.try_map(|field, (limit, change)| limit.by_admin(field, change)).map(values)
}

fn limits_of(workspace: &Workspace, defaults: &Limits) -> LimitSet<Limit> {
    let stored = workspace.own.zip(workspace.lowered).zip(*defaults);
    stored.map(|((own, lowered), default)| Limit { own, lowered, default })
}

fn values(limits: LimitSet<Limit>) -> (OwnLimits, OwnLimits) {
    (limits.map(|limit| limit.own), limits.map(|limit| limit.lowered))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn limit(own: Option<u64>, lowered: Option<u64>) -> Limit {
        Limit { own, lowered, default: 600 }
    }

    fn after(limit: Limit) -> (Option<u64>, Option<u64>, u64) {
        (limit.own, limit.lowered, limit.effective())
    }

    #[test]
    fn an_administrator_lowers_limits_and_restores_them() {
        for (before, change, expected) in [
            (limit(None, None), LimitChange::Set(100), (None, Some(100), 100)),
            (limit(Some(900), None), LimitChange::Set(0), (Some(900), Some(0), 0)),
            (limit(None, Some(100)), LimitChange::Set(200), (None, Some(200), 200)),
            (limit(None, Some(100)), LimitChange::Set(600), (None, None, 600)),
            (limit(None, Some(100)), LimitChange::Follow, (None, None, 600)),
            (limit(None, Some(100)), LimitChange::Keep, (None, Some(100), 100)),
            (limit(None, None), LimitChange::Set(600), (None, None, 600)),
            // Sent back unchanged: the ceiling is now below the administrator's value.
            (limit(Some(50), Some(100)), LimitChange::Set(50), (Some(50), Some(100), 50)),
        ] {
            assert_eq!(before.by_admin("x", change).map(after), Ok(expected), "{before:?} {change:?}");
        }
    }

    #[test]
    fn only_the_operator_can_exceed_the_ceiling() {
        for (before, change) in [(limit(None, None), 601), (limit(Some(50), Some(10)), 51), (limit(Some(0), None), 1)] {
            let rejected = before.by_admin("maxApiKeys", LimitChange::Set(change)).map(after);
            assert_eq!(rejected, Err(OperatorOnlyError { field: "maxApiKeys", ceiling: before.ceiling() }));
            assert_eq!(after(before.by_operator(LimitChange::Set(change))), (Some(change), None, change));
        }
    }

    #[test]
    fn the_operators_value_replaces_the_administrators() {
        for (before, change, expected) in [
            (limit(None, Some(100)), LimitChange::Set(300), (Some(300), None, 300)),
            (limit(Some(300), Some(100)), LimitChange::Follow, (None, None, 600)),
            (limit(Some(300), Some(100)), LimitChange::Keep, (Some(300), Some(100), 100)),
            (limit(Some(300), Some(100)), LimitChange::Set(100), (Some(100), None, 100)),
            (limit(None, None), LimitChange::Set(600), (Some(600), None, 600)),
        ] {
            assert_eq!(after(before.by_operator(change)), expected, "{before:?} {change:?}");
        }
    }

    #[test]
    fn a_lowered_limit_survives_a_higher_ceiling() {
        assert_eq!(limit(Some(1_000), Some(100)).effective(), 100);
        assert_eq!(limit(Some(50), Some(100)).effective(), 50);
    }
}
