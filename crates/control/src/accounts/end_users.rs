//! Commands on the people behind the keys of a workspace.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::snapshot;
use domain::budget::Budgets;
use domain::end_user::{EndUserSettings, MAX_WITH_OWN_LIMITS, OwnEndUserLimits};
use domain::{EndUserId, Timestamp, Workspace, WorkspaceId};
use store::budgets::{self, Spending};
use store::end_users::{self, KnownEndUser};
use store::{Page, Store, workspaces};

/// New limits of an end user; `None` keeps a value, `Some(None)` follows the workspace.
#[derive(Debug, Clone, Default)]
pub struct EndUserEdit {
    pub requests_per_minute: Option<Option<u64>>,
    pub tokens_per_minute: Option<Option<u64>>,
    pub budgets: Option<Option<Budgets>>,
}

/// The end users of a workspace; `search` is a part of their texts.
pub async fn list(
    store: &Store,
    workspace: &WorkspaceId,
    search: Option<&str>,
    page: Page<'_>,
) -> Result<Vec<KnownEndUser>, CommandError> {
    Ok(end_users::list(store, workspace, search, page).await?)
}

/// An end user, and what was spent of the budgets that apply.
pub async fn show(
    store: &Store,
    workspace: &Workspace,
    id: &EndUserId,
    now: Timestamp,
) -> Result<(KnownEndUser, Vec<Spending>), CommandError> {
    let found = end_users::by_id(store, &workspace.id, id).await?.ok_or_else(|| missing(id))?;
    let budgets = found.own.budgets.as_ref().unwrap_or(&workspace.end_users.budgets);
    let spending = budgets::end_user_spending(store, &workspace.id, id, budgets, now).await?;
    Ok((found, spending))
}

/// Changes the limits of an end user who has made a call.
pub async fn edit(
    command: Command<'_>,
    workspace: &WorkspaceId,
    id: &EndUserId,
    edit: EndUserEdit,
) -> Result<(), CommandError> {
    check(edit.requests_per_minute.flatten(), edit.tokens_per_minute.flatten())?;
    let mut tx = command.store.begin().await?;
    let owner = workspaces::lock(&mut tx, workspace).await?;
    let before = end_users::lock(&mut tx, workspace, id).await?.ok_or_else(|| missing(id))?;
    let own = OwnEndUserLimits {
        requests_per_minute: edit.requests_per_minute.unwrap_or(before.own.requests_per_minute),
        tokens_per_minute: edit.tokens_per_minute.unwrap_or(before.own.tokens_per_minute),
        budgets: edit.budgets.unwrap_or_else(|| before.own.budgets.clone()),
    };
    let with_limits = end_users::set_limits(&mut tx, workspace, id, &own, command.now).await?;
    if with_limits > MAX_WITH_OWN_LIMITS {
        let why = "at most 1000 end users of a workspace have limits of their own";
        return Err(CommandError::BadValue { field: "endUserId", why });
    }
    let change = AuditedChange::new("end-user.set", Some(&owner.organization), id.as_str())
        .before(snapshot::end_user(&before.own))
        .after(snapshot::end_user(&own));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Forgets an end user. What the calls have used stays in the sums of the workspace.
pub async fn delete(command: Command<'_>, workspace: &WorkspaceId, id: &EndUserId) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let owner = workspaces::lock(&mut tx, workspace).await?;
    if !end_users::delete(&mut tx, workspace, id, command.now).await? {
        return Err(missing(id));
    }
    let change = AuditedChange::new("end-user.delete", Some(&owner.organization), id.as_str());
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Checks what applies to the end users of a workspace.
pub(crate) fn check_settings(settings: &EndUserSettings) -> Result<(), CommandError> {
    check(settings.requests_per_minute, settings.tokens_per_minute)
}

fn check(requests: Option<u64>, tokens: Option<u64>) -> Result<(), CommandError> {
    for (field, limit) in [("requestsPerMinute", requests), ("tokensPerMinute", tokens)] {
        if limit == Some(0) {
            return Err(CommandError::BadValue { field, why: "a limit must be at least 1" });
        }
    }
    Ok(())
}

fn missing(id: &EndUserId) -> CommandError {
    CommandError::missing("end user", id.as_str())
}
