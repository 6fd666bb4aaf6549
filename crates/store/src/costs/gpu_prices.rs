//! Price versions of a GPU-hour per flavor.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::ModelId;
use domain::gpu_time::PriceSince;
use std::collections::HashMap;

/// A model's id and a flavor's name.
pub type FlavorOf = (ModelId, String);

/// The newest version of every flavor that ever had a price.
pub async fn newest(store: &Store) -> Result<HashMap<FlavorOf, PriceSince>, StoreError> {
    by_flavor(&store.rows(sqlx::query(NEWEST)).await?)
}

/// Like [`newest`], but serialized: of several concurrent transactions, each waits for the end of the previous one.
pub async fn lock_newest(tx: &mut Tx) -> Result<HashMap<FlavorOf, PriceSince>, StoreError> {
    tx.execute(sqlx::query("UPDATE change_counter SET seq = seq")).await?;
    by_flavor(&tx.rows(sqlx::query(NEWEST)).await?)
}

const NEWEST: &str = "SELECT p.model, p.flavor, p.valid_from, p.price_per_gpu_hour FROM gpu_prices p \
     WHERE p.valid_from = \
     (SELECT MAX(n.valid_from) FROM gpu_prices n WHERE n.model = p.model AND n.flavor = p.flavor)";

pub async fn insert(tx: &mut Tx, (model, flavor): &FlavorOf, version: PriceSince) -> Result<(), StoreError> {
    let insert =
        sqlx::query("INSERT INTO gpu_prices (model, flavor, valid_from, price_per_gpu_hour) VALUES ($1, $2, $3, $4)")
            .bind(model.as_str())
            .bind(flavor.as_str())
            .bind(version.valid_from.millis())
            .bind(version.price_per_gpu_hour.nanos());
    tx.execute(insert).await.map(drop)
}

/// The history of one flavor, oldest first.
pub async fn of_flavor(store: &Store, model: &ModelId, flavor: &str) -> Result<Vec<PriceSince>, StoreError> {
    let query = sqlx::query(
        "SELECT valid_from, price_per_gpu_hour FROM gpu_prices WHERE model = $1 AND flavor = $2 ORDER BY valid_from",
    );
    store.rows(query.bind(model.as_str()).bind(flavor)).await?.iter().map(version).collect()
}

fn by_flavor(found: &[sqlx::any::AnyRow]) -> Result<HashMap<FlavorOf, PriceSince>, StoreError> {
    let entry = |found| {
        let model = row::parsed(found, "model", |text| ModelId::parse(text).ok())?;
        Ok(((model, row::text(found, "flavor")?), version(found)?))
    };
    found.iter().map(entry).collect()
}

fn version(found: &sqlx::any::AnyRow) -> Result<PriceSince, StoreError> {
    Ok(PriceSince {
        valid_from: row::moment(found, "valid_from")?,
        price_per_gpu_hour: row::money(found, "price_per_gpu_hour")?,
    })
}
