use super::budgets::{BudgetView, SpendingView};
use domain::end_user::EndUserSettings;
use domain::{Timestamp, budget::Budget};
use serde::{Deserialize, Serialize};
use store::budgets::Spending;
use store::end_users::KnownEndUser;
use utoipa::ToSchema;

/// What applies to the end users of a workspace that have no limits of their own, and whether their names are kept.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = EndUserSettings)]
pub struct EndUserSettingsView {
    /// Whether the names are kept as text, beside their HMACs. When it is turned off, those that were kept are deleted.
    #[serde(default)]
    pub keep_text: bool,
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    pub requests_per_minute: Option<u64>,
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    pub tokens_per_minute: Option<u64>,
    /// The budgets of each end user: at most one per window, and one that is soft.
    #[serde(default)]
    #[schema(max_items = 6)]
    pub budgets: Vec<BudgetView>,
}

impl From<&EndUserSettings> for EndUserSettingsView {
    fn from(settings: &EndUserSettings) -> Self {
        Self {
            keep_text: settings.keep_text,
            requests_per_minute: settings.requests_per_minute,
            tokens_per_minute: settings.tokens_per_minute,
            budgets: views(settings.budgets.all()),
        }
    }
}

fn views(budgets: &[Budget]) -> Vec<BudgetView> {
    budgets.iter().copied().map(BudgetView::from).collect()
}

/// A person behind the keys of a workspace.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndUser)]
pub struct EndUserView {
    #[schema(example = "eu_0123456789abcdef0123456789abcdef")]
    id: String,
    /// The name that calls have sent; null unless the workspace keeps it.
    name: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    first_seen_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Timestamp,
    /// Null follows the workspace.
    requests_per_minute: Option<u64>,
    /// Null follows the workspace.
    tokens_per_minute: Option<u64>,
    /// Null follows the workspace.
    budgets: Option<Vec<BudgetView>>,
}

/// A person behind the keys of a workspace, with what was spent of the budgets that apply.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndUserWithSpending)]
pub struct EndUserSpendingView {
    #[serde(flatten)]
    end_user: EndUserView,
    /// One per budget, in the same order.
    spending: Vec<SpendingView>,
}

impl From<KnownEndUser> for EndUserView {
    fn from(known: KnownEndUser) -> Self {
        Self {
            id: known.id.to_string(),
            name: known.text,
            first_seen_at: known.first_seen_at,
            last_seen_at: known.last_seen_at,
            requests_per_minute: known.own.requests_per_minute,
            tokens_per_minute: known.own.tokens_per_minute,
            budgets: known.own.budgets.map(|budgets| views(budgets.all())),
        }
    }
}

impl EndUserSpendingView {
    pub fn new(known: KnownEndUser, spending: &[Spending]) -> Self {
        Self { end_user: known.into(), spending: spending.iter().map(SpendingView::from).collect() }
    }
}
