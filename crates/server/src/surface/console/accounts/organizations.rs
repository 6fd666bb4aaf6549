//! `/api/organizations`.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Admin, Caller, Id, List, Member, Operator, PageRequest, Payload};
use crate::view::OrganizationView;
use axum::Json;
use control::organizations;
use domain::{Organization, OrganizationId};
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

fn view(caller: &Caller, organization: Organization) -> OrganizationView {
    OrganizationView::new(organization, &caller.context.organization_defaults)
}

/// The user's organizations; all of them for the operator.
#[utoipa::path(get, path = "/api/organizations", tag = "organizations", params(PageRequest),
    responses((status = 200, body = List<OrganizationView>)))]
pub(crate) async fn list(caller: Caller, page: PageRequest) -> Result<Json<List<OrganizationView>>, ConsoleError> {
    let store = caller.store();
    let user = &caller.signed.user;
    if user.operator {
        let found = organizations::list(store, page.to_page()).await?;
        return Ok(Json(List::new(found, &page, |one| one.id.to_string(), |one| view(&caller, one))));
    }
    let mut own = Vec::new();
    for membership in &user.memberships {
        own.push(view(&caller, organizations::show(store, &membership.organization_id).await?));
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
    Ok((StatusCode::CREATED, Json(view(&caller, new))))
}

/// The current organization of the session.
#[utoipa::path(get, path = "/api/organizations/{organizationId}", tag = "organizations",
    responses((status = 200, body = OrganizationView)))]
pub(crate) async fn show(member: Member) -> Result<Json<OrganizationView>, ConsoleError> {
    Ok(Json(view(&member, organizations::show(member.store(), &member.organization).await?)))
}

/// Rename an organization.
#[utoipa::path(patch, path = "/api/organizations/{organizationId}", tag = "organizations", request_body = NamedOrganization,
    responses((status = 200, body = OrganizationView)))]
pub(crate) async fn rename(
    Admin(member): Admin,
    Payload(body): Payload<NamedOrganization>,
) -> Result<Json<OrganizationView>, ConsoleError> {
    let renamed = organizations::rename(member.command(), &member.organization, &body.name).await?;
    Ok(Json(view(&member, renamed)))
}

/// Delete an organization that has no workspaces.
#[utoipa::path(delete, path = "/api/organizations/{organizationId}", tag = "organizations",
    responses((status = 204), (status = 409, description = "`organization_not_empty`", body = crate::surface::console::error::ErrorBody)))]
pub(crate) async fn delete(Operator(caller): Operator, Id(id): Id<OrganizationId>) -> Result<StatusCode, ConsoleError> {
    organizations::delete(caller.command(), &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
