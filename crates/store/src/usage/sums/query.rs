//! One statement that adds up pieces of usage. A single statement sees a consistent snapshot.

use super::amounts::{Amounts, COLUMNS};
use super::{END_USERS, table};
use crate::db::Query;
use crate::error::StoreError;
use crate::row;
use domain::grouping::{Dimension, Group};
use domain::span::{EndUserRows, Piece, Sign, Source};
use domain::usage::{Actor, CallSurface};
use domain::{Day, EndUserId, Grain, ModelId, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// `pieces` must not be empty.
pub(super) fn query<'q>(workspace: &'q WorkspaceId, pieces: &[Piece], by: &[Dimension]) -> Query<'q> {
    let mut query = sqlx::query(AssertSqlSafe(text(pieces, by))).bind(workspace.as_str());
    for piece in pieces {
        query = query.bind(piece.span.from.millis()).bind(piece.span.to.millis());
    }
    query
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

fn text(pieces: &[Piece], by: &[Dimension]) -> String {
    let groups: Vec<&str> = by.iter().map(|dimension| group_column(*dimension)).collect();
    let sums = COLUMNS.map(|column| format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT) AS {column}"));
    let selected = groups.iter().copied().chain(sums.iter().map(String::as_str)).collect::<Vec<_>>().join(", ");
    let grouped = if groups.is_empty() { String::new() } else { format!(" GROUP BY {}", groups.join(", ")) };
    format!("SELECT {selected} FROM ({}) AS pieces{grouped}", parts(pieces, "= $1"))
}

/// The rows of the pieces, of the workspaces whose ids fulfil a condition. The bounds of the pieces are the parameters from 2 on.
pub(super) fn parts(pieces: &[Piece], workspaces: &str) -> String {
    let numbered = (1..).map(|number| number * 2).zip(pieces);
    numbered.map(|(at, piece)| part(*piece, at, workspaces)).collect::<Vec<_>>().join(" UNION ALL ")
}

const fn group_column(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Model => "model",
        Dimension::Key => "actor",
        Dimension::Day => "day",
        Dimension::Surface => "surface",
        Dimension::EndUser => "end_user",
    }
}

/// The rows of one piece; the bounds of its span are the parameters `at` and `at + 1`.
fn part(piece: Piece, at: usize, workspaces: &str) -> String {
    let sign = match piece.sign {
        Sign::Plus => "",
        Sign::Minus => "-",
    };
    let (table, moment, surface, end_user, requests) = match piece.source {
        Source::Sums(grain) => (table(grain), "starts_at", "''", "''", "requests"),
        Source::EndUsers(EndUserRows::Named) => (END_USERS, "starts_at", "''", "end_user", "requests"),
        Source::EndUsers(EndUserRows::Unnamed) => (END_USERS, "starts_at", "''", "''", "requests"),
        Source::Events => {
            let served = "(CASE WHEN certainty = 'void' THEN 0 ELSE 1 END)";
            ("usage_events", "started_at", "surface", "''", served)
        }
    };
    let [counted, amounts @ ..] = COLUMNS;
    let amounts = amounts.map(|column| format!("{sign}{column} AS {column}")).join(", ");
    format!(
        "SELECT {moment} - {moment} % {day} AS day, workspace_id, model, actor, {surface} AS surface, {end_user} AS end_user, \
         {sign}{requests} AS {counted}, {amounts} FROM {table} WHERE workspace_id {workspaces} AND {moment} >= ${at} AND {moment} < ${next}",
        day = Grain::Day.millis(),
        next = at + 1,
    )
}
