//! Reports this node's calls to endpoints to the store, so that the leader sees the calls of all nodes.

use crate::reconciler::Parts;
use domain::EndpointId;
use domain::autoscaler::{PrefillQueue, TICK_MILLIS};
use domain::endpoint_load::{LoadReport, ReplicaCalls};
use domain::{ReplicaId, Timestamp};
use fleet::LiveEndpoint;
use fleet::endpoints::{Load, ReplicaLoad};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{StoreError, endpoint_loads, endpoints};

/// Period of reports on an endpoint without changes.
const IDLE_PERIOD: Duration = Duration::from_millis(TICK_MILLIS);
/// Minimum time between two reports on an endpoint.
const MIN_PERIOD: Duration = Duration::from_secs(1);

/// The last report on an endpoint.
struct LastReport {
    at: Instant,
    activity: u64,
}

#[derive(Default)]
pub(super) struct Reporter {
    last: HashMap<String, LastReport>,
}

impl Reporter {
    /// Reports the endpoints that are due.
    pub(super) async fn report<D>(&mut self, parts: &Parts<D>) -> Result<(), StoreError> {
        let all = parts.endpoints.all();
        self.last.retain(|id, _| all.iter().any(|endpoint| endpoint.id == *id));
        let due: Vec<Arc<LiveEndpoint>> = all.into_iter().filter(|endpoint| self.is_due(endpoint)).collect();
        if due.is_empty() {
            return Ok(());
        }
        let (now, store_now) = ((parts.now)(), parts.store.clock().await?);
        let mut tx = parts.store.begin().await?;
        let mut reported = Vec::with_capacity(due.len());
        for endpoint in &due {
            // The counter is read before the load, so that a change in between is reported next time.
            let (activity, load) = (endpoint.activity(), endpoint.load());
            let Ok(id) = EndpointId::parse(&endpoint.id) else { continue };
            endpoint_loads::report(&mut tx, &report(&parts.node, &id, &load, store_now)).await?;
            if let Some(quiet) = load.quiet_for {
                endpoints::called(&mut tx, &id, before(now, quiet)).await?;
            }
            reported.push((endpoint.id.clone(), LastReport { at: Instant::now(), activity }));
        }
        tx.commit().await?;
        self.last.extend(reported);
        Ok(())
    }

    fn is_due(&self, endpoint: &LiveEndpoint) -> bool {
        let Some(last) = self.last.get(&endpoint.id) else { return true };
        let has_changed = last.activity != endpoint.activity();
        last.at.elapsed() >= if has_changed { MIN_PERIOD } else { IDLE_PERIOD }
    }
}

fn report(node: &str, endpoint: &EndpointId, load: &Load, now: Timestamp) -> LoadReport {
    let calls = |one: &ReplicaLoad| {
        let replica = ReplicaId::parse(&one.name).ok()?;
        let prefill = PrefillQueue { tokens: one.prefill_tokens, calls: one.prefilling.into() };
        Some(ReplicaCalls { replica, routed: one.routed, in_flight: one.in_flight.into(), prefill })
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
