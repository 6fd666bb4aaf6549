//! Samples the prompt tokens that this node has in flight at the replicas of endpoints.

use super::Parts;
use store::StoreError;
use store::prefill_queues::{self, QueueReading};

/// Replicas of one endpoint that are sampled.
const MAX_REPLICAS: usize = 64;

/// Stores one reading per replica. The leader also stores zeros, since its readings are the samples that a mean is taken of.
pub(super) async fn sample<I>(parts: &Parts<I>, leads: bool) -> Result<(), StoreError> {
    let readings = readings(parts, leads);
    if readings.is_empty() {
        return Ok(());
    }
    let mut tx = parts.store.begin().await?;
    prefill_queues::add(&mut tx, &readings).await?;
    tx.commit().await
}

fn readings<I>(parts: &Parts<I>, leads: bool) -> Vec<QueueReading> {
    let at = (parts.now)();
    let mut readings = Vec::new();
    for endpoint in parts.endpoints.all() {
        let view = endpoint.view();
        for replica in view.route.pool.replicas().iter().take(MAX_REPLICAS) {
            let tokens = replica.prompt_load().own_prefill_tokens();
            if leads || tokens > 0 {
                readings.push(QueueReading {
                    workspace: endpoint.workspace.clone(),
                    model: view.route.model.id.to_string(),
                    replica: replica.name.to_string(),
                    at,
                    tokens,
                    is_sample: leads,
                });
            }
        }
    }
    readings
}
