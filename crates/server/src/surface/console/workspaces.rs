//! `/api/workspaces`: names and limits.

use super::Console;
use super::bounds;
use super::caller::{Admin, InWorkspace, Member, WorkspaceAdmin};
use super::error::{self, Refused};
use super::list::{List, PageAsked};
use super::payload::Payload;
use crate::view::WorkspaceView;
use axum::Json;
use axum::extract::State;
use control::workspaces::{self, Authority, Edit};
use control::{CommandError, access};
use domain::Workspace;
use domain::workspace::OwnLimits;
use domain::workspace_edit::{LimitChange, LimitChanges};
use http::StatusCode;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewWorkspace {
    #[schema(min_length = 1, max_length = 100)]
    name: String,
}

/// What to change; what is absent stays. A limit that is null follows what is above it: the operator's value for
/// administrators, the configured default for the operator.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WorkspaceEdit {
    /// The version that was read.
    version: u64,
    #[schema(min_length = 1, max_length = 100, nullable = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    requests_per_minute: Option<Option<u64>>,
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    tokens_per_minute: Option<Option<u64>>,
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    monthly_tokens: Option<Option<u64>>,
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    max_api_keys: Option<Option<u64>>,
}

/// Tells null from absent.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::<u64>::deserialize(deserializer).map(Some)
}

impl WorkspaceEdit {
    fn wishes(&self) -> Result<LimitChanges, Refused> {
        Ok(LimitChanges {
            requests_per_minute: wish("requestsPerMinute", self.requests_per_minute)?,
            tokens_per_minute: wish("tokensPerMinute", self.tokens_per_minute)?,
            monthly_tokens: wish("monthlyTokens", self.monthly_tokens)?,
            max_api_keys: wish("maxApiKeys", self.max_api_keys)?,
        })
    }
}

fn wish(field: &str, said: Option<Option<u64>>) -> Result<LimitChange, Refused> {
    Ok(match said {
        None => LimitChange::Keep,
        Some(None) => LimitChange::Follow,
        Some(Some(value)) => LimitChange::Set(bounds::count(field, value)?),
    })
}

impl Console {
    fn workspace(&self, workspace: Workspace) -> WorkspaceView {
        WorkspaceView::new(workspace, &self.people.defaults)
    }

    /// A conflict shows the record that is there now, as a reader would get it.
    fn conflict(&self, refusal: CommandError) -> Refused {
        match refusal {
            CommandError::VersionConflict { current } => {
                let view = serde_json::to_value(self.workspace(*current)).expect("views have only text keys");
                Refused::VersionConflict { current: view }
            }
            other => other.into(),
        }
    }
}

/// The workspaces of the current organization that one may work in.
#[utoipa::path(get, path = "/api/workspaces", tag = "workspaces", params(PageAsked),
    responses((status = 200, body = List<WorkspaceView>)))]
pub(super) async fn list(
    State(console): State<Console>,
    member: Member,
    asked: PageAsked,
) -> Result<Json<List<WorkspaceView>>, Refused> {
    let user = &member.caller.signed.user;
    let found = access::workspaces(&console.people.store, user, &member.organization, asked.page()).await?;
    Ok(Json(List::new(found, &asked, |one| one.id.to_string(), |workspace| console.workspace(workspace))))
}

/// Create a workspace in the current organization; who creates it belongs to it.
#[utoipa::path(post, path = "/api/workspaces", tag = "workspaces", request_body = NewWorkspace,
    responses((status = 201, body = WorkspaceView)))]
pub(super) async fn create(
    State(console): State<Console>,
    Admin(member): Admin,
    Payload(wish): Payload<NewWorkspace>,
) -> Result<(StatusCode, Json<WorkspaceView>), Refused> {
    let (store, author, now) = (&console.people.store, member.caller.author(), member.caller.now());
    let own = OwnLimits::default();
    let new = workspaces::create(store, &author, &member.organization, &wish.name, own, now).await?;
    Ok((StatusCode::CREATED, Json(console.workspace(new))))
}

/// One workspace with the limits in force.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}", tag = "workspaces",
    responses((status = 200, body = WorkspaceView)))]
pub(super) async fn show(State(console): State<Console>, place: InWorkspace) -> Json<WorkspaceView> {
    Json(console.workspace(place.workspace))
}

/// Change a workspace's name or limits. Administrators may lower limits; only the operator raises them above its value.
#[utoipa::path(patch, path = "/api/workspaces/{workspaceId}", tag = "workspaces", request_body = WorkspaceEdit,
    responses((status = 200, body = WorkspaceView),
        (status = 409, description = "`version_conflict`, with `current`", body = error::Error)))]
pub(super) async fn edit(
    State(console): State<Console>,
    WorkspaceAdmin(place): WorkspaceAdmin,
    Payload(wish): Payload<WorkspaceEdit>,
) -> Result<Json<WorkspaceView>, Refused> {
    let edit = Edit { name: wish.name.as_deref(), limits: wish.wishes()?, version: Some(wish.version) };
    let authority = if place.member.is_operator() { Authority::Operator } else { Authority::Admin };
    let (people, id) = (&console.people, &place.workspace.id);
    let changed =
        workspaces::set(&people.store, &place.author(), id, edit, authority, &people.defaults, place.now()).await;
    Ok(Json(console.workspace(changed.map_err(|refusal| console.conflict(refusal))?)))
}

/// Delete a workspace that has no active keys.
#[utoipa::path(delete, path = "/api/workspaces/{workspaceId}", tag = "workspaces",
    responses((status = 204), (status = 409, description = "`workspace_in_use`", body = error::Error)))]
pub(super) async fn delete(
    State(console): State<Console>,
    WorkspaceAdmin(place): WorkspaceAdmin,
) -> Result<StatusCode, Refused> {
    workspaces::delete(&console.people.store, &place.author(), &place.workspace.id, place.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
