use control::usage::Report;
use domain::Grouping;
use domain::grouping::{Dimension, Group};
use domain::usage::{Actor, CallSurface, Totals};
use serde::Serialize;
use std::collections::HashMap;
use store::usage::sums::Summed;
use utoipa::ToSchema;

/// One line per group with usage, and their sum.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageReport)]
pub struct UsageReportView {
    data: Vec<UsageLineView>,
    total: UsageTotalsView,
    #[serde(skip)]
    grouping: Grouping,
}

#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UsageLine)]
pub(super) struct UsageLineView {
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
    /// If grouped by surface: the API of the calls, or null if it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    surface: Option<Option<&'static str>>,
    /// If grouped by end user: the id, or null if the calls did not name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    end_user: Option<Option<String>>,
    /// If grouped by end user: the name, or null if the workspace does not keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    end_user_name: Option<Option<String>>,
    /// If grouped by a label: its value at the key now, or null if the key does not have it or a user called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    label: Option<Option<String>>,
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
            Group::Surface(surface) => Self { surface: Some(surface.map(CallSurface::as_str)), ..line },
            Group::Label(value) => Self { label: Some(value), ..line },
            Group::EndUser(id) => {
                Self { end_user: Some(id.map(|id| id.to_string())), end_user_name: Some(None), ..line }
            }
        })
    }
}

impl From<Report> for UsageReportView {
    fn from(report: Report) -> Self {
        let names: HashMap<String, String> =
            report.end_users.into_iter().map(|(id, name)| (id.to_string(), name)).collect();
        let line = |line| {
            let line = UsageLineView::from(line);
            let name = line.end_user.as_ref().map(|id| names.get(id.as_ref()?).cloned());
            UsageLineView { end_user_name: name, ..line }
        };
        let data = report.lines.into_iter().map(line).collect();
        Self { data, total: report.total.into(), grouping: report.grouping }
    }
}

/// The columns of a table after those of the groups.
const NUMBERS: [&str; 5] = ["requests", "promptTokens", "completionTokens", "cachedTokens", "costUsd"];

impl UsageReportView {
    pub(super) fn into_lines(self) -> Vec<UsageLineView> {
        self.data
    }

    /// Column names, then the lines, without the total.
    pub fn table(&self) -> Vec<Vec<String>> {
        let header = self.group_columns().into_iter().chain(NUMBERS).map(str::to_owned).collect();
        [header].into_iter().chain(self.data.iter().map(|line| self.row(line))).collect()
    }

    /// The last row of the table, unless the only line is the total.
    pub fn total_rows(&self) -> Vec<Vec<String>> {
        let mut groups = vec![String::new(); self.group_columns().len()];
        let Some(first) = groups.first_mut() else { return Vec::new() };
        "total".clone_into(first);
        let UsageTotalsView { requests, prompt_tokens, completion_tokens, cached_tokens, cost_usd } = &self.total;
        let counts = [requests, prompt_tokens, completion_tokens, cached_tokens].map(u64::to_string);
        vec![groups.into_iter().chain(counts).chain([cost_usd.clone()]).collect()]
    }

    fn group_columns(&self) -> Vec<&'static str> {
        let columns = self.grouping.dimensions().iter().flat_map(|dimension| match dimension {
            Dimension::Model => &["model"][..],
            Dimension::Key => &["key", "user"],
            Dimension::Day => &["day"],
            Dimension::Surface => &["surface"],
            Dimension::EndUser => &["endUser", "endUserName"],
        });
        columns.copied().chain(self.grouping.label().map(|_| "label")).collect()
    }

    /// A missing member of a group is empty.
    fn row(&self, line: &UsageLineView) -> Vec<String> {
        let groups = self.grouping.dimensions().iter().flat_map(|dimension| match dimension {
            Dimension::Model => vec![line.model.clone()],
            Dimension::Key => vec![line.key.clone().flatten(), line.user.clone().flatten()],
            Dimension::Day => vec![line.day.clone()],
            Dimension::Surface => vec![line.surface.flatten().map(str::to_owned)],
            Dimension::EndUser => vec![line.end_user.clone().flatten(), line.end_user_name.clone().flatten()],
        });
        let groups = groups.chain(self.grouping.label().map(|_| line.label.clone().flatten()));
        let UsageLineView { requests, prompt_tokens, completion_tokens, cached_tokens, cost_usd, .. } = line;
        let counts = [requests, prompt_tokens, completion_tokens, cached_tokens].map(u64::to_string);
        groups.map(Option::unwrap_or_default).chain(counts).chain([cost_usd.clone()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv;
    use domain::{Day, KeyId, NanoUsd, Timestamp, UserId};
    use expect_test::expect;

    const NOW: Timestamp = Timestamp::from_millis(0);

    fn table(grouping: &str, lines: Vec<Vec<Group>>) -> String {
        let totals = Totals {
            requests: 1,
            prompt_tokens: 1_000,
            completion_tokens: 10,
            cached_tokens: 200,
            cost: NanoUsd::from_nanos(94_000),
        };
        let lines = lines.into_iter().map(|groups| Summed { groups, totals }).collect();
        let grouping = Grouping::parse(grouping).unwrap();
        let view = UsageReportView::from(Report { grouping, lines, total: totals, end_users: HashMap::new() });
        csv::text(view.table().into_iter().chain(view.total_rows()).collect()).replace("\r\n", "\n")
    }

    #[test]
    fn a_table_has_the_requested_columns_in_order() {
        let (key, user) = (KeyId::new(NOW, 1), UserId::new(NOW, 1));
        let actors = [Actor::Key(key.clone()), Actor::User(user.clone())];
        let lines = actors.map(|actor| vec![Group::Actor(actor), Group::Day(Day::of(NOW))]).to_vec();
        let grouped = table("key,day", lines).replace(key.as_str(), "KEY").replace(user.as_str(), "USER");
        expect![[r#"
            key,user,day,requests,promptTokens,completionTokens,cachedTokens,costUsd
            KEY,,1970-01-01,1,1000,10,200,0.000094
            ,USER,1970-01-01,1,1000,10,200,0.000094
            total,,,1,1000,10,200,0.000094
        "#]]
        .assert_eq(&grouped);
        expect![[r#"
            requests,promptTokens,completionTokens,cachedTokens,costUsd
            1,1000,10,200,0.000094
        "#]]
        .assert_eq(&table("", vec![Vec::new()]));
    }
}
