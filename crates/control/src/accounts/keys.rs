//! Commands on API keys.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::{entropy, snapshot};
use domain::budget::Budgets;
use domain::endpoint::labels::Labels;
use domain::key::NewKey;
use domain::key_restrictions::ModelPattern;
use domain::usage::Totals;
use domain::workspace::{Limits, check_name};
use domain::{
    ApiKey, KeyId, KeyLimits, KeyRestrictions, KeyState, Month, Network, OrganizationId, Permission, Span, Timestamp,
    Workspace, WorkspaceId,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::budgets::{self, Spending};
use store::key_list::{self, KeyColumn, KeyFilter, ListedKey};
use store::usage::sums;
use store::{Listing, Store, Tx, api_keys, workspaces};

/// Bounds of [`labels`].
const MAX_LABEL_SETS: u32 = 1_000;
const MAX_LABEL_NAMES: usize = 100;
const MAX_LABEL_VALUES: usize = 50;

const MAX_OVERLAP_SECS: u64 = 7 * 24 * 60 * 60;

/// The settings of a new key.
#[derive(Debug, Clone, Default)]
pub struct KeyRequest<'a> {
    pub name: &'a str,
    pub expires_at: Option<Timestamp>,
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    pub limits: KeyLimits,
    pub trusts_end_user: bool,
    pub restrictions: KeyRestrictions,
    pub labels: Labels,
    pub budgets: Budgets,
}

/// A new key and its text, which is shown once.
#[derive(Debug)]
pub struct CreatedKey {
    pub key: ApiKey,
    pub text: NewKey,
}

/// A change of a key's state.
#[derive(Debug, Clone, Copy)]
pub enum KeyChange {
    /// For good. A disabled key cannot be revoked.
    Revoke,
    /// Until it is enabled again.
    Disable,
    Enable,
    /// Sets the expiry to now.
    Expire,
}

/// New settings of a key; `None` keeps a value, `Some(None)` removes it.
#[derive(Debug, Clone, Default)]
pub struct KeyEdit<'a> {
    pub name: Option<&'a str>,
    pub expires_at: Option<Option<Timestamp>>,
    pub requests_per_minute: Option<Option<u64>>,
    pub tokens_per_minute: Option<Option<u64>>,
    /// Replaces all limits by model.
    pub limits: Option<KeyLimits>,
    pub trusts_end_user: Option<bool>,
    pub permissions: Option<Option<Vec<Permission>>>,
    pub allowed_models: Option<Option<Vec<ModelPattern>>>,
    pub allowed_ips: Option<Option<Vec<Network>>>,
    /// Replaces all labels.
    pub labels: Option<Labels>,
    /// Replaces all budgets.
    pub budgets: Option<Budgets>,
}

/// Creates a key. Fails if the workspace has reached its limit of keys.
pub async fn create(
    command: Command<'_>,
    workspace: &WorkspaceId,
    request: KeyRequest<'_>,
    defaults: &Limits,
) -> Result<CreatedKey, CommandError> {
    check(&request, command.now)?;
    let mut tx = command.store.begin().await?;
    let workspace = workspaces::lock(&mut tx, workspace).await?;
    let created = create_in(command, &mut tx, &workspace, request, defaults).await?;
    tx.commit().await?;
    Ok(created)
}

/// The keys of a workspace or an organization.
pub async fn list(
    store: &Store,
    filter: KeyFilter<'_>,
    listing: impl Into<Listing<'_, KeyColumn>>,
) -> Result<Vec<ListedKey>, CommandError> {
    Ok(key_list::list(store, filter, listing).await?)
}

/// The number of keys that [`list`] has on all its pages.
pub async fn count(store: &Store, filter: KeyFilter<'_>, listing: Listing<'_, KeyColumn>) -> Result<u64, CommandError> {
    Ok(key_list::count(store, filter, listing).await?)
}

/// What these keys used in the month of `now`. Those without usage are absent.
pub async fn used_this_month(
    store: &Store,
    keys: &[&KeyId],
    now: Timestamp,
) -> Result<HashMap<KeyId, Totals>, CommandError> {
    let month = Month::of(now);
    Ok(sums::read_keys(store, keys, Span { from: month.start(), to: month.end() }).await?)
}

/// A key by its id.
pub async fn show(store: &Store, id: &KeyId) -> Result<ApiKey, CommandError> {
    api_keys::by_id(store, id).await?.ok_or_else(|| CommandError::missing("key", id.as_str()))
}

/// What was spent of each budget of a key.
pub async fn spending(store: &Store, key: &ApiKey, now: Timestamp) -> Result<Vec<Spending>, CommandError> {
    Ok(budgets::spending(store, key, now).await?)
}

/// The names of the labels of a workspace's keys, each with its values. Of many, those of the newest keys, revoked ones included,
/// because usage is grouped by their labels, too.
pub async fn labels(
    store: &Store,
    workspace: &WorkspaceId,
) -> Result<BTreeMap<String, BTreeSet<String>>, CommandError> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in api_keys::label_sets(store, workspace, MAX_LABEL_SETS).await?.into_iter().flatten() {
        if all.len() >= MAX_LABEL_NAMES && !all.contains_key(&name) {
            continue;
        }
        let values = all.entry(name).or_default();
        if values.len() < MAX_LABEL_VALUES {
            values.insert(value);
        }
    }
    Ok(all)
}

/// Changes the state of a key. Idempotent, except for [`KeyChange::Expire`].
pub async fn change(
    command: Command<'_>,
    workspace: &WorkspaceId,
    id: &KeyId,
    change: KeyChange,
) -> Result<ApiKey, CommandError> {
    let mut tx = command.store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let (action, after) = match change {
        KeyChange::Revoke => ("key.revoke", api_keys::revoke(&mut tx, workspace, id, command.now).await?),
        KeyChange::Disable => ("key.disable", api_keys::disable(&mut tx, workspace, id, command.now).await?),
        KeyChange::Enable => ("key.enable", api_keys::enable(&mut tx, workspace, id, command.now).await?),
        KeyChange::Expire => ("key.expire", api_keys::expire(&mut tx, workspace, id, command.now).await?),
    };
    finish(command, tx, action, &before, after).await
}

/// Changes the settings of a key that is neither revoked nor expired.
pub async fn edit(
    command: Command<'_>,
    workspace: &WorkspaceId,
    id: &KeyId,
    edit: KeyEdit<'_>,
) -> Result<ApiKey, CommandError> {
    let mut tx = command.store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let request = KeyRequest {
        name: edit.name.unwrap_or(&before.name),
        expires_at: edit.expires_at.flatten(),
        requests_per_minute: edit.requests_per_minute.flatten(),
        tokens_per_minute: edit.tokens_per_minute.flatten(),
        ..KeyRequest::default()
    };
    check(&request, command.now)?;
    let KeyRestrictions { permissions, allowed_models, allowed_ips } = before.restrictions.clone();
    let edited = ApiKey {
        name: check_name(request.name)?.to_owned(),
        expires_at: edit.expires_at.unwrap_or(before.expires_at),
        requests_per_minute: edit.requests_per_minute.unwrap_or(before.requests_per_minute),
        tokens_per_minute: edit.tokens_per_minute.unwrap_or(before.tokens_per_minute),
        limits: edit.limits.unwrap_or_else(|| before.limits.clone()),
        trusts_end_user: edit.trusts_end_user.unwrap_or(before.trusts_end_user),
        restrictions: KeyRestrictions {
            permissions: edit.permissions.unwrap_or(permissions),
            allowed_models: edit.allowed_models.unwrap_or(allowed_models),
            allowed_ips: edit.allowed_ips.unwrap_or(allowed_ips),
        },
        labels: edit.labels.unwrap_or_else(|| before.labels.clone()),
        budgets: edit.budgets.unwrap_or_else(|| before.budgets.clone()),
        ..before.clone()
    };
    let after = api_keys::edit_locked(&mut tx, &before, edited, command.now).await?;
    finish(command, tx, "key.edit", &before, after).await
}

/// Ends the secrets before the current one now, which a rotation left valid for a while. Idempotent.
pub async fn end_overlap(command: Command<'_>, workspace: &WorkspaceId, id: &KeyId) -> Result<ApiKey, CommandError> {
    let mut tx = command.store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    if before.overlap_until.is_none_or(|end| end <= command.now) {
        return Ok(before);
    }
    let after = api_keys::end_overlap_locked(&mut tx, before.clone(), command.now).await?;
    finish(command, tx, "key.end-overlap", &before, after).await
}

/// What becomes of disabled keys when many are revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledKeys {
    /// They stay disabled, as if each were revoked alone.
    Keep,
    Revoke,
}

/// Revokes keys of an organization together, and returns them as they are now. An unknown one fails for all. Idempotent.
pub async fn revoke_many(
    command: Command<'_>,
    organization: &OrganizationId,
    ids: BTreeSet<KeyId>,
    disabled: DisabledKeys,
) -> Result<Vec<ApiKey>, CommandError> {
    let mut tx = command.store.begin().await?;
    let revoked = revoke_in(command, &mut tx, organization, ids, disabled).await?;
    tx.commit().await?;
    Ok(revoked)
}

/// [`revoke_many`] within a transaction. Keys are locked in one order, so that two calls cannot deadlock.
pub(crate) async fn revoke_in(
    command: Command<'_>,
    tx: &mut Tx,
    organization: &OrganizationId,
    ids: BTreeSet<KeyId>,
    disabled: DisabledKeys,
) -> Result<Vec<ApiKey>, CommandError> {
    let mut revoked = Vec::new();
    for id in ids {
        let before = api_keys::lock_in_organization(tx, organization, &id).await?;
        if disabled == DisabledKeys::Keep && before.state(command.now) == KeyState::Disabled {
            revoked.push(before);
            continue;
        }
        let was = snapshot::key(&before);
        let after = api_keys::revoke_locked(tx, before, command.now).await?;
        record(command, tx, "key.revoke", was, &after).await?;
        revoked.push(after);
    }
    Ok(revoked)
}

/// Replaces segment and secret of a key; id, name and limits stay. The old secret ends at once or after the overlap.
pub async fn rotate(
    command: Command<'_>,
    workspace: &WorkspaceId,
    id: &KeyId,
    overlap_secs: u64,
) -> Result<CreatedKey, CommandError> {
    if overlap_secs > MAX_OVERLAP_SECS {
        return Err(CommandError::BadValue {
            field: "overlapSeconds",
            why: "the overlap can be at most 604800 seconds (7 days)",
        });
    }
    let old_dies_at = command.now.plus_millis(overlap_secs.cast_signed() * 1_000);
    let text = entropy::new_key();
    let mut tx = command.store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let fresh = (text.segment, text.hash);
    let after = api_keys::rotate(&mut tx, workspace, id, fresh, old_dies_at, command.now).await?;
    let key = finish(command, tx, "key.rotate", &before, after).await?;
    Ok(CreatedKey { key, text })
}

/// [`create`] within a transaction that has locked the workspace.
pub(crate) async fn create_in(
    command: Command<'_>,
    tx: &mut Tx,
    workspace: &Workspace,
    request: KeyRequest<'_>,
    defaults: &Limits,
) -> Result<CreatedKey, CommandError> {
    let text = entropy::new_key();
    let id = KeyId::new(command.now, entropy::for_id());
    let key = ApiKey {
        created_by: command.author.user().cloned(),
        expires_at: request.expires_at,
        requests_per_minute: request.requests_per_minute,
        tokens_per_minute: request.tokens_per_minute,
        limits: request.limits,
        trusts_end_user: request.trusts_end_user,
        restrictions: request.restrictions,
        labels: request.labels,
        budgets: request.budgets,
        ..ApiKey::new(id, workspace, check_name(request.name)?, &text, command.now)
    };
    api_keys::insert_within(tx, &key, workspace.limits(defaults).max_api_keys).await?;
    let change = AuditedChange::new("key.create", Some(&key.organization), key.id.as_str()).after(snapshot::key(&key));
    command.record(tx, change).await?;
    Ok(CreatedKey { key, text })
}

fn check(request: &KeyRequest<'_>, now: Timestamp) -> Result<(), CommandError> {
    check_name(request.name)?;
    if request.expires_at.is_some_and(|end| end <= now) {
        return Err(CommandError::BadValue { field: "expiresAt", why: "the expiry must be in the future" });
    }
    let at_least_one = |field, limit: Option<u64>| match limit {
        Some(0) => Err(CommandError::BadValue { field, why: "a limit must be at least 1" }),
        Some(_) | None => Ok(()),
    };
    at_least_one("requestsPerMinute", request.requests_per_minute)?;
    at_least_one("tokensPerMinute", request.tokens_per_minute)
}

/// Records the change and commits. A call that changed nothing leaves no audit entry.
async fn finish(
    command: Command<'_>,
    mut tx: Tx,
    action: &'static str,
    before: &ApiKey,
    after: ApiKey,
) -> Result<ApiKey, CommandError> {
    record(command, &mut tx, action, snapshot::key(before), &after).await?;
    tx.commit().await?;
    Ok(after)
}

async fn record(
    command: Command<'_>,
    tx: &mut Tx,
    action: &'static str,
    was: Value,
    after: &ApiKey,
) -> Result<(), CommandError> {
    let became = snapshot::key(after);
    if was != became {
        let change = AuditedChange::new(action, Some(&after.organization), after.id.as_str()).before(was).after(became);
        command.record(tx, change).await?;
    }
    Ok(())
}
