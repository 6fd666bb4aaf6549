//! What engines can do, as the node found out that asked them.
//!
//! A row per engine, which nodes share: one of them asks, after it has claimed the row.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::capabilities::{Capabilities, Capability, Support};
use domain::{ModelId, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// The most engines that are read at once.
const MAX_LISTED: i64 = 10_000;

/// The result of the last probe of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineRecord {
    /// Identifies the engine.
    pub engine: String,
    /// The Model ID under which it was asked.
    pub model: ModelId,
    pub version: Option<String>,
    pub capabilities: Capabilities,
    /// Whether all questions were asked.
    pub is_complete: bool,
    pub asked_at: Timestamp,
}

/// Results since a moment, oldest first.
pub async fn list_since(store: &Store, since: Timestamp) -> Result<Vec<EngineRecord>, StoreError> {
    let query = sqlx::query(
        "SELECT engine, model, version, capabilities, is_complete, asked_at FROM engine_capabilities \
         WHERE capabilities IS NOT NULL AND asked_at >= $1 ORDER BY asked_at, engine LIMIT $2",
    );
    store.rows(query.bind(since.millis()).bind(MAX_LISTED)).await?.iter().map(record).collect()
}

/// The results for a model, newest first.
pub async fn list_of_model(store: &Store, model: &ModelId) -> Result<Vec<EngineRecord>, StoreError> {
    let query = sqlx::query(
        "SELECT engine, model, version, capabilities, is_complete, asked_at FROM engine_capabilities \
         WHERE capabilities IS NOT NULL AND model = $1 ORDER BY asked_at DESC, engine LIMIT $2",
    );
    store.rows(query.bind(model.as_str()).bind(MAX_LISTED)).await?.iter().map(record).collect()
}

/// Claims an engine until a moment. Returns whether no other node has claimed it.
pub async fn claim(
    tx: &mut Tx,
    engine: &str,
    model: &ModelId,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO engine_capabilities (engine, model, asked_at, claimed_until) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (engine) DO UPDATE SET claimed_until = excluded.claimed_until \
         WHERE engine_capabilities.claimed_until <= $3",
    );
    let upsert = upsert.bind(engine).bind(model.as_str()).bind(now.millis()).bind(until.millis());
    Ok(tx.execute(upsert).await? == 1)
}

/// Writes a result, and gives the claim back.
pub async fn put(tx: &mut Tx, record: &EngineRecord) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO engine_capabilities (engine, model, version, capabilities, is_complete, asked_at, claimed_until) \
         VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (engine) DO UPDATE SET model = excluded.model, \
         version = excluded.version, capabilities = excluded.capabilities, is_complete = excluded.is_complete, \
         asked_at = excluded.asked_at, claimed_until = excluded.claimed_until",
    )
    .bind(record.engine.as_str())
    .bind(record.model.as_str())
    .bind(record.version.as_deref())
    .bind(to_json(&record.capabilities))
    .bind(i64::from(record.is_complete))
    .bind(record.asked_at.millis());
    tx.execute(upsert).await.map(drop)
}

fn record(found: &AnyRow) -> Result<EngineRecord, StoreError> {
    Ok(EngineRecord {
        engine: row::text(found, "engine")?,
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        version: row::optional_text(found, "version")?,
        capabilities: row::parsed(found, "capabilities", from_json)?,
        is_complete: row::flag(found, "is_complete")?,
        asked_at: row::moment(found, "asked_at")?,
    })
}

/// Capabilities as JSON. Names that this version does not know are left out.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    present: Vec<String>,
    missing: Vec<String>,
    notes: BTreeMap<String, String>,
}

/// The capabilities as they are stored.
pub fn to_json(capabilities: &Capabilities) -> String {
    let names = |set: domain::capabilities::CapabilitySet| set.iter().map(|one| one.to_string()).collect();
    let notes =
        Capability::ALL.into_iter().filter_map(|one| Some((one.to_string(), capabilities.note_of(one)?.to_owned())));
    let written = Written {
        present: names(capabilities.present()),
        missing: names(capabilities.missing()),
        notes: notes.collect(),
    };
    serde_json::to_string(&written).expect("it has only texts")
}

fn from_json(text: &str) -> Option<Capabilities> {
    let written: Written = serde_json::from_str(text).ok()?;
    let mut capabilities = Capabilities::default();
    for (names, support) in [(&written.present, Support::Yes), (&written.missing, Support::No)] {
        names.iter().filter_map(|name| Capability::parse(name)).for_each(|one| capabilities.set(one, support));
    }
    for (name, note) in &written.notes {
        if let Some(capability) = Capability::parse(name) {
            capabilities.note(capability, note);
        }
    }
    Some(capabilities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_as_they_were_written_without_unknown_ones() {
        let mut capabilities = Capabilities::default();
        capabilities.set(Capability::Tools, Support::Yes);
        capabilities.set(Capability::Images, Support::No);
        capabilities.note(Capability::Images, "text only");
        assert_eq!(from_json(&to_json(&capabilities)), Some(capabilities));
        let newer = from_json(r#"{"present":["chat","telepathy"],"future":1}"#).unwrap();
        assert!(newer.present().iter().eq([Capability::Chat]));
        assert_eq!(from_json("?"), None);
    }
}
