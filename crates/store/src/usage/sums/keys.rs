//! The usage of single keys, which is read by their ids however many keys a workspace has.

use super::Sums;
use super::amounts::{Amounts, COLUMNS};
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, places};
use domain::usage::Totals;
use domain::{Grain, KeyId, Span};
use sqlx::AssertSqlSafe;
use std::collections::HashMap;

/// The usage of keys in a span of whole days. Those without usage are absent.
pub async fn read_keys(store: &Store, keys: &[&KeyId], days: Span) -> Result<HashMap<KeyId, Totals>, StoreError> {
    let mut all = HashMap::new();
    for chunk in chunks(keys) {
        let query = sqlx::query(AssertSqlSafe(text(chunk.len()))).bind(days.from.millis()).bind(days.to.millis());
        for found in &store.rows(chunk.iter().fold(query, |query, key| query.bind(key.as_str()))).await? {
            let amounts = Amounts::read(found)?;
            if !amounts.is_zero() {
                all.insert(row::parsed(found, "actor", |text| KeyId::parse(text).ok())?, amounts.totals()?);
            }
        }
    }
    Ok(all)
}

fn text(keys: usize) -> String {
    let sums = COLUMNS.map(|column| format!("CAST(SUM({column}) AS BIGINT) AS {column}")).join(", ");
    format!(
        "SELECT actor, {sums} FROM {} WHERE actor IN ({}) AND starts_at >= $1 AND starts_at < $2 GROUP BY actor",
        Sums::Of(Grain::Day).table(),
        places(3, keys)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_days_of_these_keys_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:forebay.db", folder.path()).await.unwrap();
        store.migrate().await.unwrap();
        let query = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", text(2))));
        let rows = store.rows(query.bind(0_i64).bind(1_i64).bind("a").bind("b")).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|step| row::text(step, "detail").unwrap()).collect();
        assert!(plan[0].contains("USING INDEX usage_days_by_actor (actor=? AND starts_at>"), "{plan:?}");
    }
}
