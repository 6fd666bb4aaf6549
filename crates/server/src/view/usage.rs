use control::usage::Report;
use domain::grouping::Group;
use domain::usage::{Actor, Totals};
use serde::Serialize;
use store::usage::sums::Summed;
use utoipa::ToSchema;

/// One line per group with usage, and their sum.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageReport)]
pub(crate) struct UsageReportView {
    data: Vec<UsageLineView>,
    total: UsageTotalsView,
}

#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UsageLine)]
struct UsageLineView {
    /// If grouped by model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    model: Option<String>,
    /// If grouped by key: the key's id, or null if a user called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    key: Option<Option<String>>,
    /// If grouped by key: the user's id, or null if a key called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    user: Option<Option<String>>,
    /// If grouped by day, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, format = Date)]
    day: Option<String>,
    requests: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    /// Decimal text in USD.
    cost_usd: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UsageTotals)]
struct UsageTotalsView {
    /// Served calls.
    requests: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    cost_usd: String,
}

impl From<Totals> for UsageTotalsView {
    fn from(totals: Totals) -> Self {
        let Totals { requests, prompt_tokens, completion_tokens, cached_tokens, cost } = totals;
        Self { requests, prompt_tokens, completion_tokens, cached_tokens, cost_usd: cost.to_string() }
    }
}

impl From<Summed> for UsageLineView {
    fn from(summed: Summed) -> Self {
        let Totals { requests, prompt_tokens, completion_tokens, cached_tokens, cost } = summed.totals;
        let cost_usd = cost.to_string();
        let numbers = Self { requests, prompt_tokens, completion_tokens, cached_tokens, cost_usd, ..Self::default() };
        summed.groups.into_iter().fold(numbers, |line, group| match group {
            Group::Model(model) => Self { model: Some(model.to_string()), ..line },
            Group::Actor(Actor::Key(key)) => Self { key: Some(Some(key.to_string())), user: Some(None), ..line },
            Group::Actor(Actor::User(user)) => Self { key: Some(None), user: Some(Some(user.to_string())), ..line },
            Group::Day(day) => Self { day: Some(day.to_string()), ..line },
        })
    }
}

impl From<Report> for UsageReportView {
    fn from(report: Report) -> Self {
        let total = report.total().into();
        Self { data: report.lines.into_iter().map(UsageLineView::from).collect(), total }
    }
}
