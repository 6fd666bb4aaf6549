//! What engines can do, as the node found out that probed them.
//!
//! A row per engine, which nodes share: one of them probes it, after it has claimed the row.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::capabilities::{Capabilities, Capability, Support};
use domain::{ModelId, Timestamp, engine_key};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// The most engines that are read at once.
const MAX_LISTED: i64 = 10_000;
/// A time that no probe has.
const NEVER: i64 = -1;

/// The result of the last probes of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineRecord {
    /// Identifies the engine, see [`engine_key`].
    pub engine: String,
    /// The Model ID under which it was probed.
    pub model: ModelId,
    pub version: Option<String>,
    pub capabilities: Capabilities,
    /// Probes since the last one that made all of its calls.
    pub failures: u32,
    /// Names of the calls that ended an engine of this version.
    pub fatal_calls: Vec<String>,
    /// When the last probe began, whatever it has found.
    pub probed_at: Timestamp,
}

impl EngineRecord {
    /// Whether the last probe made all of its calls.
    pub const fn is_complete(&self) -> bool {
        self.failures == 0
    }
}

/// An engine that a node is about to probe.
#[derive(Debug, Clone, Copy)]
pub struct EngineClaim<'a> {
    pub engine: &'a str,
    pub model: &'a ModelId,
    /// The last probe that this node knows of.
    pub last: Option<Timestamp>,
    pub until: Timestamp,
}

/// Results since a moment, oldest first.
pub async fn list_since(store: &Store, since: Timestamp) -> Result<Vec<EngineRecord>, StoreError> {
    let query = sqlx::query(
        "SELECT engine, model, version, capabilities, failures, fatal_calls, probed_at FROM engine_capabilities \
         WHERE capabilities IS NOT NULL AND probed_at >= $1 ORDER BY probed_at, engine LIMIT $2",
    );
    store.rows(query.bind(since.millis()).bind(MAX_LISTED)).await?.iter().map(record).collect()
}

/// The results for engines with these keys, oldest first.
pub async fn list_of(store: &Store, keys: &[String]) -> Result<Vec<EngineRecord>, StoreError> {
    let mut records = list_since(store, Timestamp::from_millis(0)).await?;
    records.retain(|record| keys.iter().any(|key| engine_key::is_of(&record.engine, key)));
    Ok(records)
}

/// Claims an engine. Returns whether no other node has claimed it, or probed it since the node has read its row.
pub async fn claim(tx: &mut Tx, claim: EngineClaim<'_>, now: Timestamp) -> Result<bool, StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO engine_capabilities (engine, model, probed_at, claimed_until) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (engine) DO UPDATE SET claimed_until = excluded.claimed_until \
         WHERE engine_capabilities.claimed_until <= $3 \
         AND (engine_capabilities.capabilities IS NULL OR engine_capabilities.probed_at = $5)",
    );
    let last = claim.last.map_or(NEVER, Timestamp::millis);
    let upsert = upsert.bind(claim.engine).bind(claim.model.as_str()).bind(now.millis());
    Ok(tx.execute(upsert.bind(claim.until.millis()).bind(last)).await? == 1)
}

/// Writes a result, and gives the claim back.
pub async fn put(tx: &mut Tx, record: &EngineRecord) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO engine_capabilities \
         (engine, model, version, capabilities, failures, fatal_calls, probed_at, claimed_until) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (engine) DO UPDATE SET model = excluded.model, \
         version = excluded.version, capabilities = excluded.capabilities, failures = excluded.failures, \
         fatal_calls = excluded.fatal_calls, probed_at = excluded.probed_at, claimed_until = excluded.claimed_until",
    )
    .bind(record.engine.as_str())
    .bind(record.model.as_str())
    .bind(record.version.as_deref())
    .bind(to_json(&record.capabilities))
    .bind(i64::from(record.failures))
    .bind(serde_json::to_string(&record.fatal_calls).expect("it has only texts"))
    .bind(record.probed_at.millis());
    tx.execute(upsert).await.map(drop)
}

fn record(found: &AnyRow) -> Result<EngineRecord, StoreError> {
    Ok(EngineRecord {
        engine: row::text(found, "engine")?,
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        version: row::optional_text(found, "version")?,
        capabilities: row::parsed(found, "capabilities", from_json)?,
        failures: row::small(found, "failures")?,
        fatal_calls: row::parsed(found, "fatal_calls", |text| serde_json::from_str(text).ok())?,
        probed_at: row::moment(found, "probed_at")?,
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
