//! The catalogue in the store: models and aliases that operators manage through the API.
//!
//! It is small, so it is read as a whole. Commands lock it as a whole, too: an alias must not have the id of a model, and
//! two tables cannot express that.

use crate::change::Change;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::alias::AliasName;
use domain::{ModelId, Timestamp};
use sqlx::any::AnyRow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredModel {
    pub id: ModelId,
    /// The model's table of the configuration file as JSON, without secrets.
    pub definition: String,
    /// Disabled models are not served.
    pub enabled: bool,
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAlias {
    pub name: AliasName,
    pub model: ModelId,
    pub version: u64,
}

/// The encrypted key of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedKey {
    pub model: ModelId,
    pub url: String,
    pub sealed: String,
}

/// All entries, each list ordered by its names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredCatalogue {
    pub models: Vec<StoredModel>,
    pub aliases: Vec<StoredAlias>,
    pub keys: Vec<SealedKey>,
}

impl StoredCatalogue {
    pub fn model(&self, id: &str) -> Option<&StoredModel> {
        self.models.iter().find(|model| model.id.as_str() == id)
    }

    pub fn alias(&self, name: &str) -> Option<&StoredAlias> {
        self.aliases.iter().find(|alias| alias.name.as_str() == name)
    }
}

const MODELS: &str =
    "SELECT id, definition, enabled, version, created_at, updated_at FROM catalogue_models ORDER BY id";
const ALIASES: &str = "SELECT name, model, version FROM catalogue_aliases ORDER BY name";
const KEYS: &str = "SELECT model, url, sealed FROM catalogue_upstream_keys ORDER BY model, url";

/// How often entries are read again until two reads are equal.
const MAX_REREADS: u32 = 5;

/// Reads all entries as they were at one moment.
///
/// Its three queries may see only a part of a change, such as a model without its key. Nothing changed between two equal
/// reads, because versions only grow.
pub async fn read(store: &Store) -> Result<StoredCatalogue, StoreError> {
    let mut last = read_once(store).await?;
    for _ in 0..MAX_REREADS {
        let again = read_once(store).await?;
        if again == last {
            return Ok(again);
        }
        last = again;
    }
    Err(StoreError::Unavailable("the catalogue changed during each read".into()))
}

async fn read_once(store: &Store) -> Result<StoredCatalogue, StoreError> {
    let models = store.rows(sqlx::query(MODELS)).await?;
    let aliases = store.rows(sqlx::query(ALIASES)).await?;
    let keys = store.rows(sqlx::query(KEYS)).await?;
    catalogue(&models, &aliases, &keys)
}

/// Like [`read`], but serialized: of several concurrent transactions, each waits for the end of the previous one.
pub async fn lock(tx: &mut Tx) -> Result<StoredCatalogue, StoreError> {
    tx.execute(sqlx::query("UPDATE change_counter SET seq = seq")).await?;
    let models = tx.rows(sqlx::query(MODELS)).await?;
    let aliases = tx.rows(sqlx::query(ALIASES)).await?;
    let keys = tx.rows(sqlx::query(KEYS)).await?;
    catalogue(&models, &aliases, &keys)
}

/// Creates or replaces a model. The catalogue must be locked.
pub async fn put_model(tx: &mut Tx, model: &StoredModel) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO catalogue_models (id, definition, enabled, version, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO UPDATE SET definition = excluded.definition, \
         enabled = excluded.enabled, version = excluded.version, updated_at = excluded.updated_at",
    )
    .bind(model.id.as_str())
    .bind(model.definition.as_str())
    .bind(i64::from(model.enabled))
    .bind(row::to_number(model.version))
    .bind(model.created_at.millis())
    .bind(model.updated_at.millis());
    tx.execute(upsert).await?;
    tx.announce(Change::Catalogue, model.updated_at);
    Ok(())
}

/// Deletes a model with the keys of its upstreams.
pub async fn delete_model(tx: &mut Tx, id: &ModelId, now: Timestamp) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM catalogue_models WHERE id = $1").bind(id.as_str());
    tx.execute_one(delete, "model", id.as_str()).await?;
    tx.announce(Change::Catalogue, now);
    Ok(())
}

/// Creates or replaces an alias. The catalogue must be locked.
pub async fn put_alias(tx: &mut Tx, alias: &StoredAlias, now: Timestamp) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO catalogue_aliases (name, model, version) VALUES ($1, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET model = excluded.model, version = excluded.version",
    );
    let upsert = upsert.bind(alias.name.as_str()).bind(alias.model.as_str()).bind(row::to_number(alias.version));
    tx.execute(upsert).await?;
    tx.announce(Change::Catalogue, now);
    Ok(())
}

pub async fn delete_alias(tx: &mut Tx, name: &AliasName, now: Timestamp) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM catalogue_aliases WHERE name = $1").bind(name.as_str());
    tx.execute_one(delete, "alias", name.as_str()).await?;
    tx.announce(Change::Catalogue, now);
    Ok(())
}

/// Creates or replaces the key of an upstream. The model must exist.
pub async fn put_key(tx: &mut Tx, key: &SealedKey) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO catalogue_upstream_keys (model, url, sealed) VALUES ($1, $2, $3) \
         ON CONFLICT (model, url) DO UPDATE SET sealed = excluded.sealed",
    );
    tx.execute(upsert.bind(key.model.as_str()).bind(key.url.as_str()).bind(key.sealed.as_str())).await.map(drop)
}

/// Replaces the encrypted text of a key, if it is still the one that was read.
pub async fn replace_key(tx: &mut Tx, read: &SealedKey, sealed: &str) -> Result<bool, StoreError> {
    let update =
        sqlx::query("UPDATE catalogue_upstream_keys SET sealed = $4 WHERE model = $1 AND url = $2 AND sealed = $3");
    let update = update.bind(read.model.as_str()).bind(read.url.as_str()).bind(read.sealed.as_str()).bind(sealed);
    Ok(tx.execute(update).await? == 1)
}

/// Deletes the key of an upstream. Idempotent.
pub async fn delete_key(tx: &mut Tx, model: &ModelId, url: &str) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM catalogue_upstream_keys WHERE model = $1 AND url = $2");
    tx.execute(delete.bind(model.as_str()).bind(url)).await.map(drop)
}

/// What still refers to a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Aliases of workspaces.
    pub workspace_aliases: u64,
    /// The number of dedicated endpoints by flavor, ordered by its name.
    pub endpoints: Vec<(String, u64)>,
}

pub async fn uses(store: &Store, model: &ModelId) -> Result<Uses, StoreError> {
    let aliases = sqlx::query("SELECT COUNT(*) AS aliases FROM workspace_aliases WHERE model = $1");
    let endpoints = sqlx::query(
        "SELECT flavor, COUNT(*) AS endpoints FROM endpoints WHERE model = $1 AND deleted_at IS NULL \
         GROUP BY flavor ORDER BY flavor",
    );
    let aliases = store.row(aliases.bind(model.as_str())).await?;
    let workspace_aliases = aliases.map_or(Ok(0), |found| row::count(&found, "aliases"))?;
    let of_flavor =
        |found: &AnyRow| Ok::<_, StoreError>((row::text(found, "flavor")?, row::count(found, "endpoints")?));
    let endpoints = store.rows(endpoints.bind(model.as_str())).await?;
    let endpoints = endpoints.iter().map(of_flavor).collect::<Result<_, StoreError>>()?;
    Ok(Uses { workspace_aliases, endpoints })
}

fn catalogue(models: &[AnyRow], aliases: &[AnyRow], keys: &[AnyRow]) -> Result<StoredCatalogue, StoreError> {
    let mut all = StoredCatalogue {
        models: models.iter().map(model).collect::<Result<_, _>>()?,
        aliases: aliases.iter().map(alias).collect::<Result<_, _>>()?,
        keys: keys.iter().map(key).collect::<Result<_, _>>()?,
    };
    // SQLite and PostgreSQL sort texts differently, and nodes compare hashes of the catalogue.
    all.models.sort_by(|one, other| one.id.cmp(&other.id));
    all.aliases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

fn model(found: &AnyRow) -> Result<StoredModel, StoreError> {
    Ok(StoredModel {
        id: row::parsed(found, "id", |text| ModelId::parse(text).ok())?,
        definition: row::text(found, "definition")?,
        enabled: row::flag(found, "enabled")?,
        version: row::count(found, "version")?,
        created_at: row::moment(found, "created_at")?,
        updated_at: row::moment(found, "updated_at")?,
    })
}

fn alias(found: &AnyRow) -> Result<StoredAlias, StoreError> {
    Ok(StoredAlias {
        name: row::parsed(found, "name", |text| AliasName::parse(text).ok())?,
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        version: row::count(found, "version")?,
    })
}

fn key(found: &AnyRow) -> Result<SealedKey, StoreError> {
    Ok(SealedKey {
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        url: row::text(found, "url")?,
        sealed: row::text(found, "sealed")?,
    })
}
