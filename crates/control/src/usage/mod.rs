//! The usage of workspaces: reports, the rebuild of sums, and the loop that writes events.

mod consumers;
mod organizations;
mod writer;

pub use consumers::{ConsumerOrder, largest};
pub use organizations::{Ranked, list_by_usage, this_month};
pub(crate) use writer::record_events;
pub use writer::{JournalDrain, QuarantinedEvents};

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use domain::grouping::{Dimension, Group};
use domain::span::{Piece, Source, plan, plan_by_end_user};
use domain::usage::{Actor, Totals};
use domain::{EndUserId, Grain, Grouping, Span, Timestamp, WorkspaceId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::usage::sums::{self, Selection, Summed, Sums, check};
use store::{Store, api_keys, end_users, retention, workspaces};

/// One line per group with usage, and their sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub grouping: Grouping,
    pub lines: Vec<Summed>,
    pub total: Totals,
    /// The names of end users that the workspace keeps.
    pub end_users: HashMap<EndUserId, String>,
}

/// What a report covers; by default the current month.
#[derive(Debug, Clone, Default)]
pub struct ReportQuery {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub grouping: Grouping,
    /// Only calls of this key or user.
    pub actor: Option<Actor>,
}

/// The usage of a workspace in a span. A deleted workspace still has its usage.
pub async fn report(
    store: &Store,
    workspace: &WorkspaceId,
    query: ReportQuery,
    now: Timestamp,
) -> Result<Report, CommandError> {
    let ReportQuery { from, to, grouping, actor } = query;
    let span = Span::or_month_of(now, from, to)?;
    let selection = Selection { workspace, actor: actor.as_ref() };
    let is_by = |dimension| grouping.dimensions().contains(&dimension);
    let pieces = if is_by(Dimension::EndUser) {
        // Only whole days are summed by end user.
        let (from, to) = (Grain::Day.start_of(span.from), Grain::Day.start_at_or_after(span.to));
        plan_by_end_user(Span { from, to })
    } else if is_by(Dimension::Surface) {
        pieces_of_events(store, readable(store, span).await?, now).await?
    } else {
        plan(readable(store, span).await?, now)
    };
    let found = match grouping.label() {
        None => sums::read(store, selection, &pieces, &grouping).await?,
        Some(label) => by_label(store, selection, &pieces, &grouping, label).await?,
    };
    let total: Totals = found.iter().map(|sum| sum.totals).sum();
    if total == Totals::default() && workspaces::by_id(store, workspace).await?.is_none() {
        return Err(CommandError::missing("workspace", workspace.as_str()));
    }
    let end_users = names_of_end_users(store, workspace, &found).await?;
    Ok(Report { grouping, lines: found, total, end_users })
}

async fn names_of_end_users(
    store: &Store,
    workspace: &WorkspaceId,
    lines: &[Summed],
) -> Result<HashMap<EndUserId, String>, CommandError> {
    let groups = lines.iter().flat_map(|line| &line.groups);
    let ids: BTreeSet<_> = groups
        .filter_map(|group| match group {
            Group::EndUser(id) => id.clone(),
            _ => None,
        })
        .collect();
    Ok(end_users::texts(store, workspace, &ids.into_iter().collect::<Vec<_>>()).await?)
}

/// The usage by a label that keys have now, which is the last group of each line.
async fn by_label(
    store: &Store,
    selection: Selection<'_>,
    pieces: &[Piece],
    grouping: &Grouping,
    label: &str,
) -> Result<Vec<Summed>, CommandError> {
    let wanted = grouping.dimensions();
    let with_key: Vec<Dimension> = wanted.iter().copied().filter(|one| *one != Dimension::Key).collect();
    let with_key = Grouping::from(&[&with_key[..], &[Dimension::Key]].concat()[..]);
    let labels = api_keys::labels(store, selection.workspace).await?;
    let mut lines: BTreeMap<Vec<Group>, Totals> = BTreeMap::new();
    for Summed { mut groups, totals } in sums::read(store, selection, pieces, &with_key).await? {
        let caller = groups.pop();
        let value = match &caller {
            Some(Group::Actor(Actor::Key(key))) => labels.get(key).and_then(|labels| labels.get(label)).cloned(),
            _ => None,
        };
        if let Some(place) = wanted.iter().position(|one| *one == Dimension::Key) {
            groups.splice(place..place, caller);
        }
        groups.push(Group::Label(value));
        *lines.entry(groups).or_default() += totals;
    }
    Ok(lines.into_iter().map(|(groups, totals)| Summed { groups, totals }).collect())
}

/// Reads single events, because sums do not distinguish surfaces. Where events are deleted, sums without surface are left.
async fn pieces_of_events(store: &Store, span: Span, now: Timestamp) -> Result<Vec<Piece>, CommandError> {
    let cleared = retention::events_cleared_before(store).await?.unwrap_or_default();
    let first = Grain::Hour.start_at_or_after(cleared).clamp(span.from, span.to);
    let mut pieces = plan(Span { from: span.from, to: first }, now);
    pieces.push(Piece::plus(Source::Events, Span { from: first, to: span.to }));
    pieces.retain(|piece| !piece.span.is_empty());
    Ok(pieces)
}

/// Extends the edges of the span to whole hours where single events are already deleted and only sums are left.
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

/// The extent of a rebuild, and the number of rows that it corrected; usually none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rebuilt {
    pub workspaces: u64,
    pub hours: u64,
    pub days: u64,
    pub rows_corrected: u64,
}

/// Adds up all events again and corrects sums that differ, while nodes are running.
pub async fn rebuild(command: Command<'_>) -> Result<Rebuilt, CommandError> {
    let mut rebuilt = Rebuilt::default();
    let mut last = None;
    // Sums of deleted events stay unchanged.
    let cleared_before = retention::events_cleared_before(command.store).await?.unwrap_or_default();
    let classes_unknown_before = retention::classes_unknown_before(command.store).await?.unwrap_or_default();
    while let Some(workspace) = check::next_workspace(command.store, last.as_ref()).await? {
        rebuilt.workspaces += 1;
        for sums in Sums::ALL {
            let first = match sums {
                Sums::Of(Grain::Day) => Timestamp::default(),
                Sums::Of(Grain::Hour) | Sums::EndUsers => sums.grain().start_at_or_after(cleared_before),
                Sums::Classes => sums.grain().start_at_or_after(cleared_before.max(classes_unknown_before)),
            };
            let (count, rows) = rebuild_all(command.store, &workspace, sums, first).await?;
            rebuilt.rows_corrected += rows;
            match sums {
                Sums::Of(Grain::Hour) => rebuilt.hours += count,
                Sums::Of(Grain::Day) => rebuilt.days += count,
                Sums::Classes | Sums::EndUsers => {} // the same days
            }
        }
        last = Some(workspace);
    }
    if rebuilt.rows_corrected > 0 {
        let mut tx = command.store.begin().await?;
        let detail = format!("{} rows corrected", rebuilt.rows_corrected);
        let change = AuditedChange::new("usage.rebuild", None, "usage").detail(detail);
        command.record(&mut tx, change).await?;
        tx.commit().await?;
    }
    Ok(rebuilt)
}

/// The number of hours or days, and of corrected rows.
async fn rebuild_all(
    store: &Store,
    workspace: &WorkspaceId,
    sums: Sums,
    mut from: Timestamp,
) -> Result<(u64, u64), CommandError> {
    let (mut count, mut rows) = (0, 0);
    while let Some(start) = check::next_start(store, workspace, sums, from).await? {
        count += 1;
        rows += check::correct(store, workspace, sums, start).await?;
        from = Timestamp::from_millis(start.millis() + sums.grain().millis());
    }
    Ok((count, rows))
}
