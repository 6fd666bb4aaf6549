//! Replicas of lost nodes, and processes without a row.

use super::Round;
use crate::reconciler::RoundError;
use crate::reconciler::rows::Rows;
use domain::endpoint::failure::FailureClass;
use domain::endpoint::replica::Replica;
use domain::model::DriverKind;
use fleet::drivers::Driver;

/// A node without a heartbeat for this long is lost.
const NODE_LOST_MILLIS: u64 = 60_000;

impl<D: Driver + Clone, S: Rows> Round<'_, D, S> {
    /// Ends the replicas of lost nodes; their holds end when they were last seen. If such a node comes back, its replicas
    /// have no live row any more, and it stops them.
    pub(super) async fn give_up_lost_nodes(&mut self) -> Result<(), RoundError> {
        let is_elsewhere = |replica: &&Replica| {
            replica.driver == DriverKind::Process
                && replica.node.as_deref().is_some_and(|node| !self.parts.reach.covers(node))
        };
        let elsewhere: Vec<Replica> = self.snapshot.live.iter().filter(is_elsewhere).cloned().collect();
        if elsewhere.is_empty() {
            return Ok(());
        }
        let (now, known) = (self.now, self.parts.store.nodes().await?);
        let is_alive =
            |id: &str| known.iter().any(|node| node.id == id && now.millis_since(node.seen_at) < NODE_LOST_MILLIS);
        for mut replica in elsewhere {
            let endpoint = self.snapshot.endpoint(&replica.endpoint).cloned();
            let (Some(node), Some(endpoint)) = (replica.node.clone(), endpoint) else { continue };
            if !is_alive(&node) {
                let at = self.parts.store.last_seen(&replica.id).await?.unwrap_or(now);
                let failure = (FailureClass::NodeLost, format!("the node {node} has not been seen for a minute"));
                self.end(&endpoint, &mut replica, at, Some(failure)).await?;
                self.snapshot.live.retain(|live| live.id != replica.id);
            }
        }
        Ok(())
    }

    /// Stops processes without a live row, and removes what is left of ended ones.
    pub(super) async fn stop_orphans(&self) {
        let driver = &self.parts.driver;
        for observed in &self.snapshot.observed {
            if self.snapshot.live.iter().any(|replica| replica.id.as_str() == observed.replica.as_str()) {
                continue;
            }
            let done = if observed.observation.is_alive() {
                driver.stop(&observed.replica).await
            } else {
                driver.forget(&observed.replica).await
            };
            if let Err(error) = done {
                tracing::warn!(replica.id = %observed.replica, %error, "cannot stop or remove an orphaned replica");
            }
        }
    }
}
