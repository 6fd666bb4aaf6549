//! `/api/operator/models`: the models of the catalogue.

use super::model_input::{ModelEdit, NewModel};
use super::model_view::{CommandView, ModelOrder, OperatorModelView, UsesView};
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Caller, Id, List, Operator, Params, PathParam, Payload, Search, WholeOrPage};
use axum::Json;
use control::{CatalogueError, CommandError, capabilities, catalogue, prices};
use domain::ModelId;
use domain::ids::IdError;
use http::StatusCode;
use node::catalogue_keeper::Snapshot;
use serde_json::Value;
use view::PriceVersionView;

type ModelSearch = Search<ModelOrder>;

/// The id of a model in the path, with its slashes encoded.
impl PathParam for ModelId {
    const PARAM: &'static str = "modelId";

    fn read(text: &str) -> Result<Self, IdError> {
        Self::parse(text).map_err(|_| IdError { text: text.chars().take(64).collect(), prefix: "" })
    }
}

/// All models, by their ids unless they are sorted. A search finds ids and names.
#[utoipa::path(get, path = "/api/operator/models", tag = "operator", params(WholeOrPage, ModelSearch),
    responses((status = 200, body = List<OperatorModelView>)))]
pub(crate) async fn list(
    Operator(caller): Operator,
    Params(page): Params<WholeOrPage>,
    search: ModelSearch,
) -> Result<Json<List<OperatorModelView>>, ConsoleError> {
    let keeper = &caller.context.catalogue;
    let (snapshot, table) = (keeper.snapshot(), keeper.routes().table());
    let of_file = snapshot.file_models().map(|model| OperatorModelView::of_file(model, &table));
    let of_store = snapshot.models.iter().map(|entry| OperatorModelView::of_store(entry, &table));
    let searched = search.text.to_lowercase();
    let found: Vec<_> = of_file.chain(of_store).filter(|model| model.contains(&searched)).collect();
    let total = search.count.then_some(found.len() as u64);
    let descending = search.order.is_some_and(|order| order.descending);
    let key = |model: &OperatorModelView| {
        let value = search.order.map_or_else(String::new, |order| order.by.value(model));
        (value, model.id().to_owned())
    };
    Ok(Json(page.cut(found, descending, key)?.with_total(total)))
}

/// One model, and what refers to it.
#[utoipa::path(get, path = "/api/operator/models/{modelId}", tag = "operator",
    responses((status = 200, body = OperatorModelView)))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(id): Id<ModelId>,
) -> Result<Json<OperatorModelView>, ConsoleError> {
    let snapshot = caller.context.catalogue.snapshot();
    let view = view_of(&caller, &snapshot, &id).ok_or_else(|| missing(&id))?;
    let uses = catalogue::uses(caller.store(), &id).await?;
    let of_file = snapshot.file_aliases().filter(|alias| alias.model == id).map(|alias| alias.name.to_string());
    let of_store = snapshot.stored_aliases().iter().filter(|alias| alias.model == id);
    let aliases = of_file.chain(of_store.map(|alias| alias.name.to_string())).collect();
    let stored = snapshot.stored_model(id.as_str()).and_then(|entry| entry.model.as_ref());
    let model = stored.or(snapshot.file_model(id.as_str()).map(|model| &**model));
    let commands = model.map_or_else(Vec::new, |model| CommandView::of(model, snapshot.rules().cluster()));
    let route = caller.context.catalogue.routes().table().get(id.as_str()).cloned();
    let known = route.map(|route| route.pool.capabilities()).unwrap_or_default();
    let probes = match model {
        Some(model) => capabilities::of_model(caller.store(), model).await.map_err(CommandError::from)?,
        None => Vec::new(),
    };
    Ok(Json(view.with_details(UsesView::new(aliases, uses), commands, &known, probes.last())))
}

/// Create a model in the store. It is served at once.
#[utoipa::path(post, path = "/api/operator/models", tag = "operator", request_body = NewModel,
    responses((status = 201, body = OperatorModelView),
        (status = 409, description = "`name_taken`, `catalogue_read_only`, `content_key_missing`", body = error::ErrorBody)))]
pub(crate) async fn create(
    Operator(caller): Operator,
    Payload(body): Payload<NewModel>,
) -> Result<(StatusCode, Json<OperatorModelView>), ConsoleError> {
    let keeper = &caller.context.catalogue;
    let draft = body.draft(keeper).await?;
    let snapshot = keeper.snapshot();
    catalogue::create_model(caller.command(), snapshot.fixed(), &draft).await?;
    Ok((StatusCode::CREATED, Json(current(&caller, &draft.id).await?)))
}

/// Change a model of the store.
#[utoipa::path(patch, path = "/api/operator/models/{modelId}", tag = "operator", request_body = ModelEdit,
    responses((status = 200, body = OperatorModelView),
        (status = 409, description = "`version_conflict` with `current`, `entry_from_file`, `catalogue_read_only`, `content_key_missing`", body = error::ErrorBody)))]
pub(crate) async fn edit(
    Operator(caller): Operator,
    Id(id): Id<ModelId>,
    Payload(body): Payload<ModelEdit>,
) -> Result<Json<OperatorModelView>, ConsoleError> {
    let keeper = &caller.context.catalogue;
    // The record of this node may be older than that of the store.
    refresh(&caller).await;
    let snapshot = keeper.snapshot();
    let stored = match snapshot.stored_model(id.as_str()) {
        Some(entry) => &entry.stored,
        None if snapshot.file_model(id.as_str()).is_some() => {
            return Err(CommandError::from(CatalogueError::FromFile(id.to_string())).into());
        }
        None => return Err(missing(&id)),
    };
    if stored.version != body.version {
        return Err(conflict(&caller, &id).await);
    }
    let Ok(Value::Object(definition)) = serde_json::from_str(&stored.definition) else {
        return Err(ConsoleError::INTERNAL);
    };
    let version = body.version;
    let draft = body.draft(definition, stored.enabled, keeper).await?;
    let changed = catalogue::change_model(caller.command(), snapshot.fixed(), &draft, version).await;
    match changed {
        Ok(_) => Ok(Json(current(&caller, &id).await?)),
        Err(CommandError::Catalogue(CatalogueError::Stale)) => Err(conflict(&caller, &id).await),
        Err(error) => Err(error.into()),
    }
}

/// Delete a model of the store. Calls in flight end normally; dedicated endpoints keep running.
#[utoipa::path(delete, path = "/api/operator/models/{modelId}", tag = "operator",
    responses((status = 204),
        (status = 409, description = "`model_in_use`, `entry_from_file`, `catalogue_read_only`", body = error::ErrorBody)))]
pub(crate) async fn delete(Operator(caller): Operator, Id(id): Id<ModelId>) -> Result<StatusCode, ConsoleError> {
    let snapshot = caller.context.catalogue.snapshot();
    catalogue::delete_model(caller.command(), snapshot.fixed(), &id).await?;
    refresh(&caller).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The price history of a model, oldest first.
#[utoipa::path(get, path = "/api/operator/models/{modelId}/prices", tag = "operator",
    responses((status = 200, body = List<PriceVersionView>)))]
pub(crate) async fn list_prices(
    Operator(caller): Operator,
    Id(id): Id<ModelId>,
) -> Result<Json<List<PriceVersionView>>, ConsoleError> {
    let versions = prices::history(caller.store(), Some(&id)).await?;
    Ok(Json(List::whole(PriceVersionView::list(&versions))))
}

/// Serves a change at once. If the store cannot be read now, the change feed has it read soon.
pub(super) async fn refresh(caller: &Caller) {
    if let Err(error) = caller.context.catalogue.refresh().await {
        tracing::warn!(%error, "a change of the catalogue is served later");
    }
}

fn missing(id: &ModelId) -> ConsoleError {
    CommandError::Missing { noun: "model", id: id.to_string() }.into()
}

async fn current(caller: &Caller, id: &ModelId) -> Result<OperatorModelView, ConsoleError> {
    refresh(caller).await;
    view_of(caller, &caller.context.catalogue.snapshot(), id).ok_or_else(|| missing(id))
}

/// A conflict carries the current record.
async fn conflict(caller: &Caller, id: &ModelId) -> ConsoleError {
    match current(caller, id).await {
        Ok(view) => {
            ConsoleError::VersionConflict { current: serde_json::to_value(view).expect("views have only text keys") }
        }
        Err(error) => error,
    }
}

fn view_of(caller: &Caller, snapshot: &Snapshot, id: &ModelId) -> Option<OperatorModelView> {
    let table = caller.context.catalogue.routes().table();
    match snapshot.stored_model(id.as_str()) {
        Some(entry) => Some(OperatorModelView::of_store(entry, &table)),
        None => snapshot.file_model(id.as_str()).map(|model| OperatorModelView::of_file(model, &table)),
    }
}
