//! What nobody looks after any more: replicas of nodes that are gone, and processes that nobody wants.

use super::{Picture, Reconciler, RoundError};
use domain::Endpoint;
use domain::endpoint::FailureClass;
use domain::endpoint::replica::Replica;
use domain::model::DriverKind;
use fleet::drivers::Driver;
use store::{Page, holds, nodes};

/// A node that says nothing for so long is lost.
const NODE_LOST_MILLIS: u64 = 60_000;

impl<D: Driver + Clone> Reconciler<D> {
    /// A node that has been silent for long is gone with its replicas, as far as anyone can tell: their holds end when
    /// they were last seen. Should it come back, it finds that nobody wants them.
    pub(super) async fn give_up_lost_nodes(
        &mut self,
        epoch: u64,
        all: &[Endpoint],
        picture: &Picture,
    ) -> Result<(), RoundError> {
        let elsewhere = |replica: &&Replica| {
            replica.driver == DriverKind::Process
                && replica.node.as_deref().is_some_and(|node| !self.parts.reach.covers(node))
        };
        let away: Vec<Replica> = picture.live.iter().filter(elsewhere).cloned().collect();
        if away.is_empty() {
            return Ok(());
        }
        let now = (self.parts.now)();
        let known = nodes::list(&self.parts.store, Page::default()).await?;
        let lives =
            |name: &str| known.iter().any(|node| node.id == name && now.millis_since(node.seen_at) < NODE_LOST_MILLIS);
        for mut replica in away {
            let endpoint = all.iter().find(|endpoint| endpoint.id == replica.endpoint);
            let (Some(node), Some(endpoint)) = (replica.node.clone(), endpoint) else { continue };
            if !lives(&node) {
                let at = holds::last_seen(&self.parts.store, &replica.id).await?.unwrap_or(now);
                let ending = Some((FailureClass::NodeLost, format!("the node {node} has not been seen for a minute")));
                self.end(epoch, endpoint, &mut replica, at, ending).await?;
            }
        }
        Ok(())
    }

    /// Ends what runs here and has no row, and clears away what is over.
    pub(super) async fn end_strangers(&self, picture: &Picture) {
        let driver = &self.parts.driver;
        for observed in &picture.seen {
            if picture.live.iter().any(|replica| replica.id.as_str() == observed.replica.as_str()) {
                continue;
            }
            let done = if observed.sighting.lives() {
                driver.stop(&observed.replica).await
            } else {
                driver.forget(&observed.replica).await
            };
            if let Err(error) = done {
                tracing::warn!(replica.id = %observed.replica, %error, "a replica that nobody wants cannot be ended");
            }
        }
    }
}
