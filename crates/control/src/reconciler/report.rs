//! Tells the store of this node's calls to endpoints, so that whoever leads sees the calls of all nodes.

use super::Parts;
use domain::EndpointId;
use domain::autoscaler::TICK_MILLIS;
use domain::endpoint_load::{LoadReport, ReplicaCalls};
use domain::{ReplicaId, Timestamp};
use fleet::Endpoint;
use fleet::endpoints::{Load, ReplicaLoad};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{StoreError, endpoint_loads, endpoints};

/// An endpoint is told of at least so often.
const AT_LEAST: Duration = Duration::from_millis(TICK_MILLIS);
/// News of an endpoint wait for so long since it was last told of.
const AT_MOST: Duration = Duration::from_secs(1);

/// What was told of an endpoint, and when.
struct Told {
    at: Instant,
    stirs: u64,
}

#[derive(Default)]
pub(super) struct Reporter {
    told: HashMap<String, Told>,
}

impl Reporter {
    /// Tells what is new, and now and then what is not.
    pub(super) async fn tell<D>(&mut self, parts: &Parts<D>) -> Result<(), StoreError> {
        let all = parts.endpoints.all();
        self.told.retain(|id, _| all.iter().any(|endpoint| endpoint.id == *id));
        let due: Vec<Arc<Endpoint>> = all.into_iter().filter(|endpoint| self.is_due(endpoint)).collect();
        if due.is_empty() {
            return Ok(());
        }
        let (now, store_now) = ((parts.now)(), parts.store.clock().await?);
        let mut tx = parts.store.begin().await?;
        let mut told = Vec::with_capacity(due.len());
        for endpoint in &due {
            // First the number, then what it stands for: what comes in between is told next time.
            let (stirs, load) = (endpoint.stirs(), endpoint.load());
            let Ok(id) = EndpointId::parse(&endpoint.id) else { continue };
            endpoint_loads::report(&mut tx, &report(&parts.node, &id, &load, store_now)).await?;
            if let Some(quiet) = load.quiet_for {
                endpoints::called(&mut tx, &id, before(now, quiet)).await?;
            }
            told.push((endpoint.id.clone(), Told { at: Instant::now(), stirs }));
        }
        tx.commit().await?;
        self.told.extend(told);
        Ok(())
    }

    fn is_due(&self, endpoint: &Endpoint) -> bool {
        let Some(told) = self.told.get(&endpoint.id) else { return true };
        let has_news = told.stirs != endpoint.stirs();
        told.at.elapsed() >= if has_news { AT_MOST } else { AT_LEAST }
    }
}

fn report(node: &str, endpoint: &EndpointId, load: &Load, now: Timestamp) -> LoadReport {
    let calls = |one: &ReplicaLoad| {
        let replica = ReplicaId::parse(&one.name).ok()?;
        Some(ReplicaCalls { replica, routed: one.routed, in_flight: one.in_flight.into() })
    };
    LoadReport {
        node: node.to_owned(),
        endpoint: endpoint.clone(),
        at: now,
        load: load.mean_milli,
        open_calls: load.open_calls.into(),
        last_call_at: load.quiet_for.map(|quiet| before(now, quiet)),
        replicas: load.replicas.iter().filter_map(calls).collect(),
    }
}

fn before(now: Timestamp, span: Duration) -> Timestamp {
    now.plus_millis(-i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}
