//! One statement that adds up pieces of usage. A single statement sees a consistent snapshot.

use super::Sums;
use super::amounts::{Amounts, COLUMNS};
use crate::db::Query;
use crate::error::StoreError;
use crate::row;
use domain::grouping::{Dimension, Group};
use domain::span::{EndUserRows, Piece, Sign, Source};
use domain::usage::{Actor, CallSurface};
use domain::{Day, EndUserId, Grain, ModelId, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// Whose usage to read.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    pub workspace: &'a WorkspaceId,
    /// Only calls of this key or user; `None` for all.
    pub actor: Option<&'a Actor>,
}

impl<'a> Selection<'a> {
    pub const fn all(workspace: &'a WorkspaceId) -> Self {
        Self { workspace, actor: None }
    }
}

/// Adds up the pieces by columns. `pieces` must not be empty.
pub(super) fn query<'q>(selection: Selection<'q>, pieces: &[Piece], by: &[&str]) -> Query<'q> {
    let text = text(pieces, by, selection.actor.is_some());
    let mut query = sqlx::query(AssertSqlSafe(text)).bind(selection.workspace.as_str());
    for piece in pieces {
        query = query.bind(piece.span.from.millis()).bind(piece.span.to.millis());
    }
    match selection.actor {
        Some(actor) => query.bind(actor.as_str()),
        None => query,
    }
}

pub(super) fn groups_and_amounts(found: &AnyRow, by: &[Dimension]) -> Result<(Vec<Group>, Amounts), StoreError> {
    let groups = by.iter().map(|dimension| group(found, *dimension)).collect::<Result<_, _>>()?;
    Ok((groups, Amounts::read(found)?))
}

fn group(found: &AnyRow, dimension: Dimension) -> Result<Group, StoreError> {
    Ok(match dimension {
        Dimension::Model => Group::Model(row::parsed(found, "model", |text| ModelId::parse(text).ok())?),
        Dimension::Key => Group::Actor(row::parsed(found, "actor", Actor::parse)?),
        Dimension::Day => Group::Day(Day::of(row::moment(found, "day")?)),
        Dimension::Surface => Group::Surface(CallSurface::parse(&row::text(found, "surface")?)),
        Dimension::EndUser => Group::EndUser(EndUserId::parse(&row::text(found, "end_user")?)),
    })
}

fn text(pieces: &[Piece], by: &[&str], of_one_actor: bool) -> String {
    let sums = COLUMNS.map(|column| format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT) AS {column}"));
    let selected = by.iter().copied().chain(sums.iter().map(String::as_str)).collect::<Vec<_>>().join(", ");
    let grouped = if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
    let actor = if of_one_actor { format!(" AND actor = ${}", pieces.len() * 2 + 2) } else { String::new() };
    format!("SELECT {selected} FROM ({}) AS pieces{grouped}", parts(pieces, &format!("workspace_id = $1{actor}")))
}

/// The rows of the pieces that fulfil a condition. The bounds of the pieces are the parameters from 2 on.
pub(super) fn parts(pieces: &[Piece], condition: &str) -> String {
    let numbered = (1..).map(|number| number * 2).zip(pieces);
    numbered.map(|(at, piece)| part(*piece, at, condition)).collect::<Vec<_>>().join(" UNION ALL ")
}

pub(super) const fn group_column(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Model => "model",
        Dimension::Key => "actor",
        Dimension::Day => "day",
        Dimension::Surface => "surface",
        Dimension::EndUser => "end_user",
    }
}

/// Events of an end user who is not known are in no sum of end users.
const EVENTS_OF_END_USERS: &str = "(SELECT e.* FROM usage_events e JOIN end_users u \
     ON u.workspace_id = e.workspace_id AND u.id = e.end_user) AS named";

/// Dedicated endpoints cost GPU-hours, so their calls are in no sum of classes.
const EVENTS_OF_CLASSES: &str =
    "(SELECT * FROM usage_events WHERE class <> 'interactive' AND SUBSTR(model, 1, 10) <> 'dedicated/') AS apart";

/// The rows of one piece; the bounds of its span are the parameters `at` and `at + 1`.
fn part(piece: Piece, at: usize, condition: &str) -> String {
    let sign = match piece.sign {
        Sign::Plus => "",
        Sign::Minus => "-",
    };
    let served = "(CASE WHEN certainty = 'void' THEN 0 ELSE 1 END)";
    let (table, moment, requests, own): (&str, &str, &str, &[&str]) = match piece.source {
        Source::Sums(grain) => (Sums::Of(grain).table(), "starts_at", "requests", &["actor"]),
        Source::Classes => (Sums::Classes.table(), "starts_at", "requests", &["class"]),
        Source::EndUsers(EndUserRows::Named) => {
            (Sums::EndUsers.table(), "starts_at", "requests", &["actor", "end_user"])
        }
        Source::EndUsers(EndUserRows::Unnamed) => (Sums::EndUsers.table(), "starts_at", "requests", &["actor"]),
        Source::Events => ("usage_events", "started_at", served, &["actor", "surface"]),
        Source::EventsOfClasses => (EVENTS_OF_CLASSES, "started_at", served, &["class"]),
        Source::EventsOfEndUsers => (EVENTS_OF_END_USERS, "started_at", served, &["actor", "surface", "end_user"]),
    };
    let groups = ["actor", "surface", "end_user", "class"]
        .map(|column| if own.contains(&column) { column.to_owned() } else { format!("'' AS {column}") })
        .join(", ");
    let [counted, amounts @ ..] = COLUMNS;
    let amounts = amounts.map(|column| format!("{sign}{column} AS {column}")).join(", ");
    format!(
        "SELECT {moment} - {moment} % {day} AS day, workspace_id, model, {groups}, {sign}{requests} AS {counted}, {amounts} \
         FROM {table} WHERE {condition} AND {moment} >= ${at} AND {moment} < ${next}",
        day = Grain::Day.millis(),
        next = at + 1,
    )
}
