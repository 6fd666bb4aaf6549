//! `/api/workspaces/{id}/aliases`: further names of models.

use super::workspaces::null_or_value;
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Id, List, PathParam, Payload, WorkspaceAdmin, WorkspaceCaller};
use axum::Json;
use control::CommandError;
use control::aliases::{self, AliasChange};
use domain::ModelRef;
use domain::alias::AliasName;
use domain::ids::IdError;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = Alias)]
pub(crate) struct AliasView {
    /// The name that clients send, or a prefix of such names followed by `*`.
    name: String,
    /// A Model ID, or `dedicated/<name>`.
    model: String,
}

impl From<(AliasName, ModelRef)> for AliasView {
    fn from((name, model): (AliasName, ModelRef)) -> Self {
        Self { name: name.to_string(), model: model.to_string() }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AliasTarget {
    /// A Model ID of the catalogue, or `dedicated/<name>`.
    model: String,
    /// The model that the alias means now, null if there is no such alias. If it differs, the alias stays as it is: 409
    /// `version_conflict`. Absent, the alias must be new, or mean `model` already.
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<String>)]
    replaces: Option<Option<String>>,
}

/// The name in the path, with its slashes encoded. It is checked by the command.
pub(crate) struct NamePath(String);

impl PathParam for NamePath {
    const PARAM: &'static str = "alias";

    fn read(text: &str) -> Result<Self, IdError> {
        Ok(Self(text.to_owned()))
    }
}

/// The aliases of a workspace, by name.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/aliases", tag = "workspaces",
    responses((status = 200, body = List<AliasView>)))]
pub(crate) async fn list(caller: WorkspaceCaller) -> Result<Json<List<AliasView>>, ConsoleError> {
    let found = aliases::list(caller.store(), &caller.workspace.id).await?;
    Ok(Json(List::whole(found.into_iter().map(AliasView::from).collect())))
}

/// Create or change an alias; the slashes of its name encoded as `%2F`.
#[utoipa::path(put, path = "/api/workspaces/{workspaceId}/aliases/{alias}", tag = "workspaces",
    request_body = AliasTarget,
    responses((status = 200, body = AliasView),
        (status = 409, description = "`version_conflict`, with `current`", body = error::ErrorBody)))]
pub(crate) async fn set(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(NamePath(name)): Id<NamePath>,
    Payload(body): Payload<AliasTarget>,
) -> Result<Json<AliasView>, ConsoleError> {
    let context = &caller.context;
    let catalogue = context.catalogue.served().catalogue();
    let replaces = body.replaces.as_ref().map(Option::as_deref);
    let change = AliasChange { name: &name, model: &body.model, replaces };
    let set = aliases::set(caller.command(), &caller.workspace.id, change, &catalogue).await;
    Ok(Json(set.map_err(|error| conflict(error, &name))?.into()))
}

/// A conflict carries the current record, null if there is none.
fn conflict(error: CommandError, name: &str) -> ConsoleError {
    match error {
        CommandError::AliasChanged { current } => {
            let view = current.map(|model| AliasView { name: name.to_owned(), model: model.to_string() });
            ConsoleError::VersionConflict { current: serde_json::to_value(view).expect("views have only text keys") }
        }
        other => other.into(),
    }
}

/// Delete an alias.
#[utoipa::path(delete, path = "/api/workspaces/{workspaceId}/aliases/{alias}", tag = "workspaces",
    responses((status = 204)))]
pub(crate) async fn delete(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(NamePath(name)): Id<NamePath>,
) -> Result<StatusCode, ConsoleError> {
    aliases::delete(caller.command(), &caller.workspace.id, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
