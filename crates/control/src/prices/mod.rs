//! Price history of models: the catalogue has the current prices, the store the past ones.
//!
//! A call is charged at the price in the catalogue of its node, and its usage event keeps that price. The history is for
//! display; no cost is computed from it.

pub mod gpu_prices;

use crate::command_error::CommandError;
use domain::{Catalogue, ModelId, Timestamp};
use std::collections::HashMap;
use store::Store;
use store::prices::{self, PriceVersion};

/// Opens a new version for every model whose price differs from its newest version, and returns what was opened.
///
/// Exactly one of several nodes that declare the same catalogue at once opens the versions. Models that are no longer in
/// the catalogue keep their history.
pub async fn declare(store: &Store, catalogue: &Catalogue, now: Timestamp) -> Result<Vec<PriceVersion>, CommandError> {
    if new_versions(catalogue, &prices::newest(store).await?, now).is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = store.begin().await?;
    let opened = new_versions(catalogue, &prices::lock_newest(&mut tx).await?, now);
    for version in &opened {
        prices::insert(&mut tx, version).await?;
    }
    tx.commit().await?;
    Ok(opened)
}

/// The price history of one model or of all, ordered by model and time.
pub async fn history(store: &Store, model: Option<&ModelId>) -> Result<Vec<PriceVersion>, CommandError> {
    let mut versions: Vec<PriceVersion> = Vec::new();
    loop {
        let page = prices::list(store, model, versions.last()).await?;
        if page.is_empty() {
            break;
        }
        versions.extend(page);
    }
    match model {
        Some(model) if versions.is_empty() => return Err(CommandError::missing("price of", model.as_str())),
        Some(_) | None => {}
    }
    // SQLite and PostgreSQL sort texts differently.
    versions.sort_unstable_by(|one, other| (&one.model, one.valid_from).cmp(&(&other.model, other.valid_from)));
    Ok(versions)
}

/// A version is always later than the previous one, even if a clock was set back.
fn new_versions(catalogue: &Catalogue, newest: &HashMap<ModelId, PriceVersion>, now: Timestamp) -> Vec<PriceVersion> {
    let differing = catalogue.iter().filter_map(|model| {
        let before = newest.get(&model.id);
        if before.is_some_and(|before| before.price == model.price) {
            return None;
        }
        let earliest = before.map_or(now, |before| Timestamp::from_millis(before.valid_from.millis() + 1));
        Some(PriceVersion { model: model.id.clone(), valid_from: now.max(earliest), price: model.price })
    });
    differing.collect()
}
