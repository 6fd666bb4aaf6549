//! One look at an engine, and the probe that it may lead to.

use super::CapabilityParts;
use super::due::{self, EngineView};
use super::engines::ProbedEngine;
use crate::command::{AuditedChange, Author, Command};
use domain::Timestamp;
use domain::capabilities::Capabilities;
use fleet::Backend;
use fleet::probe::{self, Learned, ModelServer, ProbedModel};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use store::capabilities::{self, EngineClaim, EngineRecord};

/// All calls of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(300);
/// A node that ends in the middle of a probe blocks others for this long.
const CLAIM_MILLIS: i64 = 10 * 60_000;

pub(super) struct Look {
    pub(super) parts: CapabilityParts,
    pub(super) key: String,
    pub(super) engine: ProbedEngine,
    /// The replica that is looked at.
    pub(super) backend: Arc<Backend>,
    pub(super) known: Option<EngineRecord>,
    pub(super) is_stale: bool,
}

/// What a look has shown.
pub(super) struct Looked {
    pub(super) version: Option<String>,
    /// The result of a probe, if it was due.
    pub(super) record: Option<EngineRecord>,
}

impl Look {
    /// Probes the engine if it is due.
    pub(super) async fn run(self) -> Result<Looked, StoreError> {
        let upstream = &self.backend.upstream;
        let (connector, address) = (self.parts.connector.clone(), self.backend.address.clone());
        let server = ModelServer::new(connector, address, upstream.api_key.clone());
        let version = server.version(upstream.engine).await;
        let now = (self.parts.now)();
        let seen = EngineView { version: version.as_deref(), is_own: self.engine.is_own, is_stale: self.is_stale };
        if !due::is_due(self.known.as_ref(), seen, now) || !self.claim(now).await? {
            return Ok(Looked { version, record: None });
        }
        let record = self.probe(server, version.clone(), now).await;
        self.write(&record).await?;
        Ok(Looked { version, record: Some(record) })
    }

    async fn claim(&self, now: Timestamp) -> Result<bool, StoreError> {
        let claim = EngineClaim {
            engine: &self.key,
            model: &self.engine.model,
            last: self.known.as_ref().map(|known| known.probed_at),
            until: now.plus_millis(CLAIM_MILLIS),
        };
        let mut tx = self.parts.store.begin().await?;
        let is_ours = capabilities::claim(&mut tx, claim, now).await?;
        tx.commit().await?;
        Ok(is_ours)
    }

    async fn probe(&self, server: ModelServer, version: Option<String>, began: Timestamp) -> EngineRecord {
        // An engine that does not say its version now is taken for the same one.
        let is_same = |known: &&EngineRecord| version.is_none() || known.version == version;
        let before = self.known.as_ref().filter(is_same);
        let version = version.or_else(|| before.and_then(|before| before.version.clone()));
        let model = ProbedModel {
            upstream: &self.backend.upstream,
            context_length: self.engine.context_length,
            version: version.as_deref(),
            fatal_calls: before.map_or(&[][..], |before| &before.fatal_calls[..]),
        };
        let learned = probe::learn(&server.within(PROBE_TIMEOUT), model).await;
        if let Some(call) = learned.ended_by {
            let model = &self.engine.model;
            tracing::warn!(model.id = %model, "the call `{call}` of a probe may have ended an engine of {model}");
        }
        let found = findings(before, learned);
        EngineRecord {
            engine: self.key.clone(),
            model: self.engine.model.clone(),
            version,
            capabilities: found.capabilities,
            failures: found.failures,
            fatal_calls: found.fatal_calls,
            probed_at: began,
        }
    }

    /// Writes the result. A change of what was known is in the log and in the audit log.
    async fn write(&self, record: &EngineRecord) -> Result<(), StoreError> {
        let mut tx = self.parts.store.begin().await?;
        capabilities::put(&mut tx, record).await?;
        let model = &record.model;
        match &self.known {
            _ if !record.is_complete() => {
                tracing::info!(model.id = %model, "a probe of an engine of {model} could not make all of its calls");
            }
            None => tracing::info!(model.id = %model, "an engine of {model} was probed"),
            Some(known) => {
                let changes = record.capabilities.changes_since(&known.capabilities);
                if !changes.is_empty() {
                    let changes = changes.join("; ");
                    tracing::warn!(model.id = %model, "the capabilities of an engine of {model} have changed: {changes}");
                    let command = Command { store: &self.parts.store, author: &Author::Probe, now: record.probed_at };
                    let change =
                        AuditedChange::new("model.capabilities", self.engine.organization.as_ref(), model.as_str());
                    let change = change.detail(changes).before(shown(known)).after(shown(record));
                    command.record(&mut tx, change).await?;
                }
            }
        }
        tx.commit().await
    }
}

/// What this probe and earlier ones of the same version have found.
#[derive(Debug, PartialEq, Eq)]
struct Findings {
    capabilities: Capabilities,
    failures: u32,
    fatal_calls: Vec<String>,
}

fn findings(before: Option<&EngineRecord>, learned: Learned) -> Findings {
    let mut fatal_calls = before.map(|before| before.fatal_calls.clone()).unwrap_or_default();
    if let Some(call) = learned.ended_by.filter(|call| !fatal_calls.iter().any(|known| known == call)) {
        fatal_calls.push(call.to_owned());
    }
    let (failures, capabilities) = match before.filter(|_| !learned.is_complete) {
        Some(before) => (before.failures.saturating_add(1), before.capabilities.updated_by(&learned.capabilities)),
        None => (u32::from(!learned.is_complete), learned.capabilities),
    };
    Findings { capabilities, failures, fatal_calls }
}

fn shown(record: &EngineRecord) -> Value {
    serde_json::from_str(&capabilities::to_json(&record.capabilities)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ModelId;
    use domain::capabilities::{Capability, Support};

    fn capable(found: &[(Capability, Support)]) -> Capabilities {
        let mut capabilities = Capabilities::default();
        found.iter().for_each(|(capability, support)| capabilities.set(*capability, *support));
        capabilities
    }

    #[test]
    fn a_failed_probe_adds_to_what_is_known_and_a_complete_one_replaces_it() {
        use Capability::{Chat, Images, Tools};
        use Support::{No, Yes};
        let before = EngineRecord {
            engine: "x".to_owned(),
            model: ModelId::parse("acme/x").unwrap(),
            version: None,
            capabilities: capable(&[(Chat, Yes), (Images, Yes)]),
            failures: 1,
            fatal_calls: vec!["image".to_owned()],
            probed_at: Timestamp::from_millis(0),
        };
        let learned = |is_complete, ended_by| Learned { capabilities: capable(&[(Tools, No)]), is_complete, ended_by };
        let failed = findings(Some(&before), learned(false, Some("schema")));
        let fatal_calls = vec!["image".to_owned(), "schema".to_owned()];
        let capabilities = capable(&[(Chat, Yes), (Images, Yes), (Tools, No)]);
        assert_eq!(failed, Findings { capabilities, failures: 2, fatal_calls });
        let again = findings(Some(&before), learned(false, Some("image")));
        assert_eq!(again.fatal_calls, ["image"]);
        let complete = findings(Some(&before), learned(true, None));
        let fatal_calls = before.fatal_calls.clone();
        assert_eq!(complete, Findings { capabilities: capable(&[(Tools, No)]), failures: 0, fatal_calls });
        let first = findings(None, learned(false, None));
        assert_eq!((first.failures, first.fatal_calls), (1, Vec::new()), "of a new version");
    }
}
