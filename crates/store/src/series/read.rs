//! Reads series.

use super::add::sketch;
use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::row;
use domain::series::{Level, Resolution, Tally, Timing};
use domain::{Span, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// One row more than this is read, so that who asked for too much can be told.
pub const MAX_ROWS: usize = 100_000;

/// Which rows are asked for. Its level tells models and callers apart where they are named here.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub workspace: &'a WorkspaceId,
    pub resolution: Resolution,
    pub level: Level,
    pub span: Span,
    pub model: Option<&'a str>,
    pub actor: Option<&'a str>,
}

/// What is read of the rows; the rest of their tallies stays empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Counts,
    Timing(Timing),
}

#[derive(Debug, Clone)]
pub struct Point {
    pub starts_at: Timestamp,
    pub model: String,
    pub actor: String,
    pub tally: Tally,
}

/// Errors of one row with one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coded {
    pub starts_at: Timestamp,
    pub model: String,
    pub actor: String,
    pub code: String,
    pub calls: u64,
}

pub async fn read(store: &Store, question: Question<'_>, wanted: Wanted) -> Result<Vec<Point>, StoreError> {
    let columns = match wanted {
        Wanted::Counts => super::COUNTS.join(", "),
        Wanted::Timing(timing) => column(timing).to_owned(),
    };
    let text = text("series", &columns, &question);
    let found = store.rows(bound(sqlx::query(AssertSqlSafe(text)), &question)).await?;
    let point = |found: &AnyRow| {
        let tally = match wanted {
            Wanted::Counts => counts_of(found)?,
            Wanted::Timing(timing) => timed(timing, found)?,
        };
        let (model, actor) = (row::text(found, "model")?, row::text(found, "actor")?);
        Ok(Point { starts_at: row::moment(found, "starts_at")?, model, actor, tally })
    };
    found.iter().map(point).collect()
}

pub async fn read_codes(store: &Store, question: Question<'_>) -> Result<Vec<Coded>, StoreError> {
    let text = text("series_codes", "code, calls", &question);
    let found = store.rows(bound(sqlx::query(AssertSqlSafe(text)), &question)).await?;
    let coded = |found: &AnyRow| {
        Ok(Coded {
            starts_at: row::moment(found, "starts_at")?,
            model: row::text(found, "model")?,
            actor: row::text(found, "actor")?,
            code: row::text(found, "code")?,
            calls: row::count(found, "calls")?,
        })
    };
    found.iter().map(coded).collect()
}

fn text(table: &str, columns: &str, question: &Question<'_>) -> String {
    let mut text = format!(
        "SELECT starts_at, model, actor, {columns} FROM {table} WHERE workspace_id = $1 AND resolution = $2 \
         AND level = $3 AND starts_at >= $4 AND starts_at < $5"
    );
    let mut next = 6;
    for (column, value) in [("model", question.model), ("actor", question.actor)] {
        if value.is_some() {
            text += &format!(" AND {column} = ${next}");
            next += 1;
        }
    }
    text + &format!(" ORDER BY starts_at LIMIT ${next}")
}

fn bound<'q>(query: Query<'q>, question: &Question<'q>) -> Query<'q> {
    let mut query = query
        .bind(question.workspace.as_str())
        .bind(question.resolution.millis())
        .bind(question.level.number())
        .bind(question.span.from.millis())
        .bind(question.span.to.millis());
    for value in [question.model, question.actor].into_iter().flatten() {
        query = query.bind(value);
    }
    query.bind(i64::try_from(MAX_ROWS + 1).unwrap_or(i64::MAX))
}

const fn column(timing: Timing) -> &'static str {
    match timing {
        Timing::Ttft => "ttft",
        Timing::TimePerOutputToken => "time_per_output_token",
        Timing::Latency => "latency",
        Timing::Hold => "hold",
        Timing::Queue => "queue",
    }
}

/// Without the sketches.
pub(super) fn counts_of(found: &AnyRow) -> Result<Tally, StoreError> {
    Ok(Tally {
        requests: row::count(found, "requests")?,
        errors: row::count(found, "errors")?,
        prompt_tokens: row::count(found, "prompt_tokens")?,
        completion_tokens: row::count(found, "completion_tokens")?,
        cached_tokens: row::count(found, "cached_tokens")?,
        busy_micros: row::count(found, "busy_micros")?,
        ..Tally::default()
    })
}

fn timed(timing: Timing, found: &AnyRow) -> Result<Tally, StoreError> {
    let sketch = sketch(found, column(timing))?;
    let mut tally = Tally::default();
    *tally.timing_mut(timing) = sketch;
    Ok(tally)
}
