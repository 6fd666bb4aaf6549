//! `/api/operator/catalogue`: where the catalogue comes from, and what can be changed.

use crate::surface::console::extract::Operator;
use axum::Json;
use fleet::Availability;
use fleet::routes::Table;
use node::catalogue_keeper::Snapshot;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorCatalogue)]
pub(crate) struct CatalogueView {
    /// `file`, `store` or `both`.
    mode: &'static str,
    /// Whether models and aliases can be created and changed.
    writable: bool,
    /// Whether keys of upstreams can be entered: FOREBAY_CONTENT_KEY is set, or the node is the only one and made a key.
    can_store_keys: bool,
    /// The provider of optimized builds: models under it are `optimized` unless they say otherwise.
    operator_prefix: String,
    /// A digest of the catalogue that this node serves.
    hash: String,
    models: ModelCountsView,
}

/// The models in numbers, for views that do not list them.
#[derive(Serialize, ToSchema)]
#[schema(as = OperatorModelCounts)]
struct ModelCountsView {
    total: usize,
    enabled: usize,
    /// Enabled ones with the status `available`, as this node sees them.
    available: usize,
}

impl ModelCountsView {
    fn of(snapshot: &Snapshot, table: &Table) -> Self {
        let of_file = snapshot.file_models().map(|model| (&model.id, true));
        let of_store = snapshot.models.iter().map(|entry| (&entry.stored.id, entry.stored.enabled));
        let (mut total, mut enabled, mut available) = (0, 0, 0);
        for (id, is_enabled) in of_file.chain(of_store) {
            total += 1;
            if is_enabled {
                let availability = table.get(id.as_str()).map(|route| route.pool.availability());
                enabled += 1;
                available += usize::from(availability == Some(Availability::Available));
            }
        }
        Self { total, enabled, available }
    }
}

/// The state of the catalogue.
#[utoipa::path(get, path = "/api/operator/catalogue", tag = "operator",
    responses((status = 200, body = CatalogueView)))]
pub(crate) async fn show(Operator(caller): Operator) -> Json<CatalogueView> {
    let catalogue = &caller.context.catalogue;
    let snapshot = catalogue.snapshot();
    let mode = snapshot.mode();
    Json(CatalogueView {
        mode: mode.as_str(),
        writable: mode.has_store(),
        can_store_keys: catalogue.can_store_keys(),
        operator_prefix: snapshot.rules().operator_prefix().to_owned(),
        hash: catalogue.served().catalogue().hash.to_string(),
        models: ModelCountsView::of(&snapshot, &catalogue.routes().table()),
    })
}
