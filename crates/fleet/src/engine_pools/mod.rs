//! Pools that Forebay runs itself: engines as child processes, kept running.
//!
//! The loop looks at the catalogue each round, starts what is missing and stops what is not wanted any more. Engines
//! load one after another, join the route table when they are ready, and leave it when they end; one that ends is
//! started again after a growing pause.

mod backoff;
mod child;

use crate::backend::Backend;
use crate::connect::Connector;
use crate::health::{self, ProbeOutcome};
use crate::routes::Routes;
use backoff::Backoff;
use child::Child;
use domain::ModelId;
use domain::model::{EnginePool, Serving, Upstream};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

const ROUND: Duration = Duration::from_millis(500);
const READY_POLL: Duration = Duration::from_millis(100);
/// How long weights may take to load.
const START_LIMIT: Duration = Duration::from_secs(1800);

/// What engines are started with.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The `forebay-engine` binary.
    pub binary: PathBuf,
    /// Where engines write their address and their converted weights.
    pub run_dir: PathBuf,
    pub cache_dir: PathBuf,
}

/// One engine that should run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    model: ModelId,
    number: u32,
    weights: String,
    context_length: u64,
}

/// Keeps the engines of the catalogue running until it is told to stop.
pub struct Engines {
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Engines {
    pub fn start(runtime: &tokio::runtime::Handle, launcher: Launcher, routes: Routes, connector: Connector) -> Self {
        let (stop, stopping) = watch::channel(false);
        let keeper = Arc::new(Keeper { launcher, routes, connector, loading: Mutex::new(()) });
        Self { stop, task: runtime.spawn(keep_all(keeper, stopping)) }
    }

    /// Ends every engine and waits for that.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if self.task.await.is_err() {
            tracing::error!("the loop that keeps engines running panicked");
        }
    }
}

struct Keeper {
    launcher: Launcher,
    routes: Routes,
    connector: Connector,
    /// Held while an engine loads: one after another is faster than all at once.
    loading: Mutex<()>,
}

async fn keep_all(keeper: Arc<Keeper>, mut stopping: watch::Receiver<bool>) {
    let mut running: HashMap<Place, watch::Sender<bool>> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let wanted = keeper.wanted();
        running.retain(|place, stop| {
            let stays = wanted.contains(place);
            if !stays {
                stop.send_replace(true);
            }
            stays
        });
        for place in wanted {
            running.entry(place.clone()).or_insert_with(|| {
                let (stop, stopping) = watch::channel(false);
                tasks.spawn(keep_one(Arc::clone(&keeper), place, stopping));
                stop
            });
        }
        tokio::select! {
            () = tokio::time::sleep(ROUND) => {}
            _ = stopping.wait_for(|stop| *stop) => break,
        }
        while tasks.try_join_next().is_some() {}
    }
    for stop in running.values() {
        stop.send_replace(true);
    }
    while tasks.join_next().await.is_some() {}
}

/// One place: an engine, and the next one when it ends.
async fn keep_one(keeper: Arc<Keeper>, place: Place, mut stopping: watch::Receiver<bool>) {
    let mut backoff = Backoff::default();
    loop {
        let started = Instant::now();
        keeper.run(&place, &mut stopping).await;
        let pause = backoff.after(started.elapsed());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
    }
}

impl Keeper {
    fn wanted(&self) -> Vec<Place> {
        let table = self.routes.table();
        let places = |model: &domain::Model, pool: &EnginePool| {
            let (model, weights, context_length) = (model.id.clone(), pool.weights.clone(), model.context_length);
            (1..=pool.replicas).map(move |number| Place {
                model: model.clone(),
                number,
                weights: weights.clone(),
                context_length,
            })
        };
        let engines = table.iter().filter_map(|route| match &route.model.serving {
            Serving::Engine(pool) if pool.flavor.is_none() => Some((&*route.model, pool)),
            Serving::Engine(_) | Serving::Upstreams(_) => None,
        });
        engines.flat_map(|(model, pool)| places(model, pool)).collect()
    }

    /// Runs an engine from its start to its end.
    async fn run(&self, place: &Place, stopping: &mut watch::Receiver<bool>) {
        let mut child = match Child::start(&self.launcher, place) {
            Ok(child) => child,
            Err(error) => {
                let binary = self.launcher.binary.display();
                return tracing::error!(model = %place.model, "cannot start {binary}: {error}");
            }
        };
        let ready = tokio::select! {
            ready = self.wait_until_ready(&mut child, place) => ready,
            _ = stopping.wait_for(|stop| *stop) => None,
        };
        let Some(replica) = ready else { return child.stop().await };
        tracing::info!(model = %place.model, replica.name = %replica.name, "engine of {} is ready", place.model);
        let id = replica.id;
        self.routes.join(place.model.clone(), replica);
        tokio::select! {
            status = child.wait() => {
                tracing::warn!(model = %place.model, "an engine of {} ended ({status}): {}", place.model, child.last_words());
            }
            _ = stopping.wait_for(|stop| *stop) => {}
        }
        self.routes.leave(id);
        child.stop().await;
    }

    /// The engine as a replica, once it answers that it is well.
    async fn wait_until_ready(&self, child: &mut Child, place: &Place) -> Option<Arc<Backend>> {
        let _turn = self.loading.lock().await;
        let deadline = Instant::now() + START_LIMIT;
        let mut replica = None;
        while Instant::now() < deadline {
            if let Some(status) = child.ended() {
                // Give the last lines a moment to arrive.
                tokio::time::sleep(READY_POLL).await;
                let words = child.last_words();
                tracing::error!(model = %place.model, "the engine of {} did not come up ({status}): {words}", place.model);
                return None;
            }
            if replica.is_none() {
                replica = child.address().and_then(|address| replica_at(place, &address));
            }
            if let Some(replica) = &replica
                && health::probe(replica, &self.connector).await == ProbeOutcome::Healthy
            {
                return Some(Arc::clone(replica));
            }
            tokio::time::sleep(READY_POLL).await;
        }
        tracing::error!(model = %place.model, "the engine of {} was not ready within {START_LIMIT:?}", place.model);
        None
    }
}

fn replica_at(place: &Place, address: &str) -> Option<Arc<Backend>> {
    let upstream = Upstream {
        url: format!("http://{address}/v1"),
        model: place.model.as_str().to_owned(),
        api_key: None,
        max_in_flight: None,
        health_path: "/health".into(),
        continuous_usage: true,
    };
    Backend::new(&format!("{}#{}", place.model, place.number), upstream).ok().map(Arc::new)
}
