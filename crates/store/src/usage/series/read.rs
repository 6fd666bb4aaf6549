//! Reads the series.

use super::add::sketch;
use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::row;
use domain::series::{Level, Resolution, Tally, Timing};
use domain::{Span, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// One row more than this is read, so that the caller can detect that there are too many.
pub const MAX_ROWS: usize = 100_000;

/// Selects rows. The level must have models if `model` is set, and actors if `actor` is set.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// `None` for all workspaces.
    pub workspace: Option<&'a WorkspaceId>,
    pub resolution: Resolution,
    pub level: Level,
    pub span: Span,
    pub model: Option<&'a str>,
    pub actor: Option<&'a str>,
}

impl<'a> Selection<'a> {
    /// The columns that must have one value, if it is given.
    fn equalities(&self) -> [(&'static str, Option<&'a str>); 3] {
        [("workspace_id", self.workspace.map(WorkspaceId::as_str)), ("model", self.model), ("actor", self.actor)]
    }
}

/// The columns to read; the rest of the tallies stays empty. Fewer columns are read faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Requests,
    Tokens,
    Busy,
    Timing(Timing),
}

impl Measure {
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Requests => &["requests"],
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

/// The number of errors with one code in one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeCount {
    pub starts_at: Timestamp,
    pub model: String,
    pub actor: String,
    pub code: String,
    pub calls: u64,
}

pub async fn read(store: &Store, selection: Selection<'_>, measure: Measure) -> Result<Vec<Point>, StoreError> {
    let text = text("series", measure.columns(), &selection);
    let found = store.rows(bind(sqlx::query(AssertSqlSafe(text)), &selection)).await?;
    let point = |found: &AnyRow| {
        let (model, actor) = model_and_actor(found, selection.level)?;
        Ok(Point { starts_at: row::moment(found, "starts_at")?, model, actor, tally: measure.tally(found)? })
    };
    found.iter().map(point).collect()
}

/// The model and the actor of a row; empty if the level does not have them.
fn model_and_actor(found: &AnyRow, level: Level) -> Result<(String, String), StoreError> {
    let text = |is_present: bool, column| if is_present { row::text(found, column) } else { Ok(String::new()) };
    Ok((text(level.has_models(), "model")?, text(level.has_actors(), "actor")?))
}

pub async fn read_codes(store: &Store, selection: Selection<'_>) -> Result<Vec<CodeCount>, StoreError> {
    let text = text("series_codes", &["code", "calls"], &selection);
    let found = store.rows(bind(sqlx::query(AssertSqlSafe(text)), &selection)).await?;
    let coded = |found: &AnyRow| {
        let (model, actor) = model_and_actor(found, selection.level)?;
        Ok(CodeCount {
            starts_at: row::moment(found, "starts_at")?,
            model,
            actor,
            code: row::text(found, "code")?,
            calls: row::count(found, "calls")?,
        })
    };
    found.iter().map(coded).collect()
}

fn text(table: &str, columns: &[&str], selection: &Selection<'_>) -> String {
    let keys = [("model", selection.level.has_models()), ("actor", selection.level.has_actors())];
    let keys = keys.iter().filter(|(_, is_present)| *is_present).map(|(column, _)| column);
    let columns: Vec<&str> = ["starts_at"].iter().chain(keys).chain(columns).copied().collect();
    let mut text = format!(
        "SELECT {} FROM {table} WHERE resolution = $1 AND level = $2 AND starts_at >= $3 AND starts_at < $4",
        columns.join(", ")
    );
    let mut next = 5;
    for (column, value) in selection.equalities() {
        if value.is_some() {
            text += &format!(" AND {column} = ${next}");
            next += 1;
        }
    }
    text + &format!(" ORDER BY starts_at LIMIT ${next}")
}

fn bind<'q>(query: Query<'q>, selection: &Selection<'q>) -> Query<'q> {
    let mut query = query
        .bind(selection.resolution.millis())
        .bind(selection.level.number())
        .bind(selection.span.from.millis())
        .bind(selection.span.to.millis());
    for value in selection.equalities().into_iter().filter_map(|(_, value)| value) {
        query = query.bind(value);
    }
    query.bind(i64::try_from(MAX_ROWS + 1).unwrap_or(i64::MAX))
}

/// The counts of a row, without its sketches.
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
