//! Price versions of models.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::{ModelId, Price, Timestamp};
use sqlx::any::AnyRow;
use std::collections::HashMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceVersion {
    pub model: ModelId,
    /// Effective from this moment until the next version of the same model.
    pub valid_from: Timestamp,
    pub price: Price,
}

const LISTED_AT_ONCE: i64 = 1_000;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT p.model, p.valid_from, p.input_per_1m, p.cached_input_per_1m, p.output_per_1m FROM prices p ",
            $rest
        )
    };
}

const NEWEST: &str = select!("WHERE p.valid_from = (SELECT MAX(n.valid_from) FROM prices n WHERE n.model = p.model)");

/// The newest version of every model that ever had a price.
pub async fn newest(store: &Store) -> Result<HashMap<ModelId, PriceVersion>, StoreError> {
    by_model(&store.rows(sqlx::query(NEWEST)).await?)
}

/// Like [`newest`], but serialized: of several concurrent transactions, each waits for the end of the previous one.
pub async fn lock_newest(tx: &mut Tx) -> Result<HashMap<ModelId, PriceVersion>, StoreError> {
    tx.execute(sqlx::query("UPDATE change_counter SET seq = seq")).await?;
    by_model(&tx.rows(sqlx::query(NEWEST)).await?)
}

pub async fn insert(tx: &mut Tx, version: &PriceVersion) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO prices (model, valid_from, input_per_1m, cached_input_per_1m, output_per_1m) \
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(version.model.as_str())
    .bind(version.valid_from.millis())
    .bind(version.price.input_per_1m.nanos())
    .bind(version.price.cached_input_per_1m.nanos())
    .bind(version.price.output_per_1m.nanos());
    tx.execute(insert).await.map(drop)
}

/// The history of one model or of all, oldest first within a model: at most `LISTED_AT_ONCE` versions after `last`.
pub async fn list(
    store: &Store,
    model: Option<&ModelId>,
    last: Option<&PriceVersion>,
) -> Result<Vec<PriceVersion>, StoreError> {
    let query = sqlx::query(select!(
        "WHERE ($1 = '' OR p.model = $1) AND (p.model > $2 OR (p.model = $2 AND p.valid_from > $3)) \
         ORDER BY p.model, p.valid_from LIMIT $4"
    ))
    .bind(model.map_or("", ModelId::as_str))
    .bind(last.map_or("", |last| last.model.as_str()))
    .bind(last.map_or(0, |last| last.valid_from.millis()))
    .bind(LISTED_AT_ONCE);
    store.rows(query).await?.iter().map(version).collect()
}

fn by_model(found: &[AnyRow]) -> Result<HashMap<ModelId, PriceVersion>, StoreError> {
    let versions = found.iter().map(version);
    versions.map(|version| version.map(|version| (version.model.clone(), version))).collect()
}

fn version(found: &AnyRow) -> Result<PriceVersion, StoreError> {
    Ok(PriceVersion {
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        valid_from: row::moment(found, "valid_from")?,
        price: Price {
            input_per_1m: row::money(found, "input_per_1m")?,
            cached_input_per_1m: row::money(found, "cached_input_per_1m")?,
            output_per_1m: row::money(found, "output_per_1m")?,
        },
    })
}
