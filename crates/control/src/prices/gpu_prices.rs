//! Price history of GPU-hours: the catalogue has the current prices, the store the past ones.

use crate::command_error::CommandError;
use domain::gpu_time::PriceSince;
use domain::{Catalogue, Endpoint, ModelId, Timestamp};
use std::collections::HashMap;
use store::Store;
use store::gpu_prices::{self, FlavorOf};

/// Opens a new version for every flavor whose price differs from its newest version, and returns how many.
///
/// Exactly one of several nodes that declare the same catalogue at once opens the versions. Flavors that are no longer in
/// the catalogue keep their last price: their endpoints still run.
pub async fn declare(store: &Store, catalogue: &Catalogue, now: Timestamp) -> Result<usize, CommandError> {
    if new_versions(catalogue, &gpu_prices::newest(store).await?, now).is_empty() {
        return Ok(0);
    }
    let mut tx = store.begin().await?;
    let opened = new_versions(catalogue, &gpu_prices::lock_newest(&mut tx).await?, now);
    for (flavor, version) in &opened {
        gpu_prices::insert(&mut tx, flavor, *version).await?;
    }
    tx.commit().await?;
    Ok(opened.len())
}

/// The prices of an endpoint's flavor, oldest first; if none is recorded, the price at its creation.
pub(crate) async fn of_endpoint(store: &Store, endpoint: &Endpoint) -> Result<Vec<PriceSince>, CommandError> {
    let flavor = &endpoint.shape.flavor;
    let created = PriceSince { valid_from: endpoint.created_at, price_per_gpu_hour: flavor.price_per_gpu_hour };
    of_flavor(store, &endpoint.model, &flavor.name, created).await
}

/// The prices of a flavor, oldest first; if none is recorded, `otherwise`.
pub(crate) async fn of_flavor(
    store: &Store,
    model: &ModelId,
    flavor: &str,
    otherwise: PriceSince,
) -> Result<Vec<PriceSince>, CommandError> {
    let written = gpu_prices::of_flavor(store, model, flavor).await?;
    Ok(if written.is_empty() { vec![otherwise] } else { written })
}

/// A version is always later than the previous one, even if a clock was set back.
fn new_versions(
    catalogue: &Catalogue,
    newest: &HashMap<FlavorOf, PriceSince>,
    now: Timestamp,
) -> Vec<(FlavorOf, PriceSince)> {
    let flavors = catalogue.iter().flat_map(|model| model.flavors.iter().map(move |flavor| (model, flavor)));
    let differing = flavors.filter_map(|(model, flavor)| {
        let of = (model.id.clone(), flavor.name.clone());
        let before = newest.get(&of);
        if before.is_some_and(|before| before.price_per_gpu_hour == flavor.price_per_gpu_hour) {
            return None;
        }
        let earliest = before.map_or(now, |before| before.valid_from.plus_millis(1));
        let version = PriceSince { valid_from: now.max(earliest), price_per_gpu_hour: flavor.price_per_gpu_hour };
        Some((of, version))
    });
    differing.collect()
}
