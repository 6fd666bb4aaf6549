//! Budgets of keys, as they are written and read.

use domain::budget::{Budget, BudgetRaise, BudgetWindow, Budgets};
use domain::key_restrictions::RestrictionError;
use domain::{NanoUsd, OnBudget, Timestamp};
use serde::{Deserialize, Serialize};
use store::budgets::Spending;
use utoipa::ToSchema;

/// The most that the calls of a key may cost in a window, which starts in UTC.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Budget)]
pub struct BudgetView {
    window: BudgetWindowView,
    #[schema(value_type = String, example = "25.00")]
    usd: NanoUsd,
    /// Calls go on when it is exceeded.
    #[serde(default)]
    #[schema(default = false)]
    soft: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    raise: Option<BudgetRaiseView>,
}

/// A higher amount until a time.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BudgetRaise)]
pub(crate) struct BudgetRaiseView {
    #[schema(value_type = String, example = "40.00")]
    usd: NanoUsd,
    #[schema(value_type = String, format = DateTime)]
    until: Timestamp,
}

#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = BudgetWindow)]
enum BudgetWindowView {
    Day,
    Month,
    Total,
}

/// What becomes of running endpoints when a monthly budget is spent.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = OnBudget)]
pub enum OnBudgetView {
    /// They go on.
    Continue,
    Suspend,
}

impl From<OnBudget> for OnBudgetView {
    fn from(on_budget: OnBudget) -> Self {
        match on_budget {
            OnBudget::Continue => Self::Continue,
            OnBudget::Suspend => Self::Suspend,
        }
    }
}

impl From<OnBudgetView> for OnBudget {
    fn from(on_budget: OnBudgetView) -> Self {
        match on_budget {
            OnBudgetView::Continue => Self::Continue,
            OnBudgetView::Suspend => Self::Suspend,
        }
    }
}

/// What was spent of a budget in its current period.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BudgetSpending)]
pub(crate) struct SpendingView {
    window: BudgetWindowView,
    soft: bool,
    /// The amount at this time, with a raise.
    #[schema(value_type = String)]
    usd: NanoUsd,
    #[schema(value_type = String)]
    used_usd: NanoUsd,
    /// Reserved by nodes for running calls and those to come; always 0 if it is soft.
    #[schema(value_type = String)]
    reserved_usd: NanoUsd,
    exceeded: bool,
    /// When it resets; null if it does not.
    #[schema(value_type = Option<String>, format = DateTime)]
    resets_at: Option<Timestamp>,
}

/// Reads the budgets of a key at `now`.
pub fn budgets(views: Vec<BudgetView>, now: Timestamp) -> Result<Budgets, RestrictionError> {
    Budgets::edited(views.into_iter().map(Budget::from).collect(), now)
}

impl From<Budget> for BudgetView {
    fn from(Budget { window, usd, soft, raise }: Budget) -> Self {
        let raise = raise.map(|BudgetRaise { usd, until }| BudgetRaiseView { usd, until });
        Self { window: window.into(), usd, soft, raise }
    }
}

impl From<BudgetView> for Budget {
    fn from(BudgetView { window, usd, soft, raise }: BudgetView) -> Self {
        let raise = raise.map(|BudgetRaiseView { usd, until }| BudgetRaise { usd, until });
        Self { window: window.into(), usd, soft, raise }
    }
}

impl From<BudgetWindow> for BudgetWindowView {
    fn from(window: BudgetWindow) -> Self {
        match window {
            BudgetWindow::Day => Self::Day,
            BudgetWindow::Month => Self::Month,
            BudgetWindow::Total => Self::Total,
        }
    }
}

impl From<BudgetWindowView> for BudgetWindow {
    fn from(window: BudgetWindowView) -> Self {
        match window {
            BudgetWindowView::Day => Self::Day,
            BudgetWindowView::Month => Self::Month,
            BudgetWindowView::Total => Self::Total,
        }
    }
}

impl From<&Spending> for SpendingView {
    fn from(Spending { budget, period, account }: &Spending) -> Self {
        let usd = NanoUsd::from_unsigned;
        // A soft budget has no leases; those of its window belong to the budget that rejects calls.
        let reserved = if budget.soft { 0 } else { account.reserved };
        Self {
            window: budget.window.into(),
            soft: budget.soft,
            usd: usd(account.cap),
            used_usd: usd(account.used),
            reserved_usd: usd(reserved),
            exceeded: account.used >= account.cap,
            resets_at: period.end(),
        }
    }
}
