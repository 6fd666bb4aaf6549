//! `/api/workspaces/{id}/aliases`: further names of models.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Id, List, PathParam, Payload, WorkspaceAdmin, WorkspaceCaller};
use axum::Json;
use control::aliases;
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
    request_body = AliasTarget, responses((status = 200, body = AliasView)))]
pub(crate) async fn set(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(NamePath(name)): Id<NamePath>,
    Payload(body): Payload<AliasTarget>,
) -> Result<Json<AliasView>, ConsoleError> {
    let context = &caller.context;
    let catalogue = context.catalogue.served().catalogue();
    let alias = (name.as_str(), body.model.as_str());
    let set = aliases::set(caller.command(), &caller.workspace.id, alias, &catalogue).await?;
    Ok(Json(set.into()))
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
