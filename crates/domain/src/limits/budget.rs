//! Budgets of keys: the most that the calls of a key cost per day, per month or in total.
//!
//! A budget is leased to nodes as the monthly quota is (see [`crate::quota`]), in nano-dollars: a call reserves the most that it
//! can cost, and replaces that with its real cost when it ends. What was spent is the sum of the key's usage.

use crate::money::{CallPrice, NanoUsd, Price};
use crate::named_enum;
use crate::quota::{Need, TokenBound};
use crate::restriction_error::RestrictionError;
use crate::time::{Day, Month, Timestamp};
use serde::{Deserialize, Serialize};

const FIELD: &str = "budgets";
const TOKENS_PER_PRICE: u128 = 1_000_000;
const WORKSPACE_BIT: u8 = 8;
/// The bits of an end user's windows are those of the key's, moved by this many.
const END_USER_SHIFT: u8 = 4;

named_enum! {
    /// The time over which a budget is spent, in UTC.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum BudgetWindow {
        Day = "day",
        Month = "month",
        Total = "total",
    }
}

/// One day, one month, or all time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BudgetPeriod {
    pub window: BudgetWindow,
    pub start: Timestamp,
}

impl BudgetPeriod {
    /// The period of a window that contains `now`.
    pub fn of(window: BudgetWindow, now: Timestamp) -> Self {
        let start = match window {
            BudgetWindow::Day => Day::of(now).start(),
            BudgetWindow::Month => Month::of(now).start(),
            BudgetWindow::Total => Timestamp::default(),
        };
        Self { window, start }
    }

    /// The first moment after it; `None` if it does not end.
    pub fn end(self) -> Option<Timestamp> {
        match self.window {
            BudgetWindow::Day => Some(Day::of(self.start).next().start()),
            BudgetWindow::Month => Some(Month::of(self.start).end()),
            BudgetWindow::Total => None,
        }
    }
}

/// A budget of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub window: BudgetWindow,
    pub usd: NanoUsd,
    /// Only shows that it was exceeded, and rejects no call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub soft: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<BudgetRaise>,
}

/// A higher amount for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRaise {
    pub usd: NanoUsd,
    pub until: Timestamp,
}

impl Budget {
    /// The amount at `now`.
    pub fn cap(&self, now: Timestamp) -> NanoUsd {
        match self.raise {
            Some(raise) if now < raise.until => raise.usd,
            Some(_) | None => self.usd,
        }
    }
}

/// The budgets of a key: at most one per window that rejects calls, and one that does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Budgets(Vec<Budget>);

impl Budgets {
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    pub fn new(mut budgets: Vec<Budget>) -> Result<Self, RestrictionError> {
        budgets.sort_by_key(|budget| (budget.window, budget.soft));
        let is_repeated = |pair: &[Budget]| (pair[0].window, pair[0].soft) == (pair[1].window, pair[1].soft);
        if budgets.windows(2).any(is_repeated) {
            let why = "a window has at most one budget, and one that is soft";
            return Err(RestrictionError::new(FIELD, why));
        }
        if budgets.iter().any(|budget| budget.raise.is_some_and(|raise| raise.usd <= budget.usd)) {
            return Err(RestrictionError::new(FIELD, "a raise is higher than the budget that it raises"));
        }
        Ok(Self(budgets))
    }

    /// The budgets of an edit at `now`. Raises that have ended are dropped, because a budget may be higher by now.
    pub fn edited(mut budgets: Vec<Budget>, now: Timestamp) -> Result<Self, RestrictionError> {
        for budget in &mut budgets {
            budget.raise = budget.raise.filter(|raise| now < raise.until);
        }
        Self::new(budgets)
    }

    pub fn all(&self) -> &[Budget] {
        &self.0
    }

    /// Those that reject calls.
    pub fn hard(&self) -> impl Iterator<Item = &Budget> {
        self.0.iter().filter(|budget| !budget.soft)
    }

    /// Where a call reserves what it may cost.
    pub fn windows(&self) -> ReservedIn {
        self.hard().fold(ReservedIn::default(), |all, budget| all.with(budget.window))
    }
}

/// The budgets in which a call has reserved its cost: those of its key and of its end user, by their windows, and that of its
/// workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReservedIn(u8);

impl ReservedIn {
    const fn bit(window: BudgetWindow) -> u8 {
        match window {
            BudgetWindow::Day => 1,
            BudgetWindow::Month => 2,
            BudgetWindow::Total => 4,
        }
    }

    #[must_use]
    pub const fn with(self, window: BudgetWindow) -> Self {
        Self(self.0 | Self::bit(window))
    }

    #[must_use]
    pub const fn with_workspace(self) -> Self {
        Self(self.0 | WORKSPACE_BIT)
    }

    /// Adds the windows of an end user.
    #[must_use]
    pub const fn with_end_user(self, windows: Self) -> Self {
        Self(self.0 | windows.0 << END_USER_SHIFT)
    }

    /// The windows of the end user.
    pub fn end_user_windows(self) -> impl Iterator<Item = BudgetWindow> {
        Self(self.0 >> END_USER_SHIFT).windows()
    }

    pub const fn has_workspace(self) -> bool {
        self.0 & WORKSPACE_BIT != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The windows of the key.
    pub fn windows(self) -> impl Iterator<Item = BudgetWindow> {
        BudgetWindow::ALL.into_iter().filter(move |window| self.0 & Self::bit(*window) != 0)
    }

    /// As a number, for the journal.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Reads [`Self::bits`]; unknown ones are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 127)
    }
}

impl TokenBound {
    /// The nano-dollars that the call needs: never less than its charge, whatever part of the prompt is cached.
    pub fn cost(&self, price: &CallPrice) -> Need {
        let CallPrice { tokens: price, search } = price;
        let nanos = |completions: u64| {
            let millionths = self.prompt_millionths(price) + part(completions, price.output_per_1m);
            let tokens = u64::try_from(millionths.div_ceil(TOKENS_PER_PRICE)).unwrap_or(u64::MAX);
            tokens.saturating_add(unsigned(*search))
        };
        let least = self.completion.min(1).saturating_mul(self.choices);
        Need { total: nanos(self.all_completions()), least: nanos(least) }
    }

    /// The same call limited to what this many nano-dollars pay for, which are at least the least of its cost.
    #[must_use]
    pub fn affordable(&self, price: &CallPrice, nanos: u64) -> Self {
        let CallPrice { tokens: price, search } = price;
        let of_one = part(self.choices.max(1), price.output_per_1m);
        let of_tokens = nanos.saturating_sub(unsigned(*search));
        let left = (u128::from(of_tokens) * TOKENS_PER_PRICE).saturating_sub(self.prompt_millionths(price));
        let completion =
            left.checked_div(of_one).map_or(self.completion, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX));
        Self { completion: completion.min(self.completion), ..*self }
    }

    fn prompt_millionths(&self, price: &Price) -> u128 {
        part(self.prompt, price.input_per_1m.max(price.cached_input_per_1m))
    }
}

fn part(tokens: u64, per_1m: NanoUsd) -> u128 {
    u128::from(tokens) * u128::from(unsigned(per_1m))
}

fn unsigned(amount: NanoUsd) -> u64 {
    amount.nanos().max(0).unsigned_abs()
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
