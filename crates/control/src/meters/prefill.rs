//! Samples the prompt tokens that this node has in flight at the replicas of endpoints, and of models that have several.

use super::MeterParts;
use domain::model::Serving;
use domain::{Timestamp, WorkspaceId};
use fleet::Route;
use store::StoreError;
use store::prefill_queues::{self, QueueReading};

/// Replicas of one endpoint or model that are sampled.
const MAX_REPLICAS: usize = 64;

/// Stores one reading per replica.
pub(super) async fn sample<I>(parts: &MeterParts<I>, leads: bool) -> Result<(), StoreError> {
    let readings = readings(parts, leads);
    if readings.is_empty() {
        return Ok(());
    }
    let mut tx = parts.store.begin().await?;
    prefill_queues::add(&mut tx, &readings).await?;
    tx.commit().await
}

fn readings<I>(parts: &MeterParts<I>, leads: bool) -> Vec<QueueReading> {
    let at = (parts.now)();
    let mut readings = Vec::new();
    for endpoint in parts.endpoints.all() {
        let view = endpoint.view();
        let queues = Queues { workspace: Some(&endpoint.workspace), route: &view.route, node: None };
        readings.extend(queues.read(leads, at));
    }
    // Prompts to the only replica of a model are not counted.
    for route in parts.routes.table().iter().filter(|route| route.pool.replicas().len() > 1) {
        let node = runs_on_each_node(&route.model.serving).then_some(parts.node.as_str());
        readings.extend(Queues { workspace: None, route, node }.read(leads, at));
    }
    readings
}

/// Whether every node runs replicas of its own, as its child processes.
fn runs_on_each_node(serving: &Serving) -> bool {
    match serving {
        Serving::Engine(pool) => pool.flavor.is_none(),
        Serving::Upstreams(_) => false,
    }
}

/// The queues of all replicas of an endpoint or a model.
struct Queues<'a> {
    workspace: Option<&'a WorkspaceId>,
    route: &'a Route,
    /// This node, if it runs the replicas and no other node calls them. Other nodes have replicas of the same names.
    node: Option<&'a str>,
}

impl Queues<'_> {
    /// Zeros are stored by the node whose readings are the samples that a mean is taken of.
    fn read(&self, leads: bool, at: Timestamp) -> Vec<QueueReading> {
        let is_sample = leads || self.node.is_some();
        let replicas = self.route.pool.replicas().iter().take(MAX_REPLICAS);
        let queued = replicas.map(|replica| (&*replica.name, replica.prompt_load().own_prefill_tokens()));
        let stored = queued.filter(|(_, tokens)| is_sample || *tokens > 0);
        let reading = |(name, tokens): (&str, u64)| QueueReading {
            workspace: self.workspace.cloned(),
            model: self.route.model.id.to_string(),
            replica: self.node.map_or_else(|| name.to_owned(), |node| format!("{name}@{node}")),
            at,
            tokens,
            is_sample,
        };
        stored.map(reading).collect()
    }
}
