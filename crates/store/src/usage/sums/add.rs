//! Adds usage to the sums.

use super::amounts::{Amounts, COLUMNS};
use super::{END_USERS, table};
use crate::accounts::end_users::Named;
use crate::db::{Engine, Tx};
use crate::error::StoreError;
use crate::values::{chunks, insert_text};
use domain::usage::Totals;
use domain::{Grain, UsageEvent};
use sqlx::AssertSqlSafe;
use std::collections::{BTreeMap, HashSet};

/// The key of a row of sums. The order of the fields is the order in which every transaction locks its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SumKey<'a> {
    pub(super) workspace: &'a str,
    pub(super) starts_at: i64,
    pub(super) model: &'a str,
    pub(super) actor: &'a str,
}

/// Adds newly stored events. End users that are not `known` get no sums of their own.
pub(crate) async fn add(tx: &mut Tx, events: &[&UsageEvent], known: &HashSet<Named<'_>>) -> Result<(), StoreError> {
    for grain in [Grain::Hour, Grain::Day] {
        add_amounts(tx, grain, &group(events, grain)).await?;
    }
    add_end_users(tx, events, known).await
}

/// The key of a row of an end user: workspace, end user, day, model and actor.
type EndUserKey<'a> = (&'a str, &'a str, i64, &'a str, &'a str);

/// Adds the events that named a known end user to their daily sums.
async fn add_end_users(tx: &mut Tx, events: &[&UsageEvent], known: &HashSet<Named<'_>>) -> Result<(), StoreError> {
    // In one order, so that two transactions cannot deadlock.
    let mut sums: BTreeMap<EndUserKey<'_>, Totals> = BTreeMap::new();
    for event in events {
        let Some(end_user) = &event.end_user else { continue };
        let (caller, day) = (&event.caller, Grain::Day.start_of(event.started_at).millis());
        if !known.contains(&(caller.workspace.as_str(), &end_user.id)) {
            continue;
        }
        let key = (caller.workspace.as_str(), end_user.id.as_str(), day, event.model.as_str(), caller.actor.as_str());
        *sums.entry(key).or_default() += Totals::from(*event);
    }
    let rows: Vec<_> = sums.into_iter().map(|(key, totals)| (key, Amounts::from(totals))).collect();
    for chunk in chunks(&rows) {
        let text = upsert_text(
            tx.engine(),
            END_USERS,
            &["workspace_id", "end_user", "starts_at", "model", "actor"],
            chunk.len(),
        );
        let mut upsert = sqlx::query(AssertSqlSafe(text));
        for ((workspace, end_user, day, model, actor), amounts) in chunk {
            upsert = upsert.bind(*workspace).bind(*end_user).bind(*day).bind(*model).bind(*actor);
            for number in amounts.numbers() {
                upsert = upsert.bind(number);
            }
        }
        tx.execute(upsert).await?;
    }
    Ok(())
}

/// Adds up the events of each row, in the order of the keys.
fn group<'a>(events: &[&'a UsageEvent], grain: Grain) -> Vec<(SumKey<'a>, Amounts)> {
    let key = |event: &'a UsageEvent| SumKey {
        workspace: event.caller.workspace.as_str(),
        starts_at: grain.start_of(event.started_at).millis(),
        model: event.model.as_str(),
        actor: event.caller.actor.as_str(),
    };
    let have_one_key = |one: &&UsageEvent, next: &&UsageEvent| {
        one.caller == next.caller
            && one.model == next.model
            && grain.start_of(one.started_at) == grain.start_of(next.started_at)
    };
    let mut sums: BTreeMap<SumKey<'a>, Totals> = BTreeMap::new();
    for run in events.chunk_by(have_one_key) {
        *sums.entry(key(run[0])).or_default() += run.iter().copied().map(Totals::from).sum();
    }
    let amounts = sums.into_iter().map(|(key, totals)| (key, Amounts::from(totals)));
    amounts.filter(|(_, amounts)| !amounts.is_zero()).collect()
}

/// `rows` must be in the order of their keys, so that two transactions cannot deadlock.
pub(super) async fn add_amounts(tx: &mut Tx, grain: Grain, rows: &[(SumKey<'_>, Amounts)]) -> Result<(), StoreError> {
    for chunk in chunks(rows) {
        let key = ["workspace_id", "starts_at", "model", "actor"];
        let mut upsert = sqlx::query(AssertSqlSafe(upsert_text(tx.engine(), table(grain), &key, chunk.len())));
        for (key, amounts) in chunk {
            upsert = upsert.bind(key.workspace).bind(key.starts_at).bind(key.model).bind(key.actor);
            for number in amounts.numbers() {
                upsert = upsert.bind(number);
            }
        }
        tx.execute(upsert).await?;
    }
    Ok(())
}

/// A saturating sum: absurd counts from a faulty engine must not make the insert fail and block all other events.
fn upsert_text(engine: Engine, table: &str, key: &[&str], rows: usize) -> String {
    let key = key.join(", ");
    let columns = format!("{key}, {}", COLUMNS.join(", "));
    let insert = insert_text(engine, table, &columns, rows);
    let sums = COLUMNS.map(|column| {
        format!(
            "{column} = CASE WHEN excluded.{column} < 0 THEN {table}.{column} + excluded.{column} \
             WHEN {table}.{column} > {max} - excluded.{column} THEN {max} \
             ELSE {table}.{column} + excluded.{column} END",
            max = i64::MAX
        )
    });
    format!("{insert} ON CONFLICT ({key}) DO UPDATE SET {}", sums.join(", "))
}
