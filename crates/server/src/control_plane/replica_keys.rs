//! Decides whether new replicas reject requests without their key: as soon as all living nodes send it.

use background::Tasks;
use domain::Timestamp;
use domain::endpoint::replica_keys::ReplicaKeys;
use fleet::drivers::ReplicaAuth;
use node::report::NodeReport;
use node::shared_secret;
use node::state::ALIVE_MILLIS;
use std::time::Duration;
use store::nodes::{self, ReportedNode};
use store::{Store, StoreError};

const REFRESH_EVERY: Duration = Duration::from_secs(5);

/// Follows the nodes of a store. `node` is this one, which sends keys.
#[derive(Clone)]
pub(super) struct KeyKeeper {
    pub store: Store,
    pub node: String,
    pub now: fn() -> Timestamp,
    /// `drivers.replica_keys`.
    pub is_wanted: bool,
}

impl KeyKeeper {
    /// The keys, with the decision for the nodes that live now.
    pub(super) async fn open(&self) -> anyhow::Result<ReplicaAuth> {
        let auth = ReplicaAuth::new(ReplicaKeys::new(&shared_secret::read(&self.store, "replica_keys").await?));
        self.refresh(&auth).await?;
        Ok(auth)
    }

    pub(super) fn start(self, auth: ReplicaAuth, tasks: &Tasks) {
        let rounds = tasks.every("replica keys", REFRESH_EVERY);
        tasks.spawn(rounds.run(async move || self.refresh(&auth).await));
    }

    async fn refresh(&self, auth: &ReplicaAuth) -> Result<(), StoreError> {
        let found = nodes::list_reported(&self.store).await?;
        auth.require(self.is_wanted && all_send_keys(&found, &self.node, (self.now)()));
        Ok(())
    }
}

fn all_send_keys(found: &[ReportedNode], own: &str, now: Timestamp) -> bool {
    let others = found.iter().filter(|found| found.node.id != own);
    let mut alive = others.filter(|found| found.node.seen_at.millis() >= now.millis() - ALIVE_MILLIS);
    alive.all(|found| {
        let report = found.report.as_deref().and_then(|report| serde_json::from_str::<NodeReport>(report).ok());
        report.is_some_and(|report| report.replica_keys)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use store::nodes::Node;

    #[test]
    fn replicas_need_keys_once_no_living_node_calls_without() {
        const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
        let node = |id: &str, seen_at, sends_keys: Option<bool>| {
            let mut report = json!({
                "version": "0.2.0", "status": "ready", "callsInFlight": 0, "heldCalls": 0, "parts": [], "gpus": [],
                "journal": {"waitingBytes": 0, "maxBytes": 0}, "storeLatencyMillis": null, "redisLatencyMillis": null,
                "clockSkewMillis": null,
            });
            if let Some(sends_keys) = sends_keys {
                report["replicaKeys"] = sends_keys.into();
            }
            let node = Node { id: id.to_owned(), started_at: NOW, seen_at, catalogue_hash: String::new() };
            ReportedNode { node, report: Some(report.to_string()) }
        };
        let gone = Timestamp::from_millis(NOW.millis() - ALIVE_MILLIS - 1);
        for (others, expected) in [
            (vec![], true),
            (vec![node("b", NOW, Some(true))], true),
            (vec![node("b", NOW, Some(true)), node("c", NOW, None)], false),
            (vec![node("c", gone, None)], true),
            (vec![ReportedNode { report: None, ..node("b", NOW, None) }], false),
        ] {
            let found: Vec<_> = others.into_iter().chain([node("a", NOW, None)]).collect();
            assert_eq!(all_send_keys(&found, "a", NOW), expected, "{found:?}");
        }
    }
}
