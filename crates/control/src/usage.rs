//! What a workspace used and what it costs.

use crate::author::Author;
use crate::command_error::CommandError;
use domain::grouping::Group;
use domain::span::plan;
use domain::usage::Totals;
use domain::{Grain, Grouping, Span, Timestamp, WorkspaceId};
use serde::{Serialize, Serializer};
use store::usage_sums::{self, Summed, check};
use store::{Store, retention, workspaces};

/// The body of `/api/workspaces/{id}/usage`: one line for each group that used something, and their sum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    #[serde(skip)]
    grouping: Grouping,
    data: Vec<Line>,
    total: Totals,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Line {
    #[serde(flatten)]
    groups: Groups,
    #[serde(flatten)]
    totals: Totals,
}

/// The names of a report's numbers, in the order in which tables have them.
const NUMBERS: [&str; 5] = ["requests", "promptTokens", "completionTokens", "cachedTokens", "costUsd"];

/// The usage of a workspace between two moments, by default in the current month.
///
/// A workspace that was deleted still has its usage.
pub async fn report(
    store: &Store,
    workspace: &WorkspaceId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    grouping: &Grouping,
    now: Timestamp,
) -> Result<Report, CommandError> {
    let span = readable(store, Span::or_month_of(now, from, to)?).await?;
    let sums = usage_sums::read(store, workspace, &plan(span, now), grouping).await?;
    let total: Totals = sums.iter().map(|sum| sum.totals).sum();
    if total == Totals::default() && workspaces::by_id(store, workspace).await?.is_none() {
        return Err(CommandError::missing("workspace", workspace.as_str()));
    }
    let line = |Summed { groups, totals }| Line { groups: Groups(groups), totals };
    Ok(Report { grouping: grouping.clone(), data: sums.into_iter().map(line).collect(), total })
}

/// The span, with edges in whole hours where the single calls of the past are gone: their sums are all that is left.
async fn readable(store: &Store, span: Span) -> Result<Span, CommandError> {
    let is_whole = |moment: Timestamp| Grain::Hour.start_of(moment) == moment;
    if is_whole(span.from) && is_whole(span.to) {
        return Ok(span);
    }
    let Some(cleared_before) = retention::events_cleared_before(store).await? else { return Ok(span) };
    let is_cleared = |edge: Timestamp| Grain::Hour.start_of(edge) < cleared_before;
    let from = if is_cleared(span.from) { Grain::Hour.start_of(span.from) } else { span.from };
    let to = if is_cleared(span.to) { Grain::Hour.start_at_or_after(span.to) } else { span.to };
    Ok(Span { from, to })
}

impl Report {
    pub const fn total(&self) -> Totals {
        self.total
    }

    /// The names of the columns of a table.
    pub fn header(&self) -> Vec<&'static str> {
        let groups = self.grouping.dimensions().iter().flat_map(|dimension| dimension.members());
        groups.copied().chain(NUMBERS).collect()
    }

    /// The lines of a table; a member that a group does not have is empty.
    pub fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.data.iter().map(|Line { groups, totals }| {
            let members = groups.0.iter().flat_map(Group::members);
            members.map(|(_, value)| value.unwrap_or_default()).chain(numbers(*totals)).collect()
        })
    }

    /// The line below a table; it has no groups.
    pub fn total_row(&self) -> Vec<String> {
        let groups = self.header().len() - NUMBERS.len();
        std::iter::repeat_n(String::new(), groups).chain(numbers(self.total)).collect()
    }

    /// As `?format=csv`: RFC 4180 with a header and without the total. No value has a comma or a quotation mark in it.
    pub fn to_csv(&self) -> String {
        let mut text = self.header().join(",") + "\r\n";
        for row in self.rows() {
            text.push_str(&row.join(","));
            text.push_str("\r\n");
        }
        text
    }
}

fn numbers(totals: Totals) -> [String; NUMBERS.len()] {
    [
        totals.requests.to_string(),
        totals.prompt_tokens.to_string(),
        totals.completion_tokens.to_string(),
        totals.cached_tokens.to_string(),
        totals.cost.to_string(),
    ]
}

/// The members of its groups in the order asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Groups(Vec<Group>);

impl Serialize for Groups {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().flat_map(Group::members))
    }
}

/// What a rebuild looked at, and how many rows it had to correct: none, as a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rebuilt {
    pub workspaces: u64,
    pub hours: u64,
    pub days: u64,
    pub rows_corrected: u64,
}

/// Adds all events up again and corrects the sums that differ, beside running nodes.
pub async fn rebuild(store: &Store, author: &Author, now: Timestamp) -> Result<Rebuilt, CommandError> {
    let mut rebuilt = Rebuilt::default();
    let mut last = None;
    // What was added up from events that are gone stays as it is.
    let cleared_before = retention::events_cleared_before(store).await?;
    let first_hour = cleared_before.map_or_else(Timestamp::default, |moment| Grain::Hour.start_at_or_after(moment));
    while let Some(workspace) = check::next_workspace(store, last.as_ref()).await? {
        rebuilt.workspaces += 1;
        // Hours first: days are held against them.
        let (hours, rows) = rebuild_all(store, &workspace, Grain::Hour, first_hour).await?;
        rebuilt.hours += hours;
        rebuilt.rows_corrected += rows;
        let (days, rows) = rebuild_all(store, &workspace, Grain::Day, Timestamp::default()).await?;
        rebuilt.days += days;
        rebuilt.rows_corrected += rows;
        last = Some(workspace);
    }
    if rebuilt.rows_corrected > 0 {
        let mut tx = store.begin().await?;
        let detail = format!("{} rows corrected", rebuilt.rows_corrected);
        author.did(&mut tx, "usage.rebuild", None, "usage", detail, now).await?;
        tx.commit().await?;
    }
    Ok(rebuilt)
}

/// How many hours or days there were, and how many rows were corrected.
async fn rebuild_all(
    store: &Store,
    workspace: &WorkspaceId,
    grain: Grain,
    mut from: Timestamp,
) -> Result<(u64, u64), CommandError> {
    let (mut count, mut rows) = (0, 0);
    while let Some(start) = check::next_start(store, workspace, grain, from).await? {
        count += 1;
        rows += check::correct(store, workspace, grain, start).await?;
        from = Timestamp::from_millis(start.millis() + grain.millis());
    }
    Ok((count, rows))
}
