//! `/api/organizations`.

use crate::surface::console::accounts::workspaces::null_or_value;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Admin, Caller, Id, List, Member, Operator, PageRequest, Payload};
use axum::Json;
use control::organizations::{self, Edit};
use domain::monthly_budget::BudgetChange;
use domain::{NanoUsd, Organization, OrganizationId};
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;
use view::{OnBudgetView, OrganizationView};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Named)]
pub(crate) struct NamedOrganization {
    #[schema(min_length = 1, max_length = 100)]
    name: String,
}

/// A change by an administrator; absent members stay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OrganizationSettings {
    #[schema(min_length = 1, max_length = 100, nullable = false)]
    name: Option<String>,
    /// The most that all its workspaces may cost in a month, in USD, beside the operator's amount; null removes it.
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<String>, example = "500.00")]
    monthly_usd: Option<Option<NanoUsd>>,
    /// Whether the running endpoints of all its workspaces are suspended when the budget is spent.
    #[schema(nullable = false)]
    on_budget: Option<OnBudgetView>,
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

/// Rename an organization, or change the monthly budget of its administrators and what happens when one is spent.
#[utoipa::path(patch, path = "/api/organizations/{organizationId}", tag = "organizations",
    request_body = OrganizationSettings, responses((status = 200, body = OrganizationView)))]
pub(crate) async fn edit(
    Admin(member): Admin,
    Payload(body): Payload<OrganizationSettings>,
) -> Result<Json<OrganizationView>, ConsoleError> {
    let own_monthly_usd = BudgetChange::of(body.monthly_usd);
    let on_budget = body.on_budget.map(Into::into);
    let edit = Edit { name: body.name.as_deref(), own_monthly_usd, on_budget, ..Edit::default() };
    let edited = organizations::set(member.command(), &member.organization, edit).await?;
    Ok(Json(view(&member, edited)))
}

/// Delete an organization that has no workspaces.
#[utoipa::path(delete, path = "/api/organizations/{organizationId}", tag = "organizations",
    responses((status = 204), (status = 409, description = "`organization_not_empty`", body = crate::surface::console::error::ErrorBody)))]
pub(crate) async fn delete(Operator(caller): Operator, Id(id): Id<OrganizationId>) -> Result<StatusCode, ConsoleError> {
    organizations::delete(caller.command(), &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
