//! `/api/operator/aliases`: further names of models, for all workspaces.

use super::models::refresh;
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Caller, Id, List, Operator, PathParam, Payload};
use axum::Json;
use control::{CatalogueError, CommandError, catalogue};
use domain::alias::Alias;
use domain::ids::IdError;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::catalogue::StoredAlias;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = OperatorAlias)]
pub(crate) struct OperatorAliasView {
    /// The name that clients send, or a prefix of such names followed by `*`.
    name: String,
    model: String,
    /// `file` or `store`. Aliases of the file can only be changed there.
    source: &'static str,
    /// Null for aliases of the file.
    version: Option<u64>,
}

impl From<&Alias> for OperatorAliasView {
    fn from(alias: &Alias) -> Self {
        Self { name: alias.name.to_string(), model: alias.model.to_string(), source: "file", version: None }
    }
}

impl From<&StoredAlias> for OperatorAliasView {
    fn from(alias: &StoredAlias) -> Self {
        let (name, model) = (alias.name.to_string(), alias.model.to_string());
        Self { name, model, source: "store", version: Some(alias.version) }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewAlias {
    #[schema(example = "claude-sonnet-4-5")]
    name: String,
    /// A Model ID of the catalogue.
    model: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AliasEdit {
    /// The version that was read.
    version: u64,
    /// A Model ID of the catalogue.
    model: String,
}

/// The name in the path, with its slashes encoded.
pub(crate) struct AliasPath(String);

impl PathParam for AliasPath {
    const PARAM: &'static str = "alias";

    fn read(text: &str) -> Result<Self, IdError> {
        Ok(Self(text.to_owned()))
    }
}

/// All aliases: those of the file, then those of the store.
#[utoipa::path(get, path = "/api/operator/aliases", tag = "operator",
    responses((status = 200, body = List<OperatorAliasView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Json<List<OperatorAliasView>> {
    let snapshot = caller.context.catalogue.snapshot();
    let of_file = snapshot.file_aliases().map(OperatorAliasView::from);
    let of_store = snapshot.stored_aliases().iter().map(OperatorAliasView::from);
    Json(List::whole(of_file.chain(of_store).collect()))
}

/// Create an alias in the store.
#[utoipa::path(post, path = "/api/operator/aliases", tag = "operator", request_body = NewAlias,
    responses((status = 201, body = OperatorAliasView),
        (status = 409, description = "`name_taken`, `catalogue_read_only`", body = error::ErrorBody)))]
pub(crate) async fn create(
    Operator(caller): Operator,
    Payload(body): Payload<NewAlias>,
) -> Result<(StatusCode, Json<OperatorAliasView>), ConsoleError> {
    let snapshot = caller.context.catalogue.snapshot();
    let alias = (body.name.as_str(), body.model.as_str());
    let new = catalogue::create_alias(caller.command(), snapshot.fixed(), alias).await?;
    refresh(&caller).await;
    Ok((StatusCode::CREATED, Json((&new).into())))
}

/// Let an alias stand for another model.
#[utoipa::path(patch, path = "/api/operator/aliases/{alias}", tag = "operator", request_body = AliasEdit,
    responses((status = 200, body = OperatorAliasView),
        (status = 409, description = "`version_conflict` with `current`, `entry_from_file`, `catalogue_read_only`", body = error::ErrorBody)))]
pub(crate) async fn edit(
    Operator(caller): Operator,
    Id(AliasPath(name)): Id<AliasPath>,
    Payload(body): Payload<AliasEdit>,
) -> Result<Json<OperatorAliasView>, ConsoleError> {
    let snapshot = caller.context.catalogue.snapshot();
    let alias = (name.as_str(), body.model.as_str());
    let changed = catalogue::change_alias(caller.command(), snapshot.fixed(), alias, body.version).await;
    refresh(&caller).await;
    match changed {
        Ok(changed) => Ok(Json((&changed).into())),
        Err(CommandError::Catalogue(CatalogueError::Stale)) => Err(conflict(&caller, &name)),
        Err(error) => Err(error.into()),
    }
}

/// Delete an alias of the store.
#[utoipa::path(delete, path = "/api/operator/aliases/{alias}", tag = "operator",
    responses((status = 204),
        (status = 409, description = "`entry_from_file`, `catalogue_read_only`", body = error::ErrorBody)))]
pub(crate) async fn delete(
    Operator(caller): Operator,
    Id(AliasPath(name)): Id<AliasPath>,
) -> Result<StatusCode, ConsoleError> {
    let snapshot = caller.context.catalogue.snapshot();
    catalogue::delete_alias(caller.command(), snapshot.fixed(), &name).await?;
    refresh(&caller).await;
    Ok(StatusCode::NO_CONTENT)
}

/// A conflict carries the current record.
fn conflict(caller: &Caller, name: &str) -> ConsoleError {
    let snapshot = caller.context.catalogue.snapshot();
    let current = snapshot.stored_aliases().iter().find(|alias| alias.name.as_str() == name);
    let Some(current) = current.map(OperatorAliasView::from) else { return ConsoleError::NotFound };
    ConsoleError::VersionConflict { current: serde_json::to_value(current).expect("views have only text keys") }
}
