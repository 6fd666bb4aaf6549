//! Writes usage events, each exactly once per request id.

use super::dimensions::{DimensionIds, EventGroup};
use super::event::{self, OWN, SHARED};
use super::{series, sums};
use crate::accounts::end_users;
use crate::costs::bill_check;
use crate::db::{Engine, Query, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, insert_shared_text, insert_text};
use domain::UsageEvent;
use domain::end_user::MAX_END_USERS;
use sqlx::AssertSqlSafe;
use std::collections::HashSet;

/// Groups of at least this size get a statement of their own, which binds the shared values once.
const MIN_SHARED: usize = 8;
const UNLESS_STORED: &str = " ON CONFLICT (workspace_id, started_at, request_id) DO NOTHING";

/// Writes batches of usage events. Keeps the ids of their dimensions from one batch to the next.
#[derive(Debug)]
pub struct UsageWriter {
    dimensions: DimensionIds,
    max_end_users: u64,
}

impl Default for UsageWriter {
    fn default() -> Self {
        Self::new(MAX_END_USERS)
    }
}

impl UsageWriter {
    /// `max_end_users` is the most end users of a workspace that are known by their ids.
    pub fn new(max_end_users: u64) -> Self {
        Self { dimensions: DimensionIds::default(), max_end_users }
    }

    /// Writes the events that are not stored yet, adds them to sums, series and bill check, and returns them in groups
    /// that share their dimensions. Idempotent.
    pub async fn write<'a>(
        &mut self,
        tx: &mut Tx,
        events: &'a [UsageEvent],
    ) -> Result<Vec<&'a UsageEvent>, StoreError> {
        let groups = self.dimensions.group(tx, events).await?;
        let mut inserted: Vec<_> = groups.iter().flat_map(|group| &group.events).copied().collect();
        if !insert_all(tx, &groups).await? {
            let mut written = insert_missing(tx, &groups).await?;
            inserted.retain(|event| written.remove(event.request.as_str()));
        }
        let known = end_users::note(tx, &inserted, self.max_end_users).await?;
        sums::add(tx, &inserted, &known).await?;
        series::add(tx, &inserted).await?;
        bill_check::add(tx, &inserted).await?;
        Ok(inserted)
    }
}

/// Inserts events of which usually none is stored yet. If one is, nothing is written and the result is false: asking which
/// rows are new costs more than writing them.
async fn insert_all(tx: &mut Tx, groups: &[EventGroup<'_>]) -> Result<bool, StoreError> {
    tx.execute(sqlx::query("SAVEPOINT before_events")).await?;
    let (mut written, mut few) = (0, Vec::new());
    for EventGroup { id, events } in groups {
        for chunk in chunks(events) {
            if chunk.len() < MIN_SHARED {
                few.extend(with_id(*id, chunk));
            } else {
                written += tx.execute(insert_group(tx.engine(), *id, chunk)).await?;
            }
        }
    }
    for chunk in chunks(&few) {
        written += tx.execute(insert_any(tx.engine(), chunk, "")).await?;
    }
    let all_new = written == groups.iter().map(|group| group.events.len()).sum::<usize>() as u64;
    let end = if all_new { "RELEASE SAVEPOINT before_events" } else { "ROLLBACK TO SAVEPOINT before_events" };
    tx.execute(sqlx::query(end)).await?;
    Ok(all_new)
}

/// Returns the request ids of the rows that were not stored yet.
async fn insert_missing(tx: &mut Tx, groups: &[EventGroup<'_>]) -> Result<HashSet<String>, StoreError> {
    let events: Vec<_> = groups.iter().flat_map(|group| with_id(group.id, &group.events)).collect();
    let mut written = HashSet::with_capacity(events.len());
    for chunk in chunks(&events) {
        for found in tx.rows(insert_any(tx.engine(), chunk, " RETURNING request_id")).await? {
            written.insert(row::text(&found, "request_id")?);
        }
    }
    Ok(written)
}

fn with_id<'a>(id: i64, events: &[&'a UsageEvent]) -> impl Iterator<Item = (i64, &'a UsageEvent)> {
    events.iter().map(move |event| (id, *event))
}

/// Inserts events of one group.
fn insert_group(engine: Engine, id: i64, events: &[&UsageEvent]) -> Query<'static> {
    let shared = format!("{}, kind", event::names(&SHARED));
    let text = insert_shared_text(engine, "usage_calls", &shared, &event::names(&OWN), events.len());
    let insert = sqlx::query(AssertSqlSafe(text + UNLESS_STORED));
    let insert = events.iter().fold(insert, |insert, event| event::bind(insert, &OWN, event));
    event::bind(insert, &SHARED, events[0]).bind(id)
}

/// Inserts events of any groups, with the ids of their dimensions.
fn insert_any(engine: Engine, events: &[(i64, &UsageEvent)], returning: &str) -> Query<'static> {
    let columns = format!("kind, {}, {}", event::names(&SHARED), event::names(&OWN));
    let text = insert_text(engine, "usage_calls", &columns, events.len());
    let insert = sqlx::query(AssertSqlSafe(text + UNLESS_STORED + returning));
    events
        .iter()
        .fold(insert, |insert, (id, event)| event::bind(event::bind(insert.bind(*id), &SHARED, event), &OWN, event))
}
