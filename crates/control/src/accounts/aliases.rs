//! Commands on the aliases of workspaces.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use domain::alias::AliasName;
use domain::{Catalogue, ModelRef, WorkspaceId};
use serde_json::json;
use store::{Store, aliases, workspaces};

/// The most aliases of a workspace: every caller of it carries them.
const MAX_ALIASES: usize = 100;

/// The aliases of a workspace, by name.
pub async fn list(store: &Store, workspace: &WorkspaceId) -> Result<Vec<(AliasName, ModelRef)>, CommandError> {
    Ok(aliases::list(store, workspace).await?)
}

/// A new alias, or a new target of one.
#[derive(Debug, Clone, Copy)]
pub struct AliasChange<'a> {
    pub name: &'a str,
    pub model: &'a str,
    /// The target that the author of the change knows; `Some(None)` if there was no such alias. `None` creates an alias, and
    /// replaces no other target.
    pub replaces: Option<Option<&'a str>>,
}

/// Creates or changes an alias. Its target is a model of the catalogue, or a dedicated endpoint, which need not exist yet.
pub async fn set(
    command: Command<'_>,
    workspace: &WorkspaceId,
    AliasChange { name, model, replaces }: AliasChange<'_>,
    catalogue: &Catalogue,
) -> Result<(AliasName, ModelRef), CommandError> {
    let invalid = |field, why| CommandError::BadValue { field, why };
    let name = AliasName::parse(name).map_err(|_| {
        let why =
            "an alias has 1 to 128 letters, digits and ._:/-, at most one * at the end, and is not under dedicated/";
        invalid("name", why)
    })?;
    if catalogue.get(name.as_str()).is_some() {
        return Err(invalid("name", "the name is the id of a model"));
    }
    let target = match ModelRef::parse(model) {
        Ok(ModelRef::Catalogue(id)) if catalogue.get(id.as_str()).is_some() => ModelRef::Catalogue(id),
        Ok(ModelRef::Dedicated(endpoint)) => ModelRef::Dedicated(endpoint),
        Ok(ModelRef::Catalogue(_)) | Err(_) => {
            return Err(invalid("model", "not the id of a model of the catalogue, and not dedicated/<name>"));
        }
    };
    let mut tx = command.store.begin().await?;
    let owner = workspaces::lock(&mut tx, workspace).await?;
    let known = aliases::list_in(&mut tx, workspace).await?;
    let before = known.iter().find(|(known, _)| *known == name).map(|(_, target)| target);
    let conflicts = match replaces {
        Some(expected) => expected.map(str::to_owned) != before.map(ToString::to_string),
        None => before.is_some_and(|before| *before != target),
    };
    if conflicts {
        return Err(CommandError::AliasChanged { current: before.cloned() });
    }
    if before.is_none() && known.len() >= MAX_ALIASES {
        return Err(invalid("name", "a workspace has at most 100 aliases"));
    }
    aliases::put(&mut tx, workspace, &name, &target, command.now).await?;
    let mut change = AuditedChange::new("workspace.set-alias", Some(&owner.organization), workspace.as_str())
        .after(json!({ "name": name.as_str(), "model": target.to_string() }));
    if let Some(before) = before {
        change = change.before(json!({ "name": name.as_str(), "model": before.to_string() }));
    }
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok((name, target))
}

/// Deletes an alias. An unknown one is missing.
pub async fn delete(command: Command<'_>, workspace: &WorkspaceId, name: &str) -> Result<(), CommandError> {
    let missing = || CommandError::missing("alias", name);
    let name = AliasName::parse(name).map_err(|_| missing())?;
    let mut tx = command.store.begin().await?;
    let owner = workspaces::lock(&mut tx, workspace).await?;
    let known = aliases::list_in(&mut tx, workspace).await?;
    let (_, target) = known.iter().find(|(known, _)| *known == name).ok_or_else(missing)?;
    aliases::delete(&mut tx, workspace, &name, command.now).await?;
    let change = AuditedChange::new("workspace.delete-alias", Some(&owner.organization), workspace.as_str())
        .before(json!({ "name": name.as_str(), "model": target.to_string() }));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}
