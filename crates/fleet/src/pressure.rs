//! Reads the queues and KV caches of engines that serve a model together, to correct their costs in [`crate::routing`]. The
//! queue of an engine that serves a model alone is read while calls need the room that others leave there.

use crate::backend::{Backend, BackendId, Health};
use crate::endpoints::Endpoints;
use crate::engine::{EngineLoad, Family, read_load};
use crate::health;
use crate::load_sharing::balanced_replicas;
use crate::pool::Pool;
use crate::routes::Routes;
use crate::routing::{EnginePressure, PrefixIndex};
use outbound::Connector;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Period of [`PressureMeter::round`].
pub const PERIOD: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(1);
/// A server that reports no load is asked again after this time.
const RETRY_SILENT: Duration = Duration::from_secs(60);
/// Bound of concurrent reads.
const MAX_READS: usize = 64;

pub struct PressureMeter {
    routes: Routes,
    endpoints: Endpoints,
    connector: Connector,
    /// When servers last reported nothing.
    silent: HashMap<BackendId, Instant>,
}

impl PressureMeter {
    pub fn new(routes: Routes, endpoints: Endpoints, connector: Connector) -> Self {
        Self { routes, endpoints, connector, silent: HashMap::new() }
    }

    /// Reads every engine once and enforces the bound of the prefix indexes.
    pub async fn round(&mut self) {
        let mut replicas = balanced_replicas(&self.routes, &self.endpoints);
        replicas.extend(single_replicas_with_yielding_calls(&self.routes, &self.endpoints));
        self.silent.retain(|id, since| since.elapsed() < RETRY_SILENT && replicas.iter().any(|one| one.id == *id));
        let mut reads = JoinSet::new();
        for replica in replicas {
            replica.prefixes(PrefixIndex::trim);
            if self.silent.contains_key(&replica.id) || replica.health() == Health::Down {
                replica.probe_capacity();
                continue;
            }
            if reads.len() >= MAX_READS {
                self.apply(reads.join_next().await);
            }
            let connector = self.connector.clone();
            reads.spawn(async move { (fetch(&replica, &connector).await, replica) });
        }
        while let Some(ended) = reads.join_next().await {
            self.apply(Some(ended));
        }
    }

    fn apply(&mut self, ended: Option<Result<(FetchedLoad, Arc<Backend>), tokio::task::JoinError>>) {
        let Some(Ok((fetched, replica))) = ended else { return };
        let pressure = match fetched {
            FetchedLoad::Reported(load) => Some(pressure(&load)),
            FetchedLoad::Silent => {
                self.silent.insert(replica.id, Instant::now());
                None
            }
            FetchedLoad::Unreachable => None,
        };
        replica.prompt_load().set_pressure(pressure);
        replica.probe_capacity();
    }
}

fn single_replicas_with_yielding_calls(routes: &Routes, endpoints: &Endpoints) -> Vec<Arc<Backend>> {
    let single = |pool: &Pool| match pool.replicas() {
        [only] if pool.has_yielding_calls() => Some(Arc::clone(only)),
        _ => None,
    };
    let of_models = routes.table().iter().filter_map(|route| single(&route.pool)).collect::<Vec<_>>();
    let endpoints = endpoints.all();
    let of_endpoints = endpoints.iter().filter_map(|endpoint| single(&endpoint.view().route.pool));
    of_models.into_iter().chain(of_endpoints).collect()
}

enum FetchedLoad {
    Reported(EngineLoad),
    /// It responds without figures.
    Silent,
    Unreachable,
}

async fn fetch(replica: &Backend, connector: &Connector) -> FetchedLoad {
    match tokio::time::timeout(TIMEOUT, health::get(replica, "/metrics", connector)).await {
        Ok(Ok(text)) => match read_load(Family::Unknown, &text.unwrap_or_default()) {
            load if load == EngineLoad::default() => FetchedLoad::Silent,
            load => FetchedLoad::Reported(load),
        },
        Ok(Err(_)) | Err(_) => FetchedLoad::Unreachable,
    }
}

fn pressure(load: &EngineLoad) -> EnginePressure {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers, never negative")]
    let whole = |number: f64| number.round() as u64;
    EnginePressure {
        waiting: load.waiting.map_or(0, whole),
        kv_cache_milli: load.kv_cache_usage.map_or(0, |usage| whole(usage * 1_000.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_an_engine_does_not_report_count_as_nothing() {
        let load = EngineLoad { kv_cache_usage: Some(0.95), running: Some(3.0), waiting: None };
        assert_eq!(pressure(&load), EnginePressure { waiting: 0, kv_cache_milli: 950 });
        let load = EngineLoad { kv_cache_usage: None, running: None, waiting: Some(2.0) };
        assert_eq!(pressure(&load), EnginePressure { waiting: 2, kv_cache_milli: 0 });
    }
}
