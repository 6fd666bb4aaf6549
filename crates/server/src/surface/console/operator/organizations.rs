//! `/api/operator/organizations` and `/api/operator/workspaces`: every organization, its people and its limits.
//!
//! The routes of `/api/organizations` act on the session's own organization; these act on any.

use crate::surface::console::accounts::invitations::{self, NewInvitation};
use crate::surface::console::accounts::members::{NewRole, Removal};
use crate::surface::console::accounts::workspaces::{self as workspace_edits, NewWorkspace, WorkspaceEdit};
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{
    Caller, Id, List, Operator, PageRequest, Params, Payload, Search, invalid_cursor,
};
use axum::Json;
use control::organizations::{BoundChanges, Edit};
use control::usage::{self, ConsumerOrder, Ranked};
use control::workspaces::{self, Authority};
use control::{allotments, members, organizations};
use domain::monthly_budget::BudgetChange;
use domain::{NanoUsd, OrganizationId, Timestamp, UserId, WorkspaceId};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::organizations::{CountedOrganization, OrganizationColumn};
use store::usage::sums::consumers::Consumer;
use store::{Cursor, Order, SortBy};
use utoipa::ToSchema;
use view::{AllotmentView, InvitationView, MemberView, OnBudgetView, WorkspaceView};

/// What organizations are sorted by: a column, or what they used this month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrganizationOrder {
    Column(OrganizationColumn),
    Usage(ConsumerOrder),
}

impl SortBy for OrganizationOrder {
    const ALL: &'static [Self] = &[
        Self::Column(OrganizationColumn::Name),
        Self::Column(OrganizationColumn::Created),
        Self::Column(OrganizationColumn::Members),
        Self::Column(OrganizationColumn::Workspaces),
        Self::Usage(ConsumerOrder::Requests),
        Self::Usage(ConsumerOrder::Tokens),
        Self::Usage(ConsumerOrder::Cost),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Column(column) => column.name(),
            Self::Usage(order) => order.as_str(),
        }
    }
}

/// An organization with its size and its GPUs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorOrganization)]
pub(crate) struct OperatorOrganizationView {
    id: String,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The number of workspaces.
    workspaces: u64,
    /// The most workspaces that its administrators may create.
    max_workspaces: u64,
    /// The tokens that all its workspaces may use in a month; null if only each workspace is bounded.
    monthly_tokens: Option<u64>,
    /// The most bytes of stored responses and files of all its workspaces.
    max_stored_bytes: u64,
    /// What all its workspaces may use in a minute; null if only each workspace is bounded.
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    /// The most that all its workspaces may cost in a month, in USD; null if the operator does not bound it.
    #[schema(value_type = Option<String>, example = "500.00")]
    monthly_usd: Option<NanoUsd>,
    /// What happens to running endpoints of all its workspaces when the budget is spent.
    on_budget: OnBudgetView,
    /// The bytes of stored responses and files of all its workspaces. Files count until their content is removed.
    stored_bytes: u64,
    /// What calls of the last minute have used of the limits per minute, also if there are none.
    used_per_minute: UsedPerMinute,
    /// What the limits of this month are compared with.
    used_per_month: UsedPerMonth,
    /// What its existing workspaces used this month, with dedicated endpoints.
    usage: UsageOfMonth,
    /// The number of members.
    members: u64,
    /// Allotted and committed GPUs, by type.
    allotments: Vec<AllotmentView>,
}

/// Requests and tokens of calls.
#[derive(Serialize, ToSchema)]
struct UsedPerMinute {
    requests: u64,
    tokens: u64,
}

/// Usage of all workspaces, of those that were deleted, too. Tokens of dedicated endpoints do not count.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UsedPerMonth {
    tokens: u64,
    /// What nodes have reserved for calls.
    reserved_tokens: u64,
    /// With GPU-hours; null without a budget of the organization, because they are not counted then.
    #[schema(value_type = Option<String>, example = "120.00")]
    usd: Option<NanoUsd>,
    #[schema(value_type = Option<String>, example = "0.50")]
    reserved_usd: Option<NanoUsd>,
}

/// Usage of a calendar month in UTC.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UsageOfMonth {
    requests: u64,
    /// The tokens of prompts and completions.
    tokens: u64,
    /// Decimal text in USD, with GPU-hours.
    #[schema(example = "120.00")]
    cost_usd: String,
    /// The last day with usage, in UTC; null without usage.
    #[schema(format = Date)]
    last_day: Option<String>,
}

impl From<Option<&Consumer>> for UsageOfMonth {
    fn from(used: Option<&Consumer>) -> Self {
        let totals = used.map(|one| one.totals).unwrap_or_default();
        Self {
            requests: totals.requests,
            tokens: totals.prompt_tokens.saturating_add(totals.completion_tokens),
            cost_usd: totals.cost.to_string(),
            last_day: used.map(|one| one.last_day.to_string()),
        }
    }
}

/// What is not in the rows of organizations is read for all of them at once.
async fn views(
    caller: &Caller,
    found: Vec<CountedOrganization>,
) -> Result<Vec<OperatorOrganizationView>, ConsoleError> {
    let context = &caller.context;
    let ids: Vec<&OrganizationId> = found.iter().map(|one| &one.organization.id).collect();
    let mut ledgers = allotments::list_of(&context.store, &ids, &context.allotment_defaults).await?;
    let used = organizations::used_per_minute(&context.store, &ids, caller.now()).await?;
    let months = organizations::used_per_month(&context.store, &ids, caller.now()).await?;
    let usage = usage::this_month(&context.store, &ids, caller.now()).await?;
    let defaults = context.organization_defaults;
    let view = |one: CountedOrganization| {
        let CountedOrganization { organization, workspaces, members, stored_bytes } = one;
        let used = used.get(&organization.id).copied().unwrap_or_default();
        let month = months.get(&organization.id).copied().unwrap_or_default();
        let is_bounded = organization.monthly_usd.cap().is_some();
        let ledgers = ledgers.remove(&organization.id).unwrap_or_default();
        OperatorOrganizationView {
            id: organization.id.to_string(),
            name: organization.name,
            created_at: organization.created_at,
            workspaces,
            max_workspaces: organization.max_workspaces.unwrap_or(defaults.max_workspaces),
            monthly_tokens: organization.monthly_tokens,
            max_stored_bytes: organization.max_stored_bytes.unwrap_or(defaults.max_stored_bytes),
            requests_per_minute: organization.requests_per_minute,
            tokens_per_minute: organization.tokens_per_minute,
            monthly_usd: organization.monthly_usd.operator,
            on_budget: organization.on_budget.into(),
            stored_bytes,
            used_per_minute: UsedPerMinute { requests: used.requests, tokens: used.tokens },
            used_per_month: UsedPerMonth {
                tokens: month.tokens,
                reserved_tokens: month.reserved_tokens,
                usd: is_bounded.then_some(month.cost),
                reserved_usd: is_bounded.then_some(month.reserved_cost),
            },
            usage: usage.get(&organization.id).into(),
            members,
            allotments: ledgers.into_iter().map(AllotmentView::from).collect(),
        }
    };
    Ok(found.into_iter().map(view).collect())
}

async fn view(caller: &Caller, id: &OrganizationId) -> Result<Json<OperatorOrganizationView>, ConsoleError> {
    let found = organizations::show_counted(caller.store(), id).await?;
    views(caller, vec![found]).await?.pop().map(Json).ok_or(ConsoleError::NotFound)
}

/// All organizations. At most 10,000 are sorted by `requests`, `tokens` and `cost`, which are those of this month.
#[utoipa::path(get, path = "/api/operator/organizations", tag = "operator",
    params(PageRequest, Search<OrganizationOrder>),
    responses((status = 200, body = List<OperatorOrganizationView>)))]
pub(crate) async fn list(
    Operator(caller): Operator,
    page: PageRequest,
    search: Search<OrganizationOrder>,
) -> Result<Json<List<OperatorOrganizationView>>, ConsoleError> {
    let (found, total) = match search.order {
        Some(Order { by: OrganizationOrder::Usage(by), descending }) => {
            by_usage(&caller, &page, &search.of_rows(None), Order { by, descending }).await?
        }
        Some(Order { by: OrganizationOrder::Column(by), descending }) => {
            by_column(&caller, &page, &search.of_rows(Some(Order { by, descending }))).await?
        }
        None => by_column(&caller, &page, &search.of_rows(None)).await?,
    };
    let (cursors, found): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let views: Vec<_> = cursors.into_iter().zip(views(&caller, found).await?).collect();
    Ok(Json(List::new(views, &page, |(cursor, _)| cursor.clone(), |(_, view)| view).with_total(total)))
}

/// Organizations with the cursors of the pages after them, and the number of all if it is asked for.
type FoundOrganizations = (Vec<(String, CountedOrganization)>, Option<u64>);

async fn by_column(
    caller: &Caller,
    page: &PageRequest,
    search: &Search<OrganizationColumn>,
) -> Result<FoundOrganizations, ConsoleError> {
    let (store, listing) = (caller.store(), search.to_listing(page)?);
    let found = organizations::list_counted(store, listing).await?;
    let total = if search.count { Some(organizations::count(store, listing).await?) } else { None };
    Ok((found.into_iter().map(|one| (search.cursor(&one, &one.organization.id), one)).collect(), total))
}

async fn by_usage(
    caller: &Caller,
    page: &PageRequest,
    search: &Search<OrganizationColumn>,
    order: Order<ConsumerOrder>,
) -> Result<FoundOrganizations, ConsoleError> {
    let (store, listing) = (caller.store(), search.to_listing(page)?);
    let after = match page.cursor() {
        Some(id) => Some((page.sorted_number().ok_or_else(invalid_cursor)?, id)),
        None => None,
    };
    let limit = page.limit as usize + 1;
    let found = usage::list_by_usage(store, listing, order, after, limit, caller.now()).await?;
    let total = if search.count { Some(organizations::count(store, listing).await?) } else { None };
    let with_cursor = |one: Ranked| {
        let id = one.organization.organization.id.to_string();
        (Cursor { id, value: Some(one.value.to_string()) }.to_string(), one.organization)
    };
    Ok((found.into_iter().map(with_cursor).collect(), total))
}

/// One organization.
#[utoipa::path(get, path = "/api/operator/organizations/{organizationId}", tag = "operator",
    responses((status = 200, body = OperatorOrganizationView)))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
) -> Result<Json<OperatorOrganizationView>, ConsoleError> {
    view(&caller, &id).await
}

/// A change; absent members stay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OrganizationEdit {
    #[schema(min_length = 1, max_length = 100, nullable = false)]
    name: Option<String>,
    /// The most workspaces that its administrators may create; null follows the configured default. Existing ones stay.
    #[serde(default, deserialize_with = "workspace_edits::null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    max_workspaces: Option<Option<u64>>,
    /// The tokens that all its workspaces may use in a month; null bounds each workspace alone.
    #[serde(default, deserialize_with = "workspace_edits::null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    monthly_tokens: Option<Option<u64>>,
    /// The most bytes of stored responses and files of all its workspaces; null follows the configured default. Existing ones stay.
    #[serde(default, deserialize_with = "workspace_edits::null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    max_stored_bytes: Option<Option<u64>>,
    /// The requests that all its workspaces may make in a minute; null bounds each workspace alone.
    #[serde(default, deserialize_with = "workspace_edits::null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    requests_per_minute: Option<Option<u64>>,
    /// The tokens that all its workspaces may use in a minute; null bounds each workspace alone.
    #[serde(default, deserialize_with = "workspace_edits::null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    tokens_per_minute: Option<Option<u64>>,
    /// The most that all its workspaces may cost in a month, in USD; null removes it.
    #[serde(default, deserialize_with = "workspace_edits::null_or_value")]
    #[schema(value_type = Option<String>, example = "500.00")]
    monthly_usd: Option<Option<NanoUsd>>,
}

/// Change the name of an organization, or its bounds.
#[utoipa::path(patch, path = "/api/operator/organizations/{organizationId}", tag = "operator",
    request_body = OrganizationEdit, responses((status = 200, body = OperatorOrganizationView)))]
pub(crate) async fn edit(
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
    Payload(body): Payload<OrganizationEdit>,
) -> Result<Json<OperatorOrganizationView>, ConsoleError> {
    let bounds = BoundChanges {
        max_workspaces: workspace_edits::limit_change("maxWorkspaces", body.max_workspaces)?,
        monthly_tokens: workspace_edits::limit_change("monthlyTokens", body.monthly_tokens)?,
        max_stored_bytes: workspace_edits::limit_change("maxStoredBytes", body.max_stored_bytes)?,
        requests_per_minute: workspace_edits::limit_change("requestsPerMinute", body.requests_per_minute)?,
        tokens_per_minute: workspace_edits::limit_change("tokensPerMinute", body.tokens_per_minute)?,
        monthly_usd: BudgetChange::of(body.monthly_usd),
    };
    let edit = Edit { name: body.name.as_deref(), bounds, ..Edit::default() };
    organizations::set(caller.command(), &id, edit).await?;
    view(&caller, &id).await
}

/// The members of an organization.
#[utoipa::path(get, path = "/api/operator/organizations/{organizationId}/members", tag = "operator",
    params(PageRequest), responses((status = 200, body = List<MemberView>)))]
pub(crate) async fn list_members(
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
    page: PageRequest,
) -> Result<Json<List<MemberView>>, ConsoleError> {
    organizations::show(caller.store(), &id).await?;
    let found = members::list(caller.store(), &id, page.to_page()).await?;
    Ok(Json(List::new(found, &page, |one| one.user.to_string(), MemberView::from)))
}

/// Add a user to an organization, or give a member another role.
#[utoipa::path(put, path = "/api/operator/organizations/{organizationId}/members/{userId}", tag = "operator",
    request_body = NewRole,
    responses((status = 204), (status = 409, description = "`last_admin`", body = error::ErrorBody)))]
pub(crate) async fn put_member(
    Operator(caller): Operator,
    Id(organization): Id<OrganizationId>,
    Id(user): Id<UserId>,
    Payload(body): Payload<NewRole>,
) -> Result<StatusCode, ConsoleError> {
    members::put(caller.command(), &organization, &user, body.role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End a membership in an organization and in its workspaces.
#[utoipa::path(delete, path = "/api/operator/organizations/{organizationId}/members/{userId}", tag = "operator",
    params(Removal),
    responses((status = 204), (status = 409, description = "`last_admin`", body = error::ErrorBody)))]
pub(crate) async fn remove_member(
    Operator(caller): Operator,
    Id(organization): Id<OrganizationId>,
    Id(user): Id<UserId>,
    Params(removal): Params<Removal>,
) -> Result<StatusCode, ConsoleError> {
    let keys = removal.keys_of_member()?;
    members::remove(caller.command(), &organization, &user, keys).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The workspaces of an organization, with their limits.
#[utoipa::path(get, path = "/api/operator/organizations/{organizationId}/workspaces", tag = "operator",
    params(PageRequest), responses((status = 200, body = List<WorkspaceView>)))]
pub(crate) async fn list_workspaces(
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
    page: PageRequest,
) -> Result<Json<List<WorkspaceView>>, ConsoleError> {
    organizations::show(caller.store(), &id).await?;
    let found = workspaces::list(caller.store(), &id, page.to_page()).await?;
    let view = |workspace| WorkspaceView::new(workspace, &caller.context.defaults);
    Ok(Json(List::new(found, &page, |one| one.id.to_string(), view)))
}

/// Create a workspace in any organization; the operator is not its member.
#[utoipa::path(post, path = "/api/operator/organizations/{organizationId}/workspaces", tag = "operator",
    request_body = NewWorkspace, responses((status = 201, body = WorkspaceView)))]
pub(crate) async fn create_workspace(
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
    Payload(body): Payload<NewWorkspace>,
) -> Result<(StatusCode, Json<WorkspaceView>), ConsoleError> {
    let new = workspaces::create_for_others(caller.command(), &id, &body.name).await?;
    Ok((StatusCode::CREATED, Json(WorkspaceView::new(new, &caller.context.defaults))))
}

/// Invite a user to any organization; the link is in this response only.
#[utoipa::path(post, path = "/api/operator/organizations/{organizationId}/invitations", tag = "operator",
    request_body = NewInvitation, responses((status = 201, body = InvitationView)))]
pub(crate) async fn create_invitation(
    Operator(caller): Operator,
    Id(id): Id<OrganizationId>,
    Payload(body): Payload<NewInvitation>,
) -> Result<(StatusCode, Json<InvitationView>), ConsoleError> {
    organizations::show(caller.store(), &id).await?;
    Ok((StatusCode::CREATED, Json(invitations::invite(&caller, &id, &body).await?)))
}

/// Change the name, limits or settings of any workspace.
#[utoipa::path(patch, path = "/api/operator/workspaces/{workspaceId}", tag = "operator",
    request_body = WorkspaceEdit,
    responses((status = 200, body = WorkspaceView),
        (status = 409, description = "`version_conflict`, with `current`; `content_key_missing`", body = error::ErrorBody)))]
pub(crate) async fn edit_workspace(
    Operator(caller): Operator,
    Id(id): Id<WorkspaceId>,
    Payload(body): Payload<WorkspaceEdit>,
) -> Result<Json<WorkspaceView>, ConsoleError> {
    Ok(Json(workspace_edits::change(&caller, &id, &body, Authority::Operator).await?))
}
