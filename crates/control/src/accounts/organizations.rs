//! Commands on organizations.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::{entropy, gpu_costs, snapshot};
use domain::monthly_budget::BudgetChange;
use domain::workspace::check_name;
use domain::workspace_edit::LimitChange;
use domain::{Month, MonthlyBudget, OnBudget, Organization, OrganizationId, Timestamp};
use std::collections::{BTreeMap, HashMap};
use store::holds::Owner;
use store::organizations::{self, CountedOrganization, OrganizationColumn};
use store::usage::recent::{self, MonthUse, Recent};
use store::{Listing, Page, Store, spend, workspaces};

/// Creates an organization.
pub async fn create(command: Command<'_>, name: &str) -> Result<Organization, CommandError> {
    let id = OrganizationId::new(command.now, entropy::for_id());
    let new = Organization::new(id, check_name(name)?, command.now);
    let mut tx = command.store.begin().await?;
    organizations::insert(&mut tx, &new).await?;
    let change =
        AuditedChange::new("organization.create", Some(&new.id), new.id.as_str()).after(snapshot::organization(&new));
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(new)
}

/// All organizations.
pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Organization>, CommandError> {
    Ok(organizations::list(store, page).await?)
}

/// An organization by its id.
pub async fn show(store: &Store, id: &OrganizationId) -> Result<Organization, CommandError> {
    organizations::by_id(store, id).await?.ok_or_else(|| CommandError::missing("organization", id.as_str()))
}

/// All organizations, with the numbers of their workspaces and members.
pub async fn list_counted(
    store: &Store,
    listing: Listing<'_, OrganizationColumn>,
) -> Result<Vec<CountedOrganization>, CommandError> {
    Ok(organizations::list_counted(store, listing).await?)
}

/// The number of organizations that [`list_counted`] has on all its pages.
pub async fn count(store: &Store, listing: Listing<'_, OrganizationColumn>) -> Result<u64, CommandError> {
    Ok(organizations::count(store, listing).await?)
}

/// [`show`], with the numbers of workspaces and members.
pub async fn show_counted(store: &Store, id: &OrganizationId) -> Result<CountedOrganization, CommandError> {
    let found = organizations::counted_by_id(store, id).await?;
    found.ok_or_else(|| CommandError::missing("organization", id.as_str()))
}

/// The length of what [`used_per_minute`] counts.
const MINUTE_MILLIS: i64 = 60_000;

/// What organizations have used in the last minute of what their limits per minute bound, as far as it is written.
pub async fn used_per_minute(
    store: &Store,
    organizations: &[&OrganizationId],
    now: Timestamp,
) -> Result<HashMap<OrganizationId, Recent>, CommandError> {
    Ok(recent::of_organizations(store, organizations, now.plus_millis(-MINUTE_MILLIS)).await?)
}

/// What organizations have used and reserved of their limits of this month.
pub async fn used_per_month(
    store: &Store,
    organizations: &[&OrganizationId],
    now: Timestamp,
) -> Result<HashMap<OrganizationId, MonthUse>, CommandError> {
    Ok(recent::month_of_organizations(store, organizations, Month::of(now)).await?)
}

/// The members to change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit<'a> {
    /// `None` keeps it.
    pub name: Option<&'a str>,
    /// The monthly budget of the administrators.
    pub own_monthly_usd: BudgetChange,
    /// `None` keeps it.
    pub on_budget: Option<OnBudget>,
    pub bounds: BoundChanges,
}

/// Changes of the bounds of an organization, which only the operator makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoundChanges {
    pub max_workspaces: LimitChange,
    pub monthly_tokens: LimitChange,
    pub max_stored_bytes: LimitChange,
    pub requests_per_minute: LimitChange,
    pub tokens_per_minute: LimitChange,
    pub monthly_usd: BudgetChange,
}

/// Changes an organization.
pub async fn set(command: Command<'_>, id: &OrganizationId, edit: Edit<'_>) -> Result<Organization, CommandError> {
    let name = edit.name.map(check_name).transpose()?;
    // Read before the transaction, which would hold a second connection meanwhile.
    let gpu_costs = if edit.own_monthly_usd.is_change() || edit.bounds.monthly_usd.is_change() {
        gpu_costs::this_month(command.store, Owner::Organization(id), command.now).await?
    } else {
        BTreeMap::new()
    };
    let mut tx = command.store.begin().await?;
    let current = organizations::lock(&mut tx, id).await?;
    let changed = Organization {
        name: name.unwrap_or(&current.name).to_owned(),
        max_workspaces: edit.bounds.max_workspaces.apply(current.max_workspaces),
        monthly_tokens: edit.bounds.monthly_tokens.apply(current.monthly_tokens),
        max_stored_bytes: edit.bounds.max_stored_bytes.apply(current.max_stored_bytes),
        requests_per_minute: edit.bounds.requests_per_minute.apply(current.requests_per_minute),
        tokens_per_minute: edit.bounds.tokens_per_minute.apply(current.tokens_per_minute),
        on_budget: edit.on_budget.unwrap_or(current.on_budget),
        monthly_usd: MonthlyBudget {
            operator: edit.bounds.monthly_usd.apply(current.monthly_usd.operator),
            administrators: edit.own_monthly_usd.apply(current.monthly_usd.administrators),
        },
        ..current.clone()
    };
    organizations::update(&mut tx, &changed, command.now).await?;
    if changed.monthly_usd != current.monthly_usd {
        for workspace in workspaces::all_of(&mut tx, id).await? {
            let gpu_cost = gpu_costs.get(&workspace.id).copied().unwrap_or_default();
            spend::recount(&mut tx, &workspace, gpu_cost, command.now).await?;
        }
    }
    if changed.per_minute() != current.per_minute() {
        workspaces::announce_all(&mut tx, id, command.now).await?;
    }
    let is_renamed = edit.bounds == BoundChanges::default()
        && edit.own_monthly_usd == BudgetChange::Keep
        && edit.on_budget.is_none();
    let action = if is_renamed { "organization.rename" } else { "organization.set" };
    let change = AuditedChange::new(action, Some(id), id.as_str())
        .before(snapshot::organization(&current))
        .after(snapshot::organization(&changed));
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(changed)
}

/// Deletes an organization. Fails while it has workspaces.
pub async fn delete(command: Command<'_>, id: &OrganizationId) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let current = organizations::lock(&mut tx, id).await?;
    organizations::delete(&mut tx, id, command.now).await?;
    let change =
        AuditedChange::new("organization.delete", Some(id), id.as_str()).before(snapshot::organization(&current));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}
