//! Reads engines: KV-cache usage, waiting calls and token counters.

use super::{Instruments, MeterParts, owner_of};
use domain::Timestamp;
use domain::bill_check::TokenCounts;
use domain::endpoint::replica::Replica;
use domain::model::{DriverKind, Serving};
use fleet::backend::{BackendId, Health};
use fleet::drivers::ReplicaName;
use fleet::engine::token_counters::{self, FetchedCounters};
use fleet::engine::{EngineMetrics, Family, TokenCounters};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::bill_check::{self, CounterReading};
use store::gauges::{self, Gauge};
use store::{StoreError, replicas};
use tokio::task::JoinSet;

/// A server without token counters is tried again after this time.
const RETRY_SILENT: Duration = Duration::from_secs(600);
/// Bound of concurrent reads.
const MAX_READS: usize = 64;
/// How long a server may take, so that many that hang do not keep the others waiting.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct EngineMeter {
    /// When pool servers last returned no counters.
    silent: HashMap<BackendId, Instant>,
}

impl EngineMeter {
    pub(super) async fn read<I: Instruments>(&mut self, parts: &MeterParts<I>, leads: bool) -> Result<(), StoreError> {
        let at = (parts.now)();
        let (mut readings, gauged) = of_endpoints(parts, leads, at).await?;
        readings.extend(self.of_pools(parts, leads, at).await);
        // The same order on every node, so that two transactions never deadlock.
        readings.sort_unstable_by(|one, other| (&one.replica, &one.source).cmp(&(&other.replica, &other.source)));
        if readings.is_empty() && gauged.is_empty() {
            return Ok(());
        }
        let mut tx = parts.store.begin().await?;
        gauges::add(&mut tx, &gauged).await?;
        for reading in &readings {
            bill_check::read_counters(&mut tx, reading).await?;
        }
        tx.commit().await
    }

    /// Engines of pools are read by the node that runs them, upstreams by the leader.
    async fn of_pools<I>(&mut self, parts: &MeterParts<I>, leads: bool, at: Timestamp) -> Vec<CounterReading> {
        let table = parts.routes.table();
        let mut reads = Vec::new();
        let mut present = Vec::new();
        for route in table.iter() {
            let (source, family) = match &route.model.serving {
                Serving::Engine(_) => (parts.node.clone(), Family::ForebayEngine),
                Serving::Upstreams(_) if leads => (String::new(), Family::Unknown),
                Serving::Upstreams(_) => continue,
            };
            for replica in route.pool.replicas() {
                present.push(replica.id);
                let is_silent = self.silent.get(&replica.id).is_some_and(|since| since.elapsed() < RETRY_SILENT);
                // One that is down is read as soon as it is up: its counters say what it has counted meanwhile.
                if is_silent || replica.health() == Health::Down {
                    continue;
                }
                let (replica, connector) = (Arc::clone(replica), parts.connector.clone());
                let (source, model) = (source.clone(), route.model.id.to_string());
                reads.push(async move {
                    let fetched = token_counters::fetch(&replica, family, &connector);
                    let fetched = tokio::time::timeout(READ_TIMEOUT, fetched).await;
                    (replica, source, model, fetched.unwrap_or(FetchedCounters::Unreachable))
                });
            }
        }
        drop(table);
        self.silent.retain(|replica, _| present.contains(replica));
        let mut readings = Vec::new();
        for (replica, source, model, counters) in join_all(reads).await {
            match counters {
                FetchedCounters::Counters(counters) => {
                    self.silent.remove(&replica.id);
                    readings.push(reading(replica.name.to_string(), source, model, counters, at));
                }
                FetchedCounters::Silent => drop(self.silent.insert(replica.id, Instant::now())),
                FetchedCounters::Unreachable => {}
            }
        }
        readings
    }
}

/// Runs all of them, [`MAX_READS`] at a time. The results are in the order in which they ended; one that panicked has none.
async fn join_all<T: Send + 'static>(reads: Vec<impl Future<Output = T> + Send + 'static>) -> Vec<T> {
    let (mut running, mut results) = (JoinSet::<T>::new(), Vec::new());
    for read in reads {
        if running.len() >= MAX_READS {
            results.extend(running.join_next().await.and_then(Result::ok));
        }
        running.spawn(read);
    }
    while let Some(ended) = running.join_next().await {
        results.extend(ended.ok());
    }
    results
}

/// Reads the replicas of endpoints on this node, and on the leader those of the cluster.
async fn of_endpoints<I: Instruments>(
    parts: &MeterParts<I>,
    leads: bool,
    at: Timestamp,
) -> Result<(Vec<CounterReading>, Vec<gauges::GaugeReading>), StoreError> {
    let (mut readings, mut gauged) = (Vec::new(), Vec::new());
    let live = replicas::list_live(&parts.store).await?;
    let is_ours = |replica: &&Replica| match replica.driver {
        DriverKind::Process => replica.node.as_deref() == Some(parts.node.as_str()),
        DriverKind::Kubernetes => leads,
    };
    for replica in live.iter().filter(is_ours) {
        let Some((workspace, model)) = owner_of(&parts.endpoints, replica.endpoint.as_str()) else { continue };
        let Ok(name) = ReplicaName::parse(replica.id.as_str()) else { continue };
        // A replica that is still loading does not respond.
        let Ok(EngineMetrics { load, tokens }) = parts.instruments.metrics(&name).await else { continue };
        let values = [(Gauge::KvCache, load.kv_cache_usage), (Gauge::Waiting, load.waiting)];
        gauged.extend(values.into_iter().filter_map(|(gauge, value)| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "neither large nor negative")]
            let value = (value? * 1_000.0).round() as u64;
            Some(gauges::GaugeReading { workspace: workspace.clone(), model: model.to_string(), gauge, at, value })
        }));
        if let Some(tokens) = tokens {
            readings.push(reading(replica.id.to_string(), parts.node.clone(), model.to_string(), tokens, at));
        }
    }
    Ok((readings, gauged))
}

fn reading(replica: String, source: String, model: String, counters: TokenCounters, at: Timestamp) -> CounterReading {
    let TokenCounters { prompt, completion, counts_cached } = counters;
    CounterReading { replica, source, model, counters: TokenCounts { prompt, completion }, counts_cached, at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn all_replicas_are_read_however_many_there_are() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let read = |replica: usize| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::Relaxed);
                replica
            }
        };
        let reads: Vec<_> = (0..3 * MAX_READS).map(read).collect();
        let mut replicas = join_all(reads).await;
        replicas.sort_unstable();
        assert_eq!(replicas, (0..3 * MAX_READS).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::Relaxed), MAX_READS);
    }
}
