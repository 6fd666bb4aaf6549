//! `/api/operator/catalogue`: where the catalogue comes from, and what can be changed.

use crate::surface::console::extract::Operator;
use axum::Json;
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
    })
}
