//! Adds to the sums.

use super::amounts::{Amounts, COLUMNS};
use super::table;
use crate::db::{Engine, Tx};
use crate::error::StoreError;
use crate::values::{insert_text, pieces};
use domain::usage::Totals;
use domain::{Grain, UsageEvent};
use sqlx::AssertSqlSafe;
use std::collections::BTreeMap;

/// One row of a table of sums. The order of the members is the order in which every transaction takes its locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place<'a> {
    pub(super) workspace: &'a str,
    pub(super) starts_at: i64,
    pub(super) model: &'a str,
    pub(super) actor: &'a str,
}

/// Adds events that were not there before.
pub(crate) async fn add(tx: &mut Tx, events: &[&UsageEvent]) -> Result<(), StoreError> {
    for grain in [Grain::Hour, Grain::Day] {
        add_amounts(tx, grain, &group(events, grain)).await?;
    }
    Ok(())
}

/// One row for all events of the same place, in the order of the places.
fn group<'a>(events: &[&'a UsageEvent], grain: Grain) -> Vec<(Place<'a>, Amounts)> {
    let place = |event: &'a UsageEvent| Place {
        workspace: event.caller.workspace.as_str(),
        starts_at: grain.start_of(event.started_at).millis(),
        model: event.model.as_str(),
        actor: event.caller.actor.as_str(),
    };
    let are_in_one_place = |one: &&UsageEvent, next: &&UsageEvent| {
        one.caller == next.caller
            && one.model == next.model
            && grain.start_of(one.started_at) == grain.start_of(next.started_at)
    };
    let mut sums: BTreeMap<Place<'a>, Totals> = BTreeMap::new();
    for run in events.chunk_by(are_in_one_place) {
        *sums.entry(place(run[0])).or_default() += run.iter().copied().map(Totals::from).sum();
    }
    let amounts = sums.into_iter().map(|(place, totals)| (place, Amounts::from(totals)));
    amounts.filter(|(_, amounts)| !amounts.is_zero()).collect()
}

/// `rows` are in the order of their places, so that two transactions never wait for each other.
pub(super) async fn add_amounts(tx: &mut Tx, grain: Grain, rows: &[(Place<'_>, Amounts)]) -> Result<(), StoreError> {
    for piece in pieces(rows) {
        let text = AssertSqlSafe(add_text(tx.engine(), grain, piece.len()));
        let mut upsert = sqlx::query(text);
        for (place, amounts) in piece {
            upsert = upsert.bind(place.workspace).bind(place.starts_at).bind(place.model).bind(place.actor);
            for number in amounts.numbers() {
                upsert = upsert.bind(number);
            }
        }
        tx.execute(upsert).await?;
    }
    Ok(())
}

/// A sum stays at the largest number there is: an engine that reports nonsense must not stop the meter of all others.
fn add_text(engine: Engine, grain: Grain, rows: usize) -> String {
    let table = table(grain);
    let columns = format!("workspace_id, starts_at, model, actor, {}", COLUMNS.join(", "));
    let insert = insert_text(engine, table, &columns, rows);
    let sums = COLUMNS.map(|column| {
        format!(
            "{column} = CASE WHEN excluded.{column} < 0 THEN {table}.{column} + excluded.{column} \
             WHEN {table}.{column} > {max} - excluded.{column} THEN {max} \
             ELSE {table}.{column} + excluded.{column} END",
            max = i64::MAX
        )
    });
    format!("{insert} ON CONFLICT (workspace_id, starts_at, model, actor) DO UPDATE SET {}", sums.join(", "))
}
