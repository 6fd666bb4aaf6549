//! Adds to the series.
//!
//! A sketch cannot be added to by SQL. So a transaction first makes sure of its rows and locks them, in one order
//! everywhere, then reads, adds and writes them back: whoever comes at the same time waits and sees the sum.

use super::gather::{self, Gathered, Place, Refusals};
use super::read::counts_of;
use super::{COUNTS, KEY, SKETCHES};
use crate::db::{Query, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{insert_text, pieces};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use domain::UsageEvent;
use domain::series::Tally;
use domain::sketch::Sketch;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

/// Adds events that were not there before.
pub(crate) async fn add(tx: &mut Tx, events: &[&UsageEvent]) -> Result<(), StoreError> {
    write(tx, gather::of_events(events)).await
}

/// Adds calls that left no event.
pub async fn add_refusals(tx: &mut Tx, refusals: &[Refusals]) -> Result<(), StoreError> {
    write(tx, gather::of_refusals(refusals)).await
}

async fn write(tx: &mut Tx, gathered: Gathered<'_>) -> Result<(), StoreError> {
    let tallies: Vec<(Place<'_>, Tally)> = gathered.tallies.into_iter().collect();
    for piece in pieces(&tallies) {
        let before = lock(tx, piece).await?;
        overwrite(tx, piece, before).await?;
    }
    let codes: Vec<(Place<'_>, &str, u64)> =
        gathered.codes.into_iter().map(|((place, code), calls)| (place, code, calls)).collect();
    for piece in pieces(&codes) {
        add_codes(tx, piece).await?;
    }
    Ok(())
}

/// Locks the rows, made empty where there are none, and tells what they hold.
async fn lock(tx: &mut Tx, rows: &[(Place<'_>, Tally)]) -> Result<HashMap<OwnedKey, Tally>, StoreError> {
    let text = insert_text(tx.engine(), "series", &KEY.join(", "), rows.len());
    let columns = [&KEY[..], &COUNTS, &SKETCHES].concat().join(", ");
    let text =
        format!("{text} ON CONFLICT ({}) DO UPDATE SET requests = series.requests RETURNING {columns}", KEY.join(", "));
    let lock = rows.iter().fold(sqlx::query(AssertSqlSafe(text)), |lock, (place, _)| bound(lock, place));
    let mut present: HashMap<OwnedKey, Tally> = HashMap::with_capacity(rows.len());
    for found in tx.rows(lock).await? {
        present.insert(key(&found)?, tally(&found)?);
    }
    Ok(present)
}

/// Writes the sum of what was there and what is added.
async fn overwrite(
    tx: &mut Tx,
    rows: &[(Place<'_>, Tally)],
    mut before: HashMap<OwnedKey, Tally>,
) -> Result<(), StoreError> {
    let written = [&COUNTS[..], &SKETCHES].concat();
    let columns = [&KEY[..], &written].concat().join(", ");
    let text = insert_text(tx.engine(), "series", &columns, rows.len());
    let sets: Vec<String> = written.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let text = format!("{text} ON CONFLICT ({}) DO UPDATE SET {}", KEY.join(", "), sets.join(", "));
    let mut upsert = sqlx::query(AssertSqlSafe(text));
    for (place, added) in rows {
        let mut tally = before.remove(&OwnedKey::from(place)).ok_or_else(|| row::corrupt("series"))?;
        tally.merge(added);
        upsert = bound(upsert, place);
        for count in counts(&tally) {
            upsert = upsert.bind(row::to_number(count));
        }
        for sketch in sketches(&tally) {
            upsert = upsert.bind(BASE64_STANDARD_NO_PAD.encode(sketch.to_bytes()));
        }
    }
    tx.execute(upsert).await.map(drop)
}

async fn add_codes(tx: &mut Tx, rows: &[(Place<'_>, &str, u64)]) -> Result<(), StoreError> {
    let key = [&KEY[..], &["code"]].concat().join(", ");
    let text = insert_text(tx.engine(), "series_codes", &format!("{key}, calls"), rows.len());
    let text = format!("{text} ON CONFLICT ({key}) DO UPDATE SET calls = series_codes.calls + excluded.calls");
    let mut upsert = sqlx::query(AssertSqlSafe(text));
    for (place, code, calls) in rows {
        upsert = bound(upsert, place).bind(*code).bind(row::to_number(*calls));
    }
    tx.execute(upsert).await.map(drop)
}

fn bound<'q>(query: Query<'q>, place: &Place<'q>) -> Query<'q> {
    let Place { workspace, resolution, level, starts_at, model, actor } = *place;
    query.bind(workspace).bind(resolution).bind(level).bind(starts_at).bind(model).bind(actor)
}

/// A place as it comes back from the database.
#[derive(PartialEq, Eq, Hash)]
struct OwnedKey(i64, i64, i64, String, String, String);

impl From<&Place<'_>> for OwnedKey {
    fn from(place: &Place<'_>) -> Self {
        let texts = [place.workspace, place.model, place.actor].map(str::to_owned);
        let [workspace, model, actor] = texts;
        Self(place.resolution, place.level, place.starts_at, workspace, model, actor)
    }
}

fn key(found: &AnyRow) -> Result<OwnedKey, StoreError> {
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
