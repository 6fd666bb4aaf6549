//! `/api/organizations`.

use super::Console;
use super::caller::{Admin, Caller, Member, Operator};
use super::error::Refused;
use super::list::{List, PageAsked};
use super::path::Id;
use super::payload::Payload;
use crate::view::OrganizationView;
use axum::Json;
use axum::extract::State;
use control::organizations;
use domain::OrganizationId;
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    #[schema(min_length = 1, max_length = 100)]
    name: String,
}

/// The organizations one belongs to; all of them for the operator.
#[utoipa::path(get, path = "/api/organizations", tag = "organizations", params(PageAsked),
    responses((status = 200, body = List<OrganizationView>)))]
pub(super) async fn list(
    State(console): State<Console>,
    caller: Caller,
    asked: PageAsked,
) -> Result<Json<List<OrganizationView>>, Refused> {
    let store = &console.people.store;
    let user = &caller.signed.user;
    if user.operator {
        let found = organizations::list(store, asked.page()).await?;
        return Ok(Json(List::new(found, &asked, |one| one.id.to_string(), OrganizationView::from)));
    }
    let mut own = Vec::new();
    for membership in &user.memberships {
        own.push(organizations::show(store, &membership.organization_id).await?.into());
    }
    Ok(Json(List::whole(own)))
}

/// Create an organization.
#[utoipa::path(post, path = "/api/organizations", tag = "organizations", request_body = Named,
    responses((status = 201, body = OrganizationView)))]
pub(super) async fn create(
    State(console): State<Console>,
    Operator(caller): Operator,
    Payload(wish): Payload<Named>,
) -> Result<(StatusCode, Json<OrganizationView>), Refused> {
    let new = organizations::create(&console.people.store, &caller.author(), &wish.name, caller.now()).await?;
    Ok((StatusCode::CREATED, Json(new.into())))
}

/// One organization: the one that the session acts in.
#[utoipa::path(get, path = "/api/organizations/{organizationId}", tag = "organizations",
    responses((status = 200, body = OrganizationView)))]
pub(super) async fn show(State(console): State<Console>, member: Member) -> Result<Json<OrganizationView>, Refused> {
    Ok(Json(organizations::show(&console.people.store, &member.organization).await?.into()))
}

/// Rename an organization.
#[utoipa::path(patch, path = "/api/organizations/{organizationId}", tag = "organizations", request_body = Named,
    responses((status = 200, body = OrganizationView)))]
pub(super) async fn rename(
    State(console): State<Console>,
    Admin(member): Admin,
    Payload(wish): Payload<Named>,
) -> Result<Json<OrganizationView>, Refused> {
    let (store, author, now) = (&console.people.store, member.caller.author(), member.caller.now());
    Ok(Json(organizations::rename(store, &author, &member.organization, &wish.name, now).await?.into()))
}

/// Delete an organization that has no workspaces.
#[utoipa::path(delete, path = "/api/organizations/{organizationId}", tag = "organizations",
    responses((status = 204), (status = 409, description = "`organization_not_empty`", body = super::error::Error)))]
pub(super) async fn delete(
    State(console): State<Console>,
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
) -> Result<StatusCode, Refused> {
    organizations::delete(&console.people.store, &caller.author(), &id, caller.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
