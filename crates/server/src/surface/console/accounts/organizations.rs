//! `/api/organizations`.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Admin, Caller, Id, List, Member, Operator, PageRequest, Payload};
use crate::view::OrganizationView;
use axum::Json;
use control::organizations;
use domain::OrganizationId;
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Named)]
pub(crate) struct NamedOrganization {
    #[schema(min_length = 1, max_length = 100)]
    name: String,
}

/// The user's organizations; all of them for the operator.
#[utoipa::path(get, path = "/api/organizations", tag = "organizations", params(PageRequest),
    responses((status = 200, body = List<OrganizationView>)))]
pub(crate) async fn list(caller: Caller, page: PageRequest) -> Result<Json<List<OrganizationView>>, ConsoleError> {
    let store = caller.store();
    let user = &caller.signed.user;
    if user.operator {
        let found = organizations::list(store, page.to_page()).await?;
        return Ok(Json(List::new(found, &page, |one| one.id.to_string(), OrganizationView::from)));
    }
    let mut own = Vec::new();
    for membership in &user.memberships {
        own.push(organizations::show(store, &membership.organization_id).await?.into());
    }
    Ok(Json(List::whole(own)))
}

/// Create an organization.
#[utoipa::path(post, path = "/api/organizations", tag = "organizations", request_body = NamedOrganization,
    responses((status = 201, body = OrganizationView)))]
pub(crate) async fn create(
    Operator(caller): Operator,
    Payload(body): Payload<NamedOrganization>,
) -> Result<(StatusCode, Json<OrganizationView>), ConsoleError> {
    let new = organizations::create(caller.command(), &body.name).await?;
    Ok((StatusCode::CREATED, Json(new.into())))
}

/// The current organization of the session.
#[utoipa::path(get, path = "/api/organizations/{organizationId}", tag = "organizations",
    responses((status = 200, body = OrganizationView)))]
pub(crate) async fn show(member: Member) -> Result<Json<OrganizationView>, ConsoleError> {
    Ok(Json(organizations::show(member.store(), &member.organization).await?.into()))
}

/// Rename an organization.
#[utoipa::path(patch, path = "/api/organizations/{organizationId}", tag = "organizations", request_body = NamedOrganization,
    responses((status = 200, body = OrganizationView)))]
pub(crate) async fn rename(
    Admin(member): Admin,
    Payload(body): Payload<NamedOrganization>,
) -> Result<Json<OrganizationView>, ConsoleError> {
    Ok(Json(organizations::rename(member.command(), &member.organization, &body.name).await?.into()))
}

/// Delete an organization that has no workspaces.
#[utoipa::path(delete, path = "/api/organizations/{organizationId}", tag = "organizations",
    responses((status = 204), (status = 409, description = "`organization_not_empty`", body = crate::surface::console::error::ErrorBody)))]
pub(crate) async fn delete(Operator(caller): Operator, Id(id): Id<OrganizationId>) -> Result<StatusCode, ConsoleError> {
    organizations::delete(caller.command(), &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
