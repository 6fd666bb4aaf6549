//! Commands on the catalogue in the store.
//!
//! The reader of the configuration file has checked each definition by itself before. These commands check what depends
//! on other entries: names are unique in the file and the store together, and aliases name models.

mod import;

pub use import::{Import, ImportError, ImportProblem, import};

use crate::catalogue_error::CatalogueError;
use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use domain::alias::{Alias, AliasName};
use domain::{Catalogue, CatalogueMode, ModelId};
use serde_json::{Map, Value, json};
use store::catalogue::{self, SealedKey, StoredAlias, StoredCatalogue, StoredModel, Uses};
use store::{ContentKeys, Store, Tx};

/// Every node keeps the catalogue in memory.
const MAX_MODELS: usize = 1_000;
const MAX_ALIASES: usize = 1_000;

/// The part of the catalogue that commands cannot change.
#[derive(Debug, Clone, Copy)]
pub struct FixedPart<'a> {
    pub mode: CatalogueMode,
    /// The catalogue of the configuration file.
    pub file: &'a Catalogue,
}

impl FixedPart<'_> {
    fn check_writable(&self) -> Result<(), CatalogueError> {
        if self.mode.has_store() { Ok(()) } else { Err(CatalogueError::ReadOnly) }
    }

    /// Whether the file has a model or an alias of this name, and is served.
    fn has_name(&self, name: &str) -> bool {
        self.mode.has_file() && self.file.has_name(name)
    }

    fn has_model(&self, id: &ModelId) -> bool {
        self.mode.has_file() && self.file.get(id.as_str()).is_some()
    }

    /// The error for an entry that is not in the store.
    fn absent(&self, noun: &'static str, name: &str) -> CommandError {
        if self.has_name(name) {
            return CatalogueError::FromFile(name.to_owned()).into();
        }
        CommandError::missing(noun, name)
    }
}

/// A model as it is to be stored.
#[derive(Debug, Clone)]
pub struct ModelDraft {
    pub id: ModelId,
    /// Checked; without secrets.
    pub definition: Map<String, Value>,
    pub enabled: bool,
    /// The addresses of all upstreams; keys of other addresses are deleted.
    pub urls: Vec<String>,
    pub keys: Vec<KeyChange>,
}

/// The key of the upstreams at an address.
#[derive(Debug, Clone)]
pub struct KeyChange {
    pub url: String,
    /// Encrypted; `None` deletes it.
    pub sealed: Option<String>,
}

/// What still refers to a model.
pub async fn uses(store: &Store, id: &ModelId) -> Result<Uses, CommandError> {
    Ok(catalogue::uses(store, id).await?)
}

/// Creates a model.
pub async fn create_model(
    command: Command<'_>,
    fixed: FixedPart<'_>,
    draft: &ModelDraft,
) -> Result<StoredModel, CommandError> {
    fixed.check_writable()?;
    let mut tx = command.store.begin().await?;
    let before = catalogue::lock(&mut tx).await?;
    check_new_name(fixed, &before, draft.id.as_str())?;
    if before.models.len() >= MAX_MODELS {
        return Err(CommandError::BadValue { field: "id", why: "the store has at most 1000 models" });
    }
    let new = write_model(command, &mut tx, &before, draft).await?;
    tx.commit().await?;
    Ok(new)
}

/// Replaces a model, if it still has the version that was read.
pub async fn change_model(
    command: Command<'_>,
    fixed: FixedPart<'_>,
    draft: &ModelDraft,
    version: u64,
) -> Result<StoredModel, CommandError> {
    fixed.check_writable()?;
    let mut tx = command.store.begin().await?;
    let before = catalogue::lock(&mut tx).await?;
    let id = draft.id.as_str();
    let current = before.model(id).ok_or_else(|| fixed.absent("model", id))?;
    if current.version != version {
        return Err(CatalogueError::Stale.into());
    }
    let changed = write_model(command, &mut tx, &before, draft).await?;
    tx.commit().await?;
    Ok(changed)
}

/// Deletes a model. Fails while aliases of the catalogue name it.
pub async fn delete_model(command: Command<'_>, fixed: FixedPart<'_>, id: &ModelId) -> Result<(), CommandError> {
    fixed.check_writable()?;
    let mut tx = command.store.begin().await?;
    let before = catalogue::lock(&mut tx).await?;
    let current = before.model(id.as_str()).ok_or_else(|| fixed.absent("model", id.as_str()))?;
    let aliases: Vec<&str> =
        before.aliases.iter().filter(|alias| alias.model == *id).map(|alias| alias.name.as_str()).collect();
    if !aliases.is_empty() {
        return Err(CatalogueError::InUse(aliases.join(", ")).into());
    }
    catalogue::delete_model(&mut tx, id, command.now).await?;
    let change =
        AuditedChange::new("model.delete", None, id.as_str()).before(snapshot(current, &urls_with_keys(&before, id)));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Creates an alias of the catalogue, for all workspaces.
pub async fn create_alias(
    command: Command<'_>,
    fixed: FixedPart<'_>,
    (name, model): (&str, &str),
) -> Result<StoredAlias, CommandError> {
    fixed.check_writable()?;
    let name = AliasName::parse(name).map_err(|_| CommandError::BadValue {
        field: "name",
        why: "an alias has 1 to 128 letters, digits and ._:/-, at most one * at the end, and is not under dedicated/",
    })?;
    let mut tx = command.store.begin().await?;
    let before = catalogue::lock(&mut tx).await?;
    check_new_name(fixed, &before, name.as_str())?;
    if before.aliases.len() >= MAX_ALIASES {
        return Err(CommandError::BadValue { field: "name", why: "the store has at most 1000 aliases" });
    }
    let model = target(fixed, &before, model)?;
    let new = write_alias(command, &mut tx, &before, &Alias { name, model }).await?;
    tx.commit().await?;
    Ok(new)
}

/// Gives an alias another model, if it still has the version that was read.
pub async fn change_alias(
    command: Command<'_>,
    fixed: FixedPart<'_>,
    (name, model): (&str, &str),
    version: u64,
) -> Result<StoredAlias, CommandError> {
    fixed.check_writable()?;
    let mut tx = command.store.begin().await?;
    let before = catalogue::lock(&mut tx).await?;
    let current = before.alias(name).ok_or_else(|| fixed.absent("alias", name))?;
    if current.version != version {
        return Err(CatalogueError::Stale.into());
    }
    let alias = Alias { name: current.name.clone(), model: target(fixed, &before, model)? };
    let changed = write_alias(command, &mut tx, &before, &alias).await?;
    tx.commit().await?;
    Ok(changed)
}

/// Deletes an alias of the catalogue.
pub async fn delete_alias(command: Command<'_>, fixed: FixedPart<'_>, name: &str) -> Result<(), CommandError> {
    fixed.check_writable()?;
    let mut tx = command.store.begin().await?;
    let before = catalogue::lock(&mut tx).await?;
    let current = before.alias(name).ok_or_else(|| fixed.absent("alias", name))?;
    catalogue::delete_alias(&mut tx, &current.name, command.now).await?;
    let change = AuditedChange::new("alias.delete", None, name).before(alias_snapshot(current));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Encrypts keys of upstreams again that were encrypted with an earlier content key, and returns how many. Those that
/// cannot be decrypted stay.
pub async fn reseal_keys(store: &Store, content_keys: &ContentKeys) -> Result<usize, CommandError> {
    let stored = catalogue::read(store).await?;
    let mut replaced = 0;
    for key in stored.keys.iter().filter(|key| !content_keys.is_sealed_now(&key.sealed)) {
        let Ok(opened) = content_keys.open_upstream_key(&key.model, &key.url, &key.sealed) else { continue };
        let sealed = content_keys.seal_upstream_key(&key.model, &key.url, &opened);
        let mut tx = store.begin().await?;
        replaced += usize::from(catalogue::replace_key(&mut tx, key, &sealed).await?);
        tx.commit().await?;
    }
    Ok(replaced)
}

/// Creates or replaces a model with its keys, and records the change. `before` is the locked catalogue.
async fn write_model(
    command: Command<'_>,
    tx: &mut Tx,
    before: &StoredCatalogue,
    draft: &ModelDraft,
) -> Result<StoredModel, CommandError> {
    let id = draft.id.as_str();
    let current = before.model(id);
    let written = StoredModel {
        id: draft.id.clone(),
        definition: Value::Object(draft.definition.clone()).to_string(),
        enabled: draft.enabled,
        version: current.map_or(1, |current| current.version + 1),
        created_at: current.map_or(command.now, |current| current.created_at),
        updated_at: command.now,
    };
    catalogue::put_model(tx, &written).await?;
    let with_keys = write_keys(tx, before, draft).await?;
    let change = match current {
        None => AuditedChange::new("model.create", None, id),
        Some(current) => {
            AuditedChange::new("model.change", None, id).before(snapshot(current, &urls_with_keys(before, &current.id)))
        }
    };
    command.record(tx, change.after(snapshot(&written, &with_keys))).await?;
    Ok(written)
}

/// Like [`write_model`], for an alias.
async fn write_alias(
    command: Command<'_>,
    tx: &mut Tx,
    before: &StoredCatalogue,
    alias: &Alias,
) -> Result<StoredAlias, CommandError> {
    let Alias { name, model } = alias.clone();
    let current = before.alias(name.as_str());
    let written = StoredAlias { name, model, version: current.map_or(1, |current| current.version + 1) };
    catalogue::put_alias(tx, &written, command.now).await?;
    let subject = alias.name.as_str();
    let change = match current {
        None => AuditedChange::new("alias.create", None, subject),
        Some(current) => AuditedChange::new("alias.change", None, subject).before(alias_snapshot(current)),
    };
    command.record(tx, change.after(alias_snapshot(&written))).await?;
    Ok(written)
}

fn check_new_name(fixed: FixedPart<'_>, stored: &StoredCatalogue, name: &str) -> Result<(), CatalogueError> {
    let is_taken = fixed.has_name(name) || stored.model(name).is_some() || stored.alias(name).is_some();
    if is_taken { Err(CatalogueError::NameTaken(name.to_owned())) } else { Ok(()) }
}

fn target(fixed: FixedPart<'_>, stored: &StoredCatalogue, model: &str) -> Result<ModelId, CommandError> {
    let known = ModelId::parse(model).ok().filter(|id| fixed.has_model(id) || stored.model(id.as_str()).is_some());
    known.ok_or(CommandError::BadValue { field: "model", why: "not the id of a model of the catalogue" })
}

/// Applies the changes of keys and returns the addresses that have one.
async fn write_keys(tx: &mut Tx, before: &StoredCatalogue, draft: &ModelDraft) -> Result<Vec<String>, CommandError> {
    let mut with_keys = urls_with_keys(before, &draft.id);
    for url in with_keys.iter().filter(|url| !draft.urls.contains(url)) {
        catalogue::delete_key(tx, &draft.id, url).await?;
    }
    with_keys.retain(|url| draft.urls.contains(url));
    for KeyChange { url, sealed } in &draft.keys {
        with_keys.retain(|known| known != url);
        match sealed {
            Some(sealed) => {
                let key = SealedKey { model: draft.id.clone(), url: url.clone(), sealed: sealed.clone() };
                catalogue::put_key(tx, &key).await?;
                with_keys.push(url.clone());
            }
            None => catalogue::delete_key(tx, &draft.id, url).await?,
        }
    }
    Ok(with_keys)
}

fn urls_with_keys(stored: &StoredCatalogue, model: &ModelId) -> Vec<String> {
    stored.keys.iter().filter(|key| key.model == *model).map(|key| key.url.clone()).collect()
}

fn snapshot(model: &StoredModel, with_keys: &[String]) -> Value {
    let definition: Value = serde_json::from_str(&model.definition).unwrap_or_default();
    json!({ "definition": definition, "enabled": model.enabled, "version": model.version, "keysFor": with_keys })
}

fn alias_snapshot(alias: &StoredAlias) -> Value {
    json!({ "name": alias.name.as_str(), "model": alias.model.as_str(), "version": alias.version })
}
