//! What a workspace, or all workspaces of an organization, may cost in a month: serverless calls and GPU-hours together.

use crate::money::NanoUsd;
use crate::named_enum;
use serde::{Deserialize, Serialize};

/// Two amounts, of which the lower one applies; without any, there is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct MonthlyBudget {
    /// Set by the operator. Administrators see it and cannot change it.
    pub operator: Option<NanoUsd>,
    /// Set by administrators of the organization.
    pub administrators: Option<NanoUsd>,
}

impl MonthlyBudget {
    pub const NONE: Self = Self { operator: None, administrators: None };

    /// The amount that applies.
    pub fn cap(self) -> Option<NanoUsd> {
        [self.operator, self.administrators].into_iter().flatten().min()
    }
}

named_enum! {
    /// What becomes of running endpoints when the amount is spent. New commitments of GPUs are rejected either way.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum OnBudget {
        /// They go on.
        #[default]
        Continue = "continue",
        Suspend = "suspend",
    }
}

/// A requested change of one amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BudgetChange {
    #[default]
    Keep,
    /// `None` removes it.
    Set(Option<NanoUsd>),
}

impl BudgetChange {
    /// The change by a member of a request that may be absent or null.
    pub fn of(member: Option<Option<NanoUsd>>) -> Self {
        member.map_or(Self::Keep, Self::Set)
    }

    pub const fn is_change(self) -> bool {
        matches!(self, Self::Set(_))
    }

    pub const fn apply(self, current: Option<NanoUsd>) -> Option<NanoUsd> {
        match self {
            Self::Keep => current,
            Self::Set(amount) => amount,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_amount_applies() {
        let usd = |amount: i64| Some(NanoUsd::from_nanos(amount));
        for (operator, administrators, cap) in
            [(None, None, None), (usd(5), None, usd(5)), (None, usd(7), usd(7)), (usd(5), usd(7), usd(5))]
        {
            assert_eq!(MonthlyBudget { operator, administrators }.cap(), cap);
        }
    }
}
