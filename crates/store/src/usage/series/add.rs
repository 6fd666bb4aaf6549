//! Adds usage to the series.
//!
//! SQL cannot add to a sketch. So a transaction reads its rows, merges and writes them back. On PostgreSQL it creates and locks
//! them first, in the same order everywhere: a concurrent transaction waits for the locks and sees the result.

use super::gather::{self, Gathered, Rejections, SeriesKey, SeriesRow};
use super::read::counts_of;
use super::{COUNTS, KEY, SKETCHES};
use crate::db::{Engine, Query, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, insert_text, values_text};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use domain::UsageEvent;
use domain::series::Tally;
use domain::sketch::Sketch;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

/// Adds newly stored events.
pub(crate) async fn add(tx: &mut Tx, events: &[&UsageEvent]) -> Result<(), StoreError> {
    write(tx, gather::of_events(events)).await
}

/// Adds rejected calls, which have no usage event.
pub async fn add_rejections(tx: &mut Tx, rejections: &[Rejections]) -> Result<(), StoreError> {
    write(tx, gather::of_rejections(rejections)).await
}

async fn write(tx: &mut Tx, gathered: Gathered<'_>) -> Result<(), StoreError> {
    for chunk in chunks(&gathered.rows()) {
        let before = stored(tx, chunk).await?;
        overwrite(tx, chunk, before).await?;
    }
    let codes: Vec<(SeriesKey<'_>, &str, u64)> =
        gathered.codes.into_iter().map(|((key, code), calls)| (key, code, calls)).collect();
    for chunk in chunks(&codes) {
        add_codes(tx, chunk).await?;
    }
    Ok(())
}

/// What is stored of these rows so far, in their order. No other transaction changes them until this one ends.
async fn stored(tx: &mut Tx, rows: &[SeriesRow<'_, '_>]) -> Result<Vec<Tally>, StoreError> {
    match tx.engine() {
        Engine::Sqlite => find(tx, rows).await,
        Engine::Postgres => lock(tx, rows).await,
    }
}

/// SQLite has one writer at a time, so there is nothing to lock.
async fn find(tx: &mut Tx, rows: &[SeriesRow<'_, '_>]) -> Result<Vec<Tally>, StoreError> {
    let same_key = KEY.map(|column| format!("series.{column} = wanted.{column}")).join(" AND ");
    // SQLite joins the tables of a CROSS JOIN in their order.
    let text = format!(
        "WITH wanted (place, {}) AS ({}) SELECT place, {} FROM wanted CROSS JOIN series ON {same_key}",
        KEY.join(", "),
        values_text(tx.engine(), 1 + KEY.len(), rows.len()),
        [&COUNTS[..], &SKETCHES].concat().join(", "),
    );
    let mut query = sqlx::query(AssertSqlSafe(text));
    for (place, row) in (0_i64..).zip(rows) {
        query = bind(query.bind(place), &row.key);
    }
    let mut before = vec![Tally::default(); rows.len()];
    for found in tx.rows(query).await? {
        let place = usize::try_from(row::number(&found, "place")?).ok();
        *place.and_then(|place| before.get_mut(place)).ok_or_else(|| row::corrupt("series"))? = tally(&found)?;
    }
    Ok(before)
}

/// Locks the rows, creating missing ones.
async fn lock(tx: &mut Tx, rows: &[SeriesRow<'_, '_>]) -> Result<Vec<Tally>, StoreError> {
    let text = insert_text(tx.engine(), "series", &KEY.join(", "), rows.len());
    let columns = [&KEY[..], &COUNTS, &SKETCHES].concat().join(", ");
    let text =
        format!("{text} ON CONFLICT ({}) DO UPDATE SET requests = series.requests RETURNING {columns}", KEY.join(", "));
    let lock = rows.iter().fold(sqlx::query(AssertSqlSafe(text)), |lock, row| bind(lock, &row.key));
    let mut found: HashMap<OwnedKey, Tally> = HashMap::with_capacity(rows.len());
    for row in tx.rows(lock).await? {
        found.insert(read_key(&row)?, tally(&row)?);
    }
    rows.iter().map(|added| found.remove(&OwnedKey::from(&added.key)).ok_or_else(|| row::corrupt("series"))).collect()
}

/// Writes the sum of what was stored and what is added.
async fn overwrite(tx: &mut Tx, rows: &[SeriesRow<'_, '_>], before: Vec<Tally>) -> Result<(), StoreError> {
    let written = [&COUNTS[..], &SKETCHES].concat();
    let columns = [&KEY[..], &written].concat().join(", ");
    let text = insert_text(tx.engine(), "series", &columns, rows.len());
    let sets: Vec<String> = written.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let text = format!("{text} ON CONFLICT ({}) DO UPDATE SET {}", KEY.join(", "), sets.join(", "));
    let mut upsert = sqlx::query(AssertSqlSafe(text));
    for (added, mut tally) in rows.iter().zip(before) {
        added.add_to(&mut tally);
        upsert = bind(upsert, &added.key);
        for count in counts(&tally) {
            upsert = upsert.bind(row::to_number(count));
        }
        for sketch in sketches(&tally) {
            upsert = upsert.bind(BASE64_STANDARD_NO_PAD.encode(sketch.to_bytes()));
        }
    }
    tx.execute(upsert).await.map(drop)
}

async fn add_codes(tx: &mut Tx, rows: &[(SeriesKey<'_>, &str, u64)]) -> Result<(), StoreError> {
    let columns = [&KEY[..], &["code"]].concat().join(", ");
    let text = insert_text(tx.engine(), "series_codes", &format!("{columns}, calls"), rows.len());
    let text = format!("{text} ON CONFLICT ({columns}) DO UPDATE SET calls = series_codes.calls + excluded.calls");
    let mut upsert = sqlx::query(AssertSqlSafe(text));
    for (key, code, calls) in rows {
        upsert = bind(upsert, key).bind(*code).bind(row::to_number(*calls));
    }
    tx.execute(upsert).await.map(drop)
}

fn bind<'q>(query: Query<'q>, key: &SeriesKey<'q>) -> Query<'q> {
    let SeriesKey { workspace, resolution, level, starts_at, model, actor } = *key;
    query.bind(workspace).bind(resolution).bind(level).bind(starts_at).bind(model).bind(actor)
}

/// A key as it is returned by the database.
#[derive(PartialEq, Eq, Hash)]
struct OwnedKey(i64, i64, i64, String, String, String);

impl From<&SeriesKey<'_>> for OwnedKey {
    fn from(key: &SeriesKey<'_>) -> Self {
        let texts = [key.workspace, key.model, key.actor].map(str::to_owned);
        let [workspace, model, actor] = texts;
        Self(key.resolution, key.level, key.starts_at, workspace, model, actor)
    }
}

fn read_key(found: &AnyRow) -> Result<OwnedKey, StoreError> {
    Ok(OwnedKey(
        row::number(found, "resolution")?,
        row::number(found, "level")?,
        row::number(found, "starts_at")?,
        row::text(found, "workspace_id")?,
        row::text(found, "model")?,
        row::text(found, "actor")?,
    ))
}

fn tally(found: &AnyRow) -> Result<Tally, StoreError> {
    Ok(Tally {
        ttft: sketch(found, "ttft")?,
        time_per_output_token: sketch(found, "time_per_output_token")?,
        latency: sketch(found, "latency")?,
        hold: sketch(found, "hold")?,
        queue: sketch(found, "queue")?,
        ..counts_of(found)?
    })
}

pub(super) fn sketch(found: &AnyRow, column: &str) -> Result<Sketch, StoreError> {
    let bytes = BASE64_STANDARD_NO_PAD.decode(row::text(found, column)?).map_err(|_| row::corrupt(column))?;
    Sketch::from_bytes(&bytes).map_err(|_| row::corrupt(column))
}

fn counts(tally: &Tally) -> [u64; COUNTS.len()] {
    let Tally { requests, errors, prompt_tokens, completion_tokens, cached_tokens, busy_micros, .. } = tally;
    [*requests, *errors, *prompt_tokens, *completion_tokens, *cached_tokens, *busy_micros]
}

fn sketches(tally: &Tally) -> [&Sketch; SKETCHES.len()] {
    [&tally.ttft, &tally.time_per_output_token, &tally.latency, &tally.hold, &tally.queue]
}
