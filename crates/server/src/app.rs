//! Builds each part once, in order, and stops them in reverse.

use crate::cli::load;
use crate::config::Config;
use crate::control_plane::ControlPlane;
use crate::edge::cors::Cors;
use crate::edge::request_body::BodyBounds;
use crate::edge::request_id::RequestIds;
use crate::edge::workers::Workers;
use crate::edge::{clock, listener, tls};
use crate::first_start::Bootstrap;
use crate::health::Health;
use crate::node::NodeState;
use crate::oidc::Provider;
use crate::people::People;
use crate::price_keeper::{self, Declared};
use crate::surface::Surface;
use crate::surface::console::ConsoleSurface;
use crate::surface::endpoints::{CursorKey, EndpointsSurface};
use crate::surface::openapi;
use crate::surface::operations::{self, Operations};
use crate::telemetry::Recorder;
use crate::telemetry::access_log::AccessLog;
use crate::telemetry::metrics::{Calls, Metrics, Rows, SetAside};
use crate::telemetry::refusals::Refusals;
use crate::telemetry::traces::Tracer;
use crate::telemetry::usage_writer::UsageWriter;
use crate::{data_dir, first_start};
use anyhow::Context;
use control::bill_check::Monitor;
use dataplane::Dataplane;
use dataplane::admission::{Admission, Minutes, Quota, RedisLimits};
use dataplane::keys::KeyDirectory;
use dataplane::usage_tap::Sink;
use domain::RunId;
use domain::model::{CallTimeouts, Modality};
use fleet::{Connector, Endpoints, Engines, Launcher, Routes, health};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{Journal, JournalReader, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Threads for the store, the probes and the loops; calls are served by threads of their own.
const BACKGROUND_THREADS: usize = 2;
/// How long usage events may take to reach the store when all else has stopped.
const FLUSH_TIME: Duration = Duration::from_secs(10);
/// How long the last lines of the log and whatever else is under way may take.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Runs until a signal ends it.
pub(crate) fn serve(config_file: Option<PathBuf>, data_dir: &Path) -> anyhow::Result<()> {
    let config = load(config_file.as_deref())?;
    let _claim = data_dir::claim(data_dir)?;
    raise_descriptor_limit();
    let background = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(BACKGROUND_THREADS)
        .thread_name("background")
        .enable_all()
        .build()?;
    let result = background.block_on(run(config, config_file, data_dir));
    // Whatever still blocks, such as a standard output that nobody reads, is left behind.
    background.shutdown_timeout(LAST_MOMENT);
    result
}

/// A stream holds two descriptors, and many systems allow 1,024 unless asked.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit on open files could not be raised");
    }
}

async fn run(config: Config, config_file: Option<PathBuf>, data_dir: &Path) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let tls = config.server.tls.as_ref().map(tls::acceptor).transpose()?;
    first_start::forget_listen(data_dir);
    let store = Store::open(&config.store.url, data_dir).await.context("cannot open the store")?;
    store.migrate().await.context("cannot bring the store up to date")?;
    price_keeper::declare(&store, &config.catalogue, clock::now()).await.context("cannot write the prices down")?;
    let routes = Routes::default();
    let endpoints = Endpoints::default();
    routes.apply(&config.catalogue)?;

    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let sockets = bind(&config, cores)?;
    let (public, ops) = (sockets.public[0].local_addr()?, sockets.ops.local_addr()?);
    let bootstrap = first_start::prepare(&store, &config, data_dir, public).await?;

    let node = Arc::new(NodeState::open(data_dir, routes.clone())?);
    let (journal, reader) = open_journal(data_dir, &config)?;
    let background = tokio::runtime::Handle::current();
    let monthly = config.workspace_defaults.monthly_tokens;
    let quota = Quota::new(store.clone(), background.clone(), journal.run().clone(), node.id(), monthly, node.alive());
    let redis = open_limits(&config, &node)?;
    let health = Arc::new(Health {
        node: Arc::clone(&node),
        routes: routes.clone(),
        journal: journal.clone(),
        journal_max: config.journal.max_bytes,
        limits: redis.clone(),
    });
    let keys = KeyDirectory::new(store.clone(), tokio::runtime::Handle::current());
    let console_url = first_start::console_url(&config, public);
    let people = Arc::new(People::new(store.clone(), background, &config, console_url));
    let log = Arc::new(AccessLog::default());
    let refusals = Arc::new(Refusals::default());
    let max_label_sets = config.telemetry.max_label_sets;
    let calls = Arc::new(Calls::new(cores, max_label_sets));
    let set_aside = Arc::new(SetAside::default());
    let writer = UsageWriter { reader, store: store.clone(), set_aside: Arc::clone(&set_aside) };

    let connector = Connector::default();
    let launcher = launcher(data_dir)?;
    let parts = (routes.clone(), endpoints.clone());
    let mut control_plane = ControlPlane::open(&config, data_dir, &launcher, store.clone(), &node, parts).await?;
    let engines = Engines::start(&tokio::runtime::Handle::current(), launcher, routes.clone(), connector.clone());
    let mut loops = JoinSet::new();
    let (quota_hears, control_plane_hears) = (quota.clone(), control_plane.ear());
    loops.spawn(Arc::clone(&keys).follow(move |change| {
        quota_hears.heard(change);
        control_plane_hears(change);
    }));
    control_plane.start();
    let bill = Arc::new(Monitor::default());
    loops.spawn(control_plane.meters(connector.clone(), Arc::clone(&bill)).run());
    loops.spawn(quota.clone().keep(clock::now));
    loops.spawn(health::watch(routes.clone(), endpoints.clone(), connector.clone()));
    loops.spawn(Arc::clone(&node).beat(store.clone()));
    if let Some(redis) = redis.clone() {
        loops.spawn(redis.keep_asking());
    }
    let (served, reloads) = watch::channel(Declared::now(config.catalogue.clone()));
    loops.spawn(price_keeper::keep(store.clone(), reloads));
    let log_loop = Arc::clone(&log);
    loops.spawn(async move { log_loop.run().await });
    loops.spawn(Arc::clone(&refusals).run(store.clone()));
    loops.spawn(control::retention::keep(store.clone(), node.id().to_owned(), config.retention, clock::now));
    let (no_more_traces, traces_are_over) = watch::channel(false);
    let mut telling = JoinSet::new();
    let tracer = config.telemetry.traces.clone().map(|traces| {
        let (tracer, tells) = Tracer::open(traces, node.id(), connector.clone(), traces_are_over);
        telling.spawn(tells);
        Arc::new(tracer)
    });
    let rows = Arc::new(Rows::new(store.clone(), config.allotment_defaults.clone(), monthly, max_label_sets));
    let rows_loop = Arc::clone(&rows);
    loops.spawn(async move { rows_loop.keep().await });
    let metrics = Metrics {
        calls: Arc::clone(&calls),
        routes: routes.clone(),
        endpoints: endpoints.clone(),
        health: Arc::clone(&health),
        quota: quota.clone(),
        log: Arc::clone(&log),
        control: control_plane.figures(),
        bill,
        rows,
        usage_set_aside: set_aside,
        tracer: tracer.clone(),
        max_label_sets,
    };
    let ops_listener = tokio::net::TcpListener::from_std(sockets.ops)?;
    loops.spawn(operations::serve(ops_listener, Arc::new(Operations { metrics, health })));
    let mut writing = JoinSet::new();
    let (no_more_usage, is_over) = watch::channel(false);
    writing.spawn(writer.run(journal.run().clone(), is_over));

    let cursors = CursorKey::load(&store).await.context("cannot read the secret of cursors")?;
    let in_memory = Minutes::Memory(Arc::default());
    let workers = {
        let ids = Arc::new(RequestIds::new()?);
        let minutes = || redis.as_ref().map_or_else(|| in_memory.clone(), RedisLimits::for_core);
        let body_bounds = BodyBounds { limit: config.edge.body_limit, read_timeout: config.edge.body_read_timeout };
        let description = openapi::document();
        let provider = config.oidc.clone().map(|oidc| Provider::new(oidc, connector.clone(), &people.console_url));
        let console = ConsoleSurface::new(Arc::clone(&people), minutes(), provider.map(Arc::new), body_bounds);
        let (found, asked) = (Arc::clone(&people), Arc::clone(&keys));
        let endpoints_surface =
            EndpointsSurface::new(found, asked, served.subscribe(), cursors, control_plane.follower(), body_bounds);
        let admission = || Admission {
            minutes: minutes(),
            quota: quota.clone(),
            journal: journal.clone(),
            defaults: config.workspace_defaults,
        };
        let timeouts = CallTimeouts { first_byte: config.edge.first_byte_timeout, idle: config.edge.idle_timeout };
        let sink = |core| -> Arc<dyn Sink> {
            let (log, refusals) = (Arc::clone(&log), Arc::clone(&refusals));
            Arc::new(Recorder { log, calls: calls.on_core(core), journal: journal.clone(), refusals })
        };
        Workers::start(sockets.public, tls.as_ref(), config.server.drain_timeout, |core| Surface {
            dataplane: Dataplane::new(routes.clone(), endpoints.clone(), connector.clone(), timeouts, admission()),
            keys: Arc::clone(&keys),
            sink: sink(core),
            tracer: tracer.clone(),
            ids: Arc::clone(&ids),
            cors: Cors::new(config.server.cors_origins.clone()),
            hold_timeout: config.edge.hold_timeout,
            body_bounds,
            people: Arc::clone(&people),
            console: console.clone(),
            endpoints: endpoints_surface.clone(),
            description: description.clone(),
            trusted_proxies: config.server.trusted_proxies.clone(),
        })?
    };
    first_start::write_listen(data_dir, public, ops)?;
    tracing::info!(%public, %ops, workers = cores, "forebay is serving");
    if let Some(bootstrap) = bootstrap.filter(Bootstrap::is_to_be_shown) {
        let first_chat = config.catalogue.iter().find(|model| model.modality == Modality::Chat);
        bootstrap.print(first_chat.map(|model| model.id.as_str()));
    }

    let end = signals.wait_for_end(&routes, &served, config_file.as_deref()).await;

    tracing::info!("stopping: open answers may finish");
    node.drain();
    tokio::select! {
        () = workers.stop() => {}
        () = signals.wait_for_another() => tracing::warn!("told again to stop: open answers are cut"),
    }
    first_start::forget_listen(data_dir);
    engines.stop().await;
    control_plane.leave().await;
    if end == End::Interrupted {
        control_plane.stop_replicas().await;
    }
    control_plane.resign().await;
    // A lease that changed after its run has ended would stay reserved for ever.
    let leases_rest = tokio::time::timeout(FLUSH_TIME, quota.close()).await.is_ok();
    loops.shutdown().await;
    let _ = tokio::time::timeout(LAST_MOMENT, refusals.flush(&store)).await;
    no_more_usage.send_replace(leases_rest);
    if !leases_rest || tokio::time::timeout(FLUSH_TIME, writing.join_next()).await.is_err() {
        tracing::warn!(bytes = journal.waiting_bytes(), "usage events wait in the journal for the next start");
    }
    no_more_traces.send_replace(true);
    let _ = tokio::time::timeout(LAST_MOMENT, async {
        log.flush().await;
        while telling.join_next().await.is_some() {}
    })
    .await;
    store.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Engines are started from the binary beside this one, or the one that `FOREBAY_ENGINE` names.
pub(crate) fn launcher(data_dir: &Path) -> anyhow::Result<Launcher> {
    let beside = || Ok::<_, std::io::Error>(std::env::current_exe()?.with_file_name("forebay-engine"));
    let binary = std::env::var_os("FOREBAY_ENGINE").map(PathBuf::from).map_or_else(beside, Ok)?;
    let data_dir = std::path::absolute(data_dir)?;
    Ok(Launcher { binary, run_dir: data_dir.join("engines"), cache_dir: data_dir.join("cache") })
}

fn open_journal(data_dir: &Path, config: &Config) -> anyhow::Result<(Journal, JournalReader)> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no randomness from the system: {error}"))?;
    let run = RunId::new(clock::now(), u128::from_le_bytes(random));
    let folder = data_dir.join("journal");
    Journal::open(&folder, run, config.journal.max_bytes).with_context(|| format!("cannot open {}", folder.display()))
}

/// Limits that are shared with other nodes, where the configuration says so.
fn open_limits(config: &Config, node: &NodeState) -> anyhow::Result<Option<RedisLimits>> {
    if config.limits.url == "memory:" {
        return Ok(None);
    }
    // The address may hold a password, so what is wrong with it is not repeated.
    let limits = RedisLimits::open(&config.limits.url, config.limits.timeout, node.alive());
    limits.map(Some).map_err(|_| anyhow::anyhow!("[limits] url is not of the form redis://host:6379/0"))
}

struct Sockets {
    public: Vec<TcpListener>,
    ops: TcpListener,
}

fn bind(config: &Config, cores: usize) -> anyhow::Result<Sockets> {
    for address in [config.server.listen, config.server.ops_listen] {
        anyhow::ensure!(!listener::is_taken(address), "cannot listen on {address}: another program does");
    }
    let mut ops = listener::bind(config.server.ops_listen, 1)?;
    Ok(Sockets { public: listener::bind(config.server.listen, cores)?, ops: ops.remove(0) })
}

/// The signals that mean something here, caught from the start.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// How the process was told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Another process goes on: replicas of dedicated endpoints wait for it.
    Terminated,
    /// Somebody is done with it all.
    Interrupted,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Reloads the catalogue at SIGHUP and returns at SIGTERM or SIGINT.
    async fn wait_for_end(
        &mut self,
        routes: &Routes,
        served: &watch::Sender<Declared>,
        config_file: Option<&Path>,
    ) -> End {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return End::Terminated,
                _ = self.interrupt.recv() => return End::Interrupted,
                _ = self.hang_up.recv() => reload(routes, served, config_file),
            }
        }
    }

    /// Somebody is in a hurry.
    async fn wait_for_another(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// A catalogue with a problem changes nothing.
fn reload(routes: &Routes, served: &watch::Sender<Declared>, config_file: Option<&Path>) {
    let loaded = load(config_file).and_then(|config| {
        routes.apply(&config.catalogue)?;
        Ok(config.catalogue)
    });
    match loaded {
        Ok(catalogue) => {
            tracing::info!(models = catalogue.ids().count(), hash = %catalogue.hash, "catalogue reloaded");
            served.send_replace(Declared::now(catalogue));
        }
        Err(error) => tracing::error!("the catalogue stays as it is: {error:#}"),
    }
}
