//! `GET /api/workspaces/{id}/keys`, `/key-labels` and `GET /api/organizations/{id}/keys`.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{flag, non_empty};
use crate::surface::console::extract::{Admin, List, PageRequest, Params, Search, WorkspaceCaller};
use axum::Json;
use control::keys;
use domain::usage::Totals;
use domain::{Timestamp, UserId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use store::Store;
use store::key_list::{CreatedBy, KeyColumn, KeyFilter, KeysOf, ListedKey};
use utoipa::{IntoParams, ToSchema};
use view::{KeyView, OrganizationKeyView};

type KeySearch = Search<KeyColumn>;

/// Selects keys.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct KeysQuery {
    /// Only keys that this user created.
    #[param(required = false, nullable = false)]
    created_by: Option<String>,
    /// Only keys of users who have no access to the organization any more.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    removed_members: Option<String>,
    /// Only active and disabled keys, which count towards the limit of the workspace.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    counted: Option<String>,
}

/// A checked [`KeysQuery`].
struct SelectedKeys {
    user: Option<UserId>,
    only_removed: bool,
    counted_at: Option<Timestamp>,
}

impl SelectedKeys {
    fn read(query: &KeysQuery, now: Timestamp) -> Result<Self, ConsoleError> {
        let only_removed = flag("removedMembers", &query.removed_members)?;
        let user = non_empty(&query.created_by).map(UserId::parse).transpose();
        let user = user.map_err(|_| ConsoleError::invalid("createdBy", "not the id of a user"))?;
        if only_removed && user.is_some() {
            return Err(ConsoleError::invalid("removedMembers", "cannot be combined with `createdBy`"));
        }
        Ok(Self { user, only_removed, counted_at: flag("counted", &query.counted)?.then_some(now) })
    }

    fn of<'a>(&'a self, of: KeysOf<'a>) -> KeyFilter<'a> {
        let created_by = match &self.user {
            Some(user) => CreatedBy::User(user),
            None if self.only_removed => CreatedBy::RemovedMembers,
            None => CreatedBy::Anyone,
        };
        KeyFilter { of, created_by, counted_at: self.counted_at }
    }
}

/// A page of keys, and the number of all if it is asked for.
async fn find(
    store: &Store,
    filter: KeyFilter<'_>,
    page: &PageRequest,
    search: &KeySearch,
) -> Result<(Vec<ListedKey>, Option<u64>), ConsoleError> {
    let listing = search.to_listing(page)?;
    let found = keys::list(store, filter, listing).await?;
    let total = if search.count { Some(keys::count(store, filter, listing).await?) } else { None };
    Ok((found, total))
}

/// The keys of all workspaces of an organization, oldest first.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/keys", tag = "keys",
    params(PageRequest, KeySearch, KeysQuery), responses((status = 200, body = List<OrganizationKeyView>)))]
pub(super) async fn list_of_organization(
    Admin(member): Admin,
    page: PageRequest,
    search: KeySearch,
    Params(query): Params<KeysQuery>,
) -> Result<Json<List<OrganizationKeyView>>, ConsoleError> {
    let selected = SelectedKeys::read(&query, member.now())?;
    let filter = selected.of(KeysOf::Organization(&member.organization));
    let (found, total) = find(member.store(), filter, &page, &search).await?;
    let view = |one| OrganizationKeyView::new(one, member.now());
    Ok(Json(List::new(found, &page, |one| search.cursor(one, &one.key.id), view).with_total(total)))
}

/// A key in the list of its workspace.
#[derive(Serialize, ToSchema)]
#[schema(as = ListedKey)]
pub(super) struct ListedKeyView {
    #[serde(flatten)]
    key: KeyView,
    /// What its calls used this month.
    usage: KeyUsageView,
}

/// Usage of a calendar month in UTC.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = KeyUsage)]
struct KeyUsageView {
    requests: u64,
    /// Decimal text in USD.
    #[schema(example = "1.25")]
    cost_usd: String,
}

impl From<Totals> for KeyUsageView {
    fn from(totals: Totals) -> Self {
        Self { requests: totals.requests, cost_usd: totals.cost.to_string() }
    }
}

/// The keys of a workspace in any state, oldest first.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/keys", tag = "keys",
    params(PageRequest, KeySearch, KeysQuery), responses((status = 200, body = List<ListedKeyView>)))]
pub(super) async fn list(
    caller: WorkspaceCaller,
    page: PageRequest,
    search: KeySearch,
    Params(query): Params<KeysQuery>,
) -> Result<Json<List<ListedKeyView>>, ConsoleError> {
    let selected = SelectedKeys::read(&query, caller.now())?;
    let filter = selected.of(KeysOf::Workspace(&caller.workspace.id));
    let (found, total) = find(caller.store(), filter, &page, &search).await?;
    let ids: Vec<_> = found.iter().map(|one| &one.key.id).collect();
    let used = keys::used_this_month(caller.store(), &ids, caller.now()).await?;
    let view = |one: ListedKey| {
        let usage = used.get(&one.key.id).copied().unwrap_or_default().into();
        ListedKeyView { key: KeyView::new(one.key, caller.now()), usage }
    };
    Ok(Json(List::new(found, &page, |one| search.cursor(one, &one.key.id), view).with_total(total)))
}

/// A label of keys.
#[derive(Serialize, ToSchema)]
#[schema(as = KeyLabel)]
pub(super) struct KeyLabelView {
    #[schema(example = "team")]
    name: String,
    /// In alphabetical order; at most 50, of the newest keys.
    values: BTreeSet<String>,
}

/// The labels of the workspace's keys, in alphabetical order, by which usage and costs can be grouped: at most 100, of the newest
/// keys.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/key-labels", tag = "keys",
    responses((status = 200, body = List<KeyLabelView>)))]
pub(super) async fn list_labels(caller: WorkspaceCaller) -> Result<Json<List<KeyLabelView>>, ConsoleError> {
    let labels = keys::labels(caller.store(), &caller.workspace.id).await?;
    Ok(Json(List::whole(labels.into_iter().map(|(name, values)| KeyLabelView { name, values }).collect())))
}
