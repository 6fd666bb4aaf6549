//! Samples how many replicas endpoints should have, and how many are ready. The leader does it for all of them.

use super::MeterParts;
use domain::endpoint::State;
use domain::{Endpoint, Timestamp};
use store::gauges::{self, Gauge, GaugeReading};
use store::{StoreError, endpoints};

/// Stores two readings per endpoint that may have replicas.
pub(super) async fn sample<I>(parts: &MeterParts<I>) -> Result<(), StoreError> {
    let at = (parts.now)();
    let all = endpoints::list_all(&parts.store).await?;
    let readings: Vec<GaugeReading> = all.iter().flat_map(|endpoint| readings(endpoint, at)).collect();
    if readings.is_empty() {
        return Ok(());
    }
    let mut tx = parts.store.begin().await?;
    gauges::add(&mut tx, &readings).await?;
    tx.commit().await
}

/// None of a suspended endpoint without replicas: one that stays suspended for months needs no rows.
fn readings(endpoint: &Endpoint, at: Timestamp) -> Vec<GaugeReading> {
    let status = &endpoint.status;
    if endpoint.state == State::Suspended && status.desired == 0 && status.ready == 0 {
        return Vec::new();
    }
    let counts = [(Gauge::DesiredReplicas, status.desired), (Gauge::ReadyReplicas, status.ready)];
    let reading = |(gauge, count)| GaugeReading {
        workspace: endpoint.workspace.clone(),
        model: endpoint.name.model_id().to_string(),
        gauge,
        at,
        value: u64::from(count) * 1_000,
    };
    counts.map(reading).into()
}
