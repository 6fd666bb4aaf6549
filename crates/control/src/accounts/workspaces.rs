//! Commands on workspaces.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::keys::{self, DisabledKeys};
use crate::{end_users, entropy, gpu_costs, snapshot};
use domain::end_user::EndUserSettings;
use domain::monthly_budget::BudgetChange;
use domain::workspace::{Limits, OwnLimits, check_name};
use domain::workspace_edit::{self, LimitChanges, OperatorOnlyError, RetentionChange};
use domain::{Month, OnBudget, OrganizationId, QueueWeight, ResponseRetention, UserId, Workspace, WorkspaceId};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use store::holds::Owner;
use store::workspaces::WorkspaceNames;
use store::{Conflict, ContentKeys, Page, Store, Tx, api_keys, organizations, spend, workspaces};

/// The fields to change; `None` keeps the value. Fails if `version` is not the current one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit<'a> {
    pub name: Option<&'a str>,
    pub limits: LimitChanges,
    /// The change of the amount that belongs to the author's authority.
    pub monthly_usd: BudgetChange,
    pub on_budget: Option<OnBudget>,
    /// `None` keeps them.
    pub end_users: Option<&'a EndUserSettings>,
    pub response_retention: RetentionChange,
    /// Only the operator may change it.
    pub weight: Option<QueueWeight>,
    pub version: Option<u64>,
}

/// A change of how long responses are stored. Storing needs content keys, so it cannot be turned on without them.
pub fn retention_change(days: Option<u64>, keys: Option<&ContentKeys>) -> Result<RetentionChange, CommandError> {
    let Some(days) = days else { return Ok(RetentionChange::Set(None)) };
    let retention = ResponseRetention::from_days(days)?;
    match keys {
        Some(_) => Ok(RetentionChange::Set(Some(retention))),
        None => Err(CommandError::ContentKeyMissing),
    }
}

/// A weight among those whose calls wait.
pub fn weight(weight: u64) -> Result<QueueWeight, CommandError> {
    let why = "must be a whole number from 1 to 1000";
    QueueWeight::new(weight).map_err(|_| CommandError::BadValue { field: "weight", why })
}

/// The names of those of these workspaces that exist.
pub async fn names(store: &Store, ids: &[WorkspaceId]) -> Result<HashMap<WorkspaceId, WorkspaceNames>, CommandError> {
    Ok(workspaces::names(store, ids).await?)
}

/// Who changes the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    Operator,
    /// May only lower limits.
    Admin,
}

/// Creates a workspace for the operator. A user who creates one becomes a member.
pub async fn create(
    command: Command<'_>,
    organization: &OrganizationId,
    name: &str,
    own: OwnLimits,
) -> Result<Workspace, CommandError> {
    let new = new_workspace(command, organization, name, own)?;
    let mut tx = command.store.begin().await?;
    workspaces::insert(&mut tx, &new).await?;
    join(command, &mut tx, &new).await?;
    finish_create(command, tx, new).await
}

/// Creates a workspace in an organization of which the operator is not a member.
pub async fn create_for_others(
    command: Command<'_>,
    organization: &OrganizationId,
    name: &str,
) -> Result<Workspace, CommandError> {
    let new = new_workspace(command, organization, name, OwnLimits::default())?;
    let mut tx = command.store.begin().await?;
    organizations::lock(&mut tx, organization).await?;
    workspaces::insert(&mut tx, &new).await?;
    finish_create(command, tx, new).await
}

/// Creates a workspace for an administrator of an organization, of which the operator bounds the number of workspaces and their
/// limits. Workspaces that were deleted this month count, because each has a monthly quota.
pub async fn create_within(
    command: Command<'_>,
    organization: &OrganizationId,
    name: &str,
    defaults: &Limits,
    default_max: u64,
) -> Result<Workspace, CommandError> {
    let mut new = new_workspace(command, organization, name, OwnLimits::default())?;
    let mut tx = command.store.begin().await?;
    let owner = organizations::lock(&mut tx, organization).await?;
    let limit = owner.max_workspaces.unwrap_or(default_max);
    let existing = workspaces::all_of(&mut tx, organization).await?;
    new.own = workspace_edit::starting(&existing, defaults, &owner);
    new.monthly_usd = workspace_edit::starting_budget(&existing);
    workspaces::insert_within(&mut tx, &new, limit, Month::of(command.now).start()).await?;
    join(command, &mut tx, &new).await?;
    finish_create(command, tx, new).await
}

fn new_workspace(
    command: Command<'_>,
    organization: &OrganizationId,
    name: &str,
    own: OwnLimits,
) -> Result<Workspace, CommandError> {
    let id = WorkspaceId::new(command.now, entropy::for_id());
    Ok(Workspace { own, ..Workspace::new(id, organization.clone(), check_name(name)?, command.now) })
}

/// Makes the creator a member.
async fn join(command: Command<'_>, tx: &mut Tx, new: &Workspace) -> Result<(), CommandError> {
    if let Some(user) = command.author.user() {
        workspaces::add_member(tx, &new.id, user, command.now).await?;
    }
    Ok(())
}

async fn finish_create(command: Command<'_>, mut tx: Tx, new: Workspace) -> Result<Workspace, CommandError> {
    let change = AuditedChange::new("workspace.create", Some(&new.organization), new.id.as_str())
        .after(snapshot::workspace(&new));
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(new)
}

/// The workspaces of one organization.
pub async fn list(
    store: &Store,
    organization: &OrganizationId,
    page: Page<'_>,
) -> Result<Vec<Workspace>, CommandError> {
    Ok(workspaces::list(store, organization, page).await?)
}

/// The workspaces of all organizations.
pub async fn list_all(store: &Store, page: Page<'_>) -> Result<Vec<Workspace>, CommandError> {
    Ok(workspaces::list_all(store, page).await?)
}

/// A workspace by its id.
pub async fn show(store: &Store, id: &WorkspaceId) -> Result<Workspace, CommandError> {
    workspaces::by_id(store, id).await?.ok_or_else(|| CommandError::missing("workspace", id.as_str()))
}

/// Changes the name, the limits or the settings of a workspace.
pub async fn set(
    command: Command<'_>,
    id: &WorkspaceId,
    edit: Edit<'_>,
    authority: Authority,
    defaults: &Limits,
) -> Result<Workspace, CommandError> {
    let name = edit.name.map(check_name).transpose()?;
    edit.end_users.map(end_users::check_settings).transpose()?;
    // Read before the transaction, which would hold a second connection meanwhile.
    let gpu_costs = match edit.monthly_usd {
        BudgetChange::Keep => BTreeMap::new(),
        BudgetChange::Set(_) => gpu_costs::this_month(command.store, Owner::Workspace(id), command.now).await?,
    };
    let mut tx = command.store.begin().await?;
    let current = workspaces::lock(&mut tx, id).await?;
    let version = edit.version.unwrap_or(current.version);
    // Checked before everything else: the change was meant for an older record.
    if version != current.version {
        return Err(Conflict::VersionConflict { current: Box::new(current) }.into());
    }
    let (own, lowered) = match authority {
        Authority::Operator => workspace_edit::by_operator(&current, &edit.limits, defaults),
        Authority::Admin => workspace_edit::by_admin(&current, &edit.limits, defaults)?,
    };
    let name = name.unwrap_or(&current.name).to_owned();
    let response_retention = edit.response_retention.apply(current.response_retention);
    let mut monthly_usd = current.monthly_usd;
    match authority {
        Authority::Operator => monthly_usd.operator = edit.monthly_usd.apply(monthly_usd.operator),
        Authority::Admin => monthly_usd.administrators = edit.monthly_usd.apply(monthly_usd.administrators),
    }
    let on_budget = edit.on_budget.unwrap_or(current.on_budget);
    let end_users = edit.end_users.unwrap_or(&current.end_users).clone();
    if !end_users.keep_text && current.end_users.keep_text {
        store::end_users::forget_texts(&mut tx, id).await?;
    }
    let weight = edit.weight.unwrap_or(current.weight);
    if authority == Authority::Admin && weight != current.weight {
        return Err(OperatorOnlyError { field: "weight", ceiling: current.weight.get().into() }.into());
    }
    let edited = Workspace {
        name,
        own,
        lowered,
        monthly_usd,
        on_budget,
        end_users,
        response_retention,
        weight,
        ..current.clone()
    };
    let changed = workspaces::update(&mut tx, edited, command.now).await?;
    if changed.monthly_usd != current.monthly_usd {
        let gpu_cost = gpu_costs.get(id).copied().unwrap_or_default();
        spend::recount(&mut tx, &changed, gpu_cost, command.now).await?;
    }
    let change = AuditedChange::new("workspace.set", Some(&current.organization), id.as_str())
        .before(snapshot::workspace(&current))
        .after(snapshot::workspace(&changed));
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(changed)
}

/// What becomes of the keys of a workspace that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysOfWorkspace {
    /// Active ones keep it from being deleted.
    Keep,
    Revoke,
}

/// Deletes a workspace for the operator. Fails while it has endpoints, or active keys that are kept.
pub async fn delete(command: Command<'_>, id: &WorkspaceId, keys: KeysOfWorkspace) -> Result<(), CommandError> {
    let tx = command.store.begin().await?;
    finish_delete(command, tx, id, keys).await
}

/// Deletes a workspace for an administrator, unless it is the last one: the next one gets no more than the operator left to
/// an existing one.
pub async fn delete_other(
    command: Command<'_>,
    organization: &OrganizationId,
    id: &WorkspaceId,
    keys: KeysOfWorkspace,
) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    organizations::lock(&mut tx, organization).await?;
    if workspaces::count_of(&mut tx, organization).await? == 1 {
        return Err(Conflict::LastWorkspace.into());
    }
    finish_delete(command, tx, id, keys).await
}

async fn finish_delete(
    command: Command<'_>,
    mut tx: Tx,
    id: &WorkspaceId,
    keys: KeysOfWorkspace,
) -> Result<(), CommandError> {
    let current = workspaces::lock(&mut tx, id).await?;
    if keys == KeysOfWorkspace::Revoke {
        let ids = api_keys::unrevoked_in(&mut tx, id).await?.into_iter().collect();
        keys::revoke_in(command, &mut tx, &current.organization, ids, DisabledKeys::Revoke).await?;
    }
    workspaces::delete(&mut tx, id, command.now).await?;
    let change = AuditedChange::new(workspaces::DELETED, Some(&current.organization), id.as_str())
        .before(snapshot::workspace(&current));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// The most workspaces that a person is put into at once.
const MAX_JOINED: usize = 100;

/// Locks the workspaces of an organization that a person is put into.
pub(crate) async fn lock_joined(
    tx: &mut Tx,
    organization: &OrganizationId,
    ids: &[WorkspaceId],
) -> Result<(), CommandError> {
    if ids.len() > MAX_JOINED {
        return Err(CommandError::BadValue { field: "workspaceIds", why: "at most 100 workspaces" });
    }
    for id in ids {
        if workspaces::lock(tx, id).await?.organization != *organization {
            return Err(CommandError::missing("workspace", id.as_str()));
        }
    }
    Ok(())
}

/// Adds a user to a workspace. Idempotent.
pub async fn add_member(command: Command<'_>, id: &WorkspaceId, user: &UserId) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let workspace = workspaces::lock(&mut tx, id).await?;
    add_member_in(command, &mut tx, &workspace.organization, id, user).await?;
    Ok(tx.commit().await?)
}

pub(crate) async fn add_member_in(
    command: Command<'_>,
    tx: &mut Tx,
    organization: &OrganizationId,
    id: &WorkspaceId,
    user: &UserId,
) -> Result<(), CommandError> {
    workspaces::add_member(tx, id, user, command.now).await?;
    let change =
        AuditedChange::new("workspace.add-member", Some(organization), id.as_str()).after(json!({ "userId": user }));
    Ok(command.record(tx, change).await?)
}

/// Removes a user from a workspace.
pub async fn remove_member(command: Command<'_>, id: &WorkspaceId, user: &UserId) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let workspace = workspaces::lock(&mut tx, id).await?;
    workspaces::remove_member(&mut tx, id, user, command.now).await?;
    let change = AuditedChange::new("workspace.remove-member", Some(&workspace.organization), id.as_str())
        .before(json!({ "userId": user }));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}
