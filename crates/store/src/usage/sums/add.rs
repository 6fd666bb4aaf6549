//! Adds usage to the sums.

use super::Sums;
use super::amounts::{Amounts, COLUMNS};
use crate::accounts::end_users::Named;
use crate::db::{Engine, Tx};
use crate::error::StoreError;
use crate::values::{chunks, insert_text};
use domain::usage::Totals;
use domain::{Grain, UsageEvent};
use sqlx::AssertSqlSafe;
use std::collections::{BTreeMap, HashSet};

/// The key of a row of sums; `None` for the columns that its table does not have. The order of the fields is the order in which
/// every transaction locks its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SumKey<'a> {
    pub(super) workspace: &'a str,
    pub(super) end_user: Option<&'a str>,
    pub(super) starts_at: i64,
    pub(super) class: Option<&'a str>,
    pub(super) model: &'a str,
    pub(super) actor: Option<&'a str>,
}

impl<'a> SumKey<'a> {
    /// In the sums of all calls.
    fn of(event: &'a UsageEvent, grain: Grain) -> Self {
        Self {
            workspace: event.caller.workspace.as_str(),
            end_user: None,
            starts_at: grain.start_of(event.started_at).millis(),
            class: None,
            model: event.model.as_str(),
            actor: Some(event.caller.actor.as_str()),
        }
    }
}

/// Adds newly stored events. End users that are not `known` get no sums of their own.
pub(crate) async fn add(tx: &mut Tx, events: &[&UsageEvent], known: &HashSet<Named<'_>>) -> Result<(), StoreError> {
    for grain in [Grain::Hour, Grain::Day] {
        add_amounts(tx, Sums::Of(grain), &group(events, grain)).await?;
    }
    add_amounts(tx, Sums::Classes, &by_class(events)).await?;
    add_amounts(tx, Sums::EndUsers, &by_end_user(events, known)).await
}

/// Adds up the events that are not interactive, except those of dedicated endpoints, which cost GPU-hours.
fn by_class<'a>(events: &[&'a UsageEvent]) -> Vec<(SumKey<'a>, Amounts)> {
    let mut sums: BTreeMap<SumKey<'a>, Totals> = BTreeMap::new();
    for &event in events {
        let class = event.origin.class;
        if class.yields() && !event.model.is_dedicated() {
            let key = SumKey { class: Some(class.as_str()), actor: None, ..SumKey::of(event, Grain::Day) };
            *sums.entry(key).or_default() += Totals::from(event);
        }
    }
    amounts(sums)
}

/// Adds up the events that named a known end user, in the order of the keys.
fn by_end_user<'a>(events: &[&'a UsageEvent], known: &HashSet<Named<'_>>) -> Vec<(SumKey<'a>, Amounts)> {
    let mut sums: BTreeMap<SumKey<'a>, Totals> = BTreeMap::new();
    for &event in events {
        let Some(end_user) = &event.end_user else { continue };
        if known.contains(&(event.caller.workspace.as_str(), &end_user.id)) {
            let key = SumKey { end_user: Some(end_user.id.as_str()), ..SumKey::of(event, Grain::Day) };
            *sums.entry(key).or_default() += Totals::from(event);
        }
    }
    amounts(sums)
}

/// Adds up the events of each row, in the order of the keys.
fn group<'a>(events: &[&'a UsageEvent], grain: Grain) -> Vec<(SumKey<'a>, Amounts)> {
    let have_one_key = |one: &&UsageEvent, next: &&UsageEvent| {
        one.caller == next.caller
            && one.model == next.model
            && grain.start_of(one.started_at) == grain.start_of(next.started_at)
    };
    let mut sums: BTreeMap<SumKey<'a>, Totals> = BTreeMap::new();
    for run in events.chunk_by(have_one_key) {
        *sums.entry(SumKey::of(run[0], grain)).or_default() += run.iter().copied().map(Totals::from).sum();
    }
    amounts(sums)
}

/// Without the rows to which nothing is added.
fn amounts<'a>(sums: BTreeMap<SumKey<'a>, Totals>) -> Vec<(SumKey<'a>, Amounts)> {
    let rows = sums.into_iter().map(|(key, totals)| (key, Amounts::from(totals)));
    rows.filter(|(_, amounts)| !amounts.is_zero()).collect()
}

/// `rows` must be in the order of their keys, so that two transactions cannot deadlock.
pub(super) async fn add_amounts(tx: &mut Tx, sums: Sums, rows: &[(SumKey<'_>, Amounts)]) -> Result<(), StoreError> {
    for chunk in chunks(rows) {
        let mut upsert = sqlx::query(AssertSqlSafe(upsert_text(tx.engine(), sums.table(), sums.key(), chunk.len())));
        for (key, amounts) in chunk {
            for text in [Some(key.workspace), key.end_user].into_iter().flatten() {
                upsert = upsert.bind(text);
            }
            upsert = upsert.bind(key.starts_at);
            for text in [key.class, Some(key.model), key.actor].into_iter().flatten() {
                upsert = upsert.bind(text);
            }
            for number in amounts.numbers() {
                upsert = upsert.bind(number);
            }
        }
        tx.execute(upsert).await?;
    }
    Ok(())
}

/// A saturating sum: absurd counts from a faulty engine must not make the insert fail and block all other events.
fn upsert_text(engine: Engine, table: &str, key: &str, rows: usize) -> String {
    let columns = format!("{key}, {}", COLUMNS.join(", "));
    let insert = insert_text(engine, table, &columns, rows);
    let columns = COLUMNS.map(|column| {
        format!(
            "{column} = CASE WHEN excluded.{column} < 0 THEN {table}.{column} + excluded.{column} \
             WHEN {table}.{column} > {max} - excluded.{column} THEN {max} \
             ELSE {table}.{column} + excluded.{column} END",
            max = i64::MAX
        )
    });
    format!("{insert} ON CONFLICT ({key}) DO UPDATE SET {}", columns.join(", "))
}
