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

/// What is read of the rows; the rest of their tallies stays empty. A row is read faster the less of it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Requests,
    Errors,
    Tokens,
    Busy,
    Timing(Timing),
}

impl Wanted {
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Requests => &["requests"],
            Self::Errors => &["errors"],
            Self::Tokens => &["prompt_tokens", "completion_tokens", "cached_tokens"],
            Self::Busy => &["busy_micros"],
            Self::Timing(Timing::Ttft) => &["ttft"],
            Self::Timing(Timing::TimePerOutputToken) => &["time_per_output_token"],
            Self::Timing(Timing::Latency) => &["latency"],
            Self::Timing(Timing::Hold) => &["hold"],
            Self::Timing(Timing::Queue) => &["queue"],
        }
    }

    fn tally(self, found: &AnyRow) -> Result<Tally, StoreError> {
        let count = |column| row::count(found, column);
        let mut tally = Tally::default();
        match self {
            Self::Requests => tally.requests = count("requests")?,
            Self::Errors => tally.errors = count("errors")?,
            Self::Tokens => {
                tally.prompt_tokens = count("prompt_tokens")?;
                tally.completion_tokens = count("completion_tokens")?;
                tally.cached_tokens = count("cached_tokens")?;
            }
            Self::Busy => tally.busy_micros = count("busy_micros")?,
            Self::Timing(timing) => *tally.timing_mut(timing) = sketch(found, self.columns()[0])?,
        }
        Ok(tally)
    }
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
    let text = text("series", wanted.columns(), &question);
    let found = store.rows(bound(sqlx::query(AssertSqlSafe(text)), &question)).await?;
    let point = |found: &AnyRow| {
        let (model, actor) = told(found, question.level)?;
        Ok(Point { starts_at: row::moment(found, "starts_at")?, model, actor, tally: wanted.tally(found)? })
    };
    found.iter().map(point).collect()
}

/// The model and the caller of a row; empty where the level does not tell them.
fn told(found: &AnyRow, level: Level) -> Result<(String, String), StoreError> {
    let text = |is_told: bool, column| if is_told { row::text(found, column) } else { Ok(String::new()) };
    Ok((text(level.tells_models(), "model")?, text(level.tells_callers(), "actor")?))
}

pub async fn read_codes(store: &Store, question: Question<'_>) -> Result<Vec<Coded>, StoreError> {
    let text = text("series_codes", &["code", "calls"], &question);
    let found = store.rows(bound(sqlx::query(AssertSqlSafe(text)), &question)).await?;
    let coded = |found: &AnyRow| {
        let (model, actor) = told(found, question.level)?;
        Ok(Coded {
            starts_at: row::moment(found, "starts_at")?,
            model,
            actor,
            code: row::text(found, "code")?,
            calls: row::count(found, "calls")?,
        })
    };
    found.iter().map(coded).collect()
}

fn text(table: &str, columns: &[&str], question: &Question<'_>) -> String {
    let told = [("model", question.level.tells_models()), ("actor", question.level.tells_callers())];
    let told = told.iter().filter(|(_, is_told)| *is_told).map(|(column, _)| column);
    let columns: Vec<&str> = ["starts_at"].iter().chain(told).chain(columns).copied().collect();
    let mut text = format!(
        "SELECT {} FROM {table} WHERE workspace_id = $1 AND resolution = $2 AND level = $3 AND starts_at >= $4 \
         AND starts_at < $5",
        columns.join(", ")
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
