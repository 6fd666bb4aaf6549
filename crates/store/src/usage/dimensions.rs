//! Dimensions: the properties that many usage events share (workspace, actor, model, replica, price and so on), stored
//! once in `usage_kinds` under an id.
//!
//! Ids are random rather than sequential, so they are never reused. Ids are cached, and every batch checks that the cached
//! ones it needs still exist: retention, a rolled-back transaction or a restored store may have removed them.

use super::event::{self, DIMENSIONS, SHARED, Value};
use crate::db::Tx;
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, values_text};
use domain::UsageEvent;
use sqlx::AssertSqlSafe;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

const MAX_CACHED: usize = 16_384;
/// Ids have 48 random bits; a collision fails the insert, and the retried batch draws a new id.
const ID_BITS: u32 = 48;

/// A row of `usage_kinds` without its id.
type Dimensions<'a> = [Value<'a>; DIMENSIONS.len()];

/// Dimensions, and the other columns that a statement binds once.
type GroupKey<'a> = (Dimensions<'a>, [Value<'a>; SHARED.len()]);

/// Events with the same dimensions and shared columns, in the order of their rows.
pub(super) struct EventGroup<'a> {
    pub(super) id: i64,
    pub(super) events: Vec<&'a UsageEvent>,
}

/// The cache of ids. The key is the text of all dimensions.
#[derive(Debug, Default)]
pub(super) struct DimensionIds(HashMap<String, i64>);

impl DimensionIds {
    /// Groups the events of a batch, and writes the dimensions that are not stored yet.
    pub(super) async fn group<'a>(
        &mut self,
        tx: &mut Tx,
        events: &'a [UsageEvent],
    ) -> Result<Vec<EventGroup<'a>>, StoreError> {
        let mut groups: BTreeMap<GroupKey<'_>, Vec<&UsageEvent>> = BTreeMap::new();
        let mut rest = events;
        while let Some(first) = rest.first() {
            let key = group_key(first);
            // Events of one group often follow each other.
            let (run, others) = rest.split_at(rest.iter().take_while(|event| group_key(event) == key).count());
            groups.entry(key).or_default().extend(run);
            rest = others;
        }
        let keys: Vec<String> = groups.keys().map(|(dimensions, _)| cache_key(dimensions)).collect();
        if !self.are_stored(tx, &keys).await? {
            self.0.clear();
        }
        let mut grouped = Vec::with_capacity(groups.len());
        for (((dimensions, _), mut events), key) in groups.into_iter().zip(keys) {
            events.sort_unstable_by_key(|event| (event.started_at, &event.request));
            grouped.push(EventGroup { id: self.id(tx, &dimensions, key).await?, events });
        }
        Ok(grouped)
    }

    /// Whether all cached ids of these keys exist in the store.
    async fn are_stored(&self, tx: &mut Tx, keys: &[String]) -> Result<bool, StoreError> {
        let ids: BTreeSet<i64> = keys.iter().filter_map(|key| self.0.get(key).copied()).collect();
        let ids: Vec<i64> = ids.into_iter().collect();
        let mut stored = 0;
        for chunk in chunks(&ids) {
            let text = format!(
                "SELECT COUNT(*) AS stored FROM usage_kinds WHERE id IN ({})",
                values_text(tx.engine(), 1, chunk.len())
            );
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(text)), |query, id| query.bind(*id));
            let found = tx.row(query).await?.ok_or_else(|| row::corrupt("usage_kinds"))?;
            stored += row::count(&found, "stored")?;
        }
        Ok(stored == ids.len() as u64)
    }

    async fn id(&mut self, tx: &mut Tx, dimensions: &Dimensions<'_>, key: String) -> Result<i64, StoreError> {
        if let Some(id) = self.0.get(&key) {
            return Ok(*id);
        }
        let id = insert(tx, dimensions).await?;
        if self.0.len() >= MAX_CACHED {
            self.0.clear();
        }
        self.0.insert(key, id);
        Ok(id)
    }
}

fn group_key(event: &UsageEvent) -> GroupKey<'_> {
    (DIMENSIONS.map(|(_, value)| value(event)), SHARED.map(|(_, value)| value(event)))
}

/// Stores the dimensions under a new id, unless they are stored already; returns their id.
async fn insert(tx: &mut Tx, dimensions: &Dimensions<'_>) -> Result<i64, StoreError> {
    let columns = event::names(&DIMENSIONS);
    let placeholders: Vec<String> = (1..=DIMENSIONS.len() + 1).map(|number| format!("${number}")).collect();
    // The update changes nothing; without it, RETURNING would skip a row that exists already.
    let text = format!(
        "INSERT INTO usage_kinds ({columns}, id) VALUES ({}) ON CONFLICT ({columns}) \
         DO UPDATE SET period = excluded.period RETURNING id",
        placeholders.join(", ")
    );
    let insert = dimensions.iter().copied().fold(sqlx::query(AssertSqlSafe(text)), event::bind_value);
    let found = tx.row(insert.bind(random_id()?)).await?.ok_or_else(|| row::corrupt("usage_kinds"))?;
    row::number(&found, "id")
}

fn random_id() -> Result<i64, StoreError> {
    let random = getrandom::u64().map_err(|error| StoreError::Unavailable(Box::new(error)))?;
    Ok((random >> (u64::BITS - ID_BITS)).cast_signed())
}

/// One value per line: no value contains a line break.
fn cache_key(dimensions: &Dimensions<'_>) -> String {
    let mut key = String::with_capacity(256);
    for value in dimensions {
        match value {
            Value::Text(text) => writeln!(key, "{text}"),
            Value::Number(number) => writeln!(key, "{number}"),
            Value::OptionalNumber(number) => writeln!(key, "{number:?}"),
            Value::OptionalText(text) => writeln!(key, "{text:?}"),
        }
        .expect("writing to a String cannot fail");
    }
    key
}
