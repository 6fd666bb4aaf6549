//! Reads engines: how full their caches are, how many calls wait in them, and their counters of tokens.

use super::{Instruments, Parts, place_of};
use domain::Timestamp;
use domain::bill_check::TokenCounts;
use domain::endpoint::replica::Replica as EndpointReplica;
use domain::model::{DriverKind, Serving};
use fleet::drivers::{EngineFigures, Family, ReplicaName};
use fleet::replica::ReplicaId as PoolReplica;
use fleet::{Replica, TokenCounters, token_counters};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::bill_check::{self, Reading};
use store::gauges::{self, Gauge};
use store::{StoreError, replicas};
use tokio::task::JoinSet;

/// A model server that tells no counters is asked again after so long.
const ASK_AGAIN: Duration = Duration::from_secs(600);
/// Servers that are asked at once.
const MAX_ASKED: usize = 64;

#[derive(Default)]
pub(super) struct EngineMeter {
    /// When servers of pools said nothing that could be read.
    silent: HashMap<PoolReplica, Instant>,
}

impl EngineMeter {
    pub(super) async fn read<I: Instruments>(&mut self, parts: &Parts<I>, leads: bool) -> Result<(), StoreError> {
        let at = (parts.now)();
        let (mut readings, gauged) = of_endpoints(parts, leads, at).await?;
        readings.extend(self.of_pools(parts, leads, at).await);
        // In one order everywhere, so that two nodes never wait for each other.
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

    /// Engines of our own pools are read by the node that runs them, servers of others by the node that leads.
    async fn of_pools<I>(&mut self, parts: &Parts<I>, leads: bool, at: Timestamp) -> Vec<Reading> {
        let table = parts.routes.table();
        let mut asked: JoinSet<(Arc<Replica>, String, String, Option<TokenCounters>)> = JoinSet::new();
        let mut present = Vec::new();
        for route in table.iter() {
            let (source, family) = match &route.model.serving {
                Serving::Engine(_) => (parts.node.clone(), Family::ForebayEngine),
                Serving::Upstreams(_) if leads => (String::new(), Family::Unknown),
                Serving::Upstreams(_) => continue,
            };
            for replica in route.pool.replicas() {
                present.push(replica.id);
                let is_silent = self.silent.get(&replica.id).is_some_and(|since| since.elapsed() < ASK_AGAIN);
                if is_silent || asked.len() >= MAX_ASKED {
                    continue;
                }
                let (replica, connector) = (Arc::clone(replica), parts.connector.clone());
                let (source, model) = (source.clone(), route.model.id.to_string());
                asked.spawn(async move {
                    let counters = token_counters::ask(&replica, family, &connector).await;
                    (replica, source, model, counters)
                });
            }
        }
        drop(table);
        self.silent.retain(|replica, _| present.contains(replica));
        let mut readings = Vec::new();
        while let Some(answered) = asked.join_next().await {
            let Ok((replica, source, model, counters)) = answered else { continue };
            match counters {
                Some(counters) => {
                    self.silent.remove(&replica.id);
                    readings.push(reading(replica.name.to_string(), source, model, counters, at));
                }
                None => drop(self.silent.insert(replica.id, Instant::now())),
            }
        }
        readings
    }
}

/// Replicas of dedicated endpoints on this node, and those of a cluster where this node leads.
async fn of_endpoints<I: Instruments>(
    parts: &Parts<I>,
    leads: bool,
    at: Timestamp,
) -> Result<(Vec<Reading>, Vec<gauges::Reading>), StoreError> {
    let (mut readings, mut gauged) = (Vec::new(), Vec::new());
    let live = replicas::list_live(&parts.store).await?;
    let is_ours = |replica: &&EndpointReplica| match replica.driver {
        DriverKind::Process => replica.node.as_deref() == Some(parts.node.as_str()),
        DriverKind::Kubernetes => leads,
    };
    for replica in live.iter().filter(is_ours) {
        let Some((workspace, model)) = place_of(&parts.endpoints, replica.endpoint.as_str()) else { continue };
        let Ok(name) = ReplicaName::parse(replica.id.as_str()) else { continue };
        // One that is still loading does not answer.
        let Ok(EngineFigures { load, tokens }) = parts.instruments.figures(&name).await else { continue };
        let values = [(Gauge::KvCache, load.kv_cache_usage), (Gauge::Waiting, load.waiting)];
        gauged.extend(values.into_iter().filter_map(|(gauge, value)| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is neither large nor negative"
            )]
            let value = (value? * 1_000.0).round() as u64;
            Some(gauges::Reading { workspace: workspace.clone(), model: model.to_string(), gauge, at, value })
        }));
        if let Some(tokens) = tokens {
            readings.push(reading(replica.id.to_string(), parts.node.clone(), model.to_string(), tokens, at));
        }
    }
    Ok((readings, gauged))
}

fn reading(replica: String, source: String, model: String, counters: TokenCounters, at: Timestamp) -> Reading {
    let TokenCounters { prompt, completion, counts_cached } = counters;
    Reading { replica, source, model, counters: TokenCounts { prompt, completion }, counts_cached, at }
}
