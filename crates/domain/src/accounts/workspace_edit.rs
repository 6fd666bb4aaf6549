//! Who may change a workspace's limits, and to what.
//!
//! Two values are kept for each limit: the operator's, which is the most that may be in force, and the administrators',
//! which only ever lowers it. So an operator who raises a ceiling does not undo what an administrator wanted, and an
//! administrator cannot get past the operator. The operator's word on a limit replaces the administrators'.

use crate::workspace::{Limits, OwnLimits, Workspace, lower};

/// What somebody wants of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitChange {
    #[default]
    Keep,
    /// Follow what is above: the operator's value, or the configured default.
    Follow,
    Set(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitChanges {
    pub requests_per_minute: LimitChange,
    pub tokens_per_minute: LimitChange,
    pub monthly_tokens: LimitChange,
    pub max_api_keys: LimitChange,
}

/// A limit that only the operator may raise, by its name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("only the operator may raise this limit above {ceiling}")]
pub struct OperatorOnlyError {
    pub field: &'static str,
    pub ceiling: u64,
}

/// One limit of a workspace: the operator's value, the administrators', and the default.
#[derive(Debug, Clone, Copy)]
struct Slot {
    own: Option<u64>,
    lowered: Option<u64>,
    default: u64,
}

impl Slot {
    fn ceiling(self) -> u64 {
        self.own.unwrap_or(self.default)
    }

    fn in_force(self) -> u64 {
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
            LimitChange::Set(value) if value == self.in_force() => Ok(self),
            LimitChange::Set(value) if value > self.ceiling() => {
                Err(OperatorOnlyError { field, ceiling: self.ceiling() })
            }
            LimitChange::Set(value) if value < self.ceiling() => Ok(Self { lowered: Some(value), ..self }),
            LimitChange::Follow | LimitChange::Set(_) => Ok(Self { lowered: None, ..self }),
        }
    }
}

/// The operator's and the administrators' values after the operator's change.
pub fn by_operator(workspace: &Workspace, changes: &LimitChanges, defaults: &Limits) -> (OwnLimits, OwnLimits) {
    let [requests, tokens, monthly, keys] = slots(workspace, defaults);
    values([
        requests.by_operator(changes.requests_per_minute),
        tokens.by_operator(changes.tokens_per_minute),
        monthly.by_operator(changes.monthly_tokens),
        keys.by_operator(changes.max_api_keys),
    ])
}

/// The same after an administrator's change, unless it would raise a limit above the operator's value.
pub fn by_admin(
    workspace: &Workspace,
    changes: &LimitChanges,
    defaults: &Limits,
) -> Result<(OwnLimits, OwnLimits), OperatorOnlyError> {
    let [requests, tokens, monthly, keys] = slots(workspace, defaults);
    Ok(values([
        requests.by_admin("requestsPerMinute", changes.requests_per_minute)?,
        tokens.by_admin("tokensPerMinute", changes.tokens_per_minute)?,
        monthly.by_admin("monthlyTokens", changes.monthly_tokens)?,
        keys.by_admin("maxApiKeys", changes.max_api_keys)?,
    ]))
}

fn slots(workspace: &Workspace, defaults: &Limits) -> [Slot; 4] {
    let (own, lowered) = (&workspace.own, &workspace.lowered);
    let slot = |own, lowered, default| Slot { own, lowered, default };
    [
        slot(own.requests_per_minute, lowered.requests_per_minute, defaults.requests_per_minute),
        slot(own.tokens_per_minute, lowered.tokens_per_minute, defaults.tokens_per_minute),
        slot(own.monthly_tokens, lowered.monthly_tokens, defaults.monthly_tokens),
        slot(own.max_api_keys, lowered.max_api_keys, defaults.max_api_keys),
    ]
}

fn values(slots: [Slot; 4]) -> (OwnLimits, OwnLimits) {
    let pick = |of: fn(&Slot) -> Option<u64>| {
        let [requests_per_minute, tokens_per_minute, monthly_tokens, max_api_keys] = slots.each_ref().map(of);
        OwnLimits { requests_per_minute, tokens_per_minute, monthly_tokens, max_api_keys }
    };
    (pick(|slot| slot.own), pick(|slot| slot.lowered))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn slot(own: Option<u64>, lowered: Option<u64>) -> Slot {
        Slot { own, lowered, default: 600 }
    }

    fn after(slot: Slot) -> (Option<u64>, Option<u64>, u64) {
        (slot.own, slot.lowered, slot.in_force())
    }

    #[test]
    fn an_administrator_lowers_and_takes_it_back() {
        for (before, change, expected) in [
            (slot(None, None), LimitChange::Set(100), (None, Some(100), 100)),
            (slot(Some(900), None), LimitChange::Set(0), (Some(900), Some(0), 0)),
            (slot(None, Some(100)), LimitChange::Set(200), (None, Some(200), 200)),
            (slot(None, Some(100)), LimitChange::Set(600), (None, None, 600)),
            (slot(None, Some(100)), LimitChange::Follow, (None, None, 600)),
            (slot(None, Some(100)), LimitChange::Keep, (None, Some(100), 100)),
            (slot(None, None), LimitChange::Set(600), (None, None, 600)),
            // Sent back as it was read: a lower ceiling has overtaken the administrator's value.
            (slot(Some(50), Some(100)), LimitChange::Set(50), (Some(50), Some(100), 50)),
        ] {
            assert_eq!(before.by_admin("x", change).map(after), Ok(expected), "{before:?} {change:?}");
        }
    }

    #[test]
    fn nobody_but_the_operator_gets_past_the_ceiling() {
        for (before, change) in [(slot(None, None), 601), (slot(Some(50), Some(10)), 51), (slot(Some(0), None), 1)] {
            let refused = before.by_admin("maxApiKeys", LimitChange::Set(change)).map(after);
            assert_eq!(refused, Err(OperatorOnlyError { field: "maxApiKeys", ceiling: before.ceiling() }));
            assert_eq!(after(before.by_operator(LimitChange::Set(change))), (Some(change), None, change));
        }
    }

    #[test]
    fn the_operators_word_replaces_the_administrators() {
        for (before, change, expected) in [
            (slot(None, Some(100)), LimitChange::Set(300), (Some(300), None, 300)),
            (slot(Some(300), Some(100)), LimitChange::Follow, (None, None, 600)),
            (slot(Some(300), Some(100)), LimitChange::Keep, (Some(300), Some(100), 100)),
            (slot(Some(300), Some(100)), LimitChange::Set(100), (Some(100), None, 100)),
            (slot(None, None), LimitChange::Set(600), (Some(600), None, 600)),
        ] {
            assert_eq!(after(before.by_operator(change)), expected, "{before:?} {change:?}");
        }
    }

    #[test]
    fn what_an_administrator_lowered_outlives_a_higher_ceiling() {
        assert_eq!(slot(Some(1_000), Some(100)).in_force(), 100);
        assert_eq!(slot(Some(50), Some(100)).in_force(), 50);
    }
}
