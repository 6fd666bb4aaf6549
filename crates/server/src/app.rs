//! Builds each part once, in order, and stops them in reverse.

use crate::cli::load;
use crate::config::Config;
use crate::edge::cors::Cors;
use crate::edge::request_body::BodyBounds;
use crate::edge::request_id::RequestIds;
use crate::edge::workers::Workers;
use crate::edge::{listener, tls};
use crate::first_start;
use crate::node::NodeState;
use crate::surface::Surface;
use crate::surface::operations::{self, Operations};
use crate::telemetry::Recorder;
use crate::telemetry::access_log::AccessLog;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::usage_writer::{self, UsageWriter};
use anyhow::Context;
use dataplane::Dataplane;
use dataplane::keys::KeyDirectory;
use dataplane::usage_tap::Sink;
use domain::model::{CallTimeouts, Modality};
use fleet::{Connector, Engines, Launcher, Routes, health};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// Threads for the store, the probes and the loops; calls are served by threads of their own.
const BACKGROUND_THREADS: usize = 2;
/// How long usage events may take to reach the store when all else has stopped.
const FLUSH_TIME: Duration = Duration::from_secs(10);

/// Runs until a signal ends it.
pub(crate) fn serve(config_file: Option<PathBuf>, data_dir: &Path) -> anyhow::Result<()> {
    let config = load(config_file.as_deref())?;
    std::fs::create_dir_all(data_dir).with_context(|| format!("cannot create {}", data_dir.display()))?;
    let background = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(BACKGROUND_THREADS)
        .thread_name("background")
        .enable_all()
        .build()?;
    background.block_on(run(config, config_file, data_dir))
}

async fn run(config: Config, config_file: Option<PathBuf>, data_dir: &Path) -> anyhow::Result<()> {
    first_start::forget_listen(data_dir);
    let store = Store::open(&config.store.url, data_dir).await.context("cannot open the store")?;
    store.migrate().await.context("cannot bring the store up to date")?;
    let routes = Routes::default();
    routes.apply(&config.catalogue)?;

    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let sockets = bind(&config, cores)?;
    let (public, ops) = (sockets.public[0].local_addr()?, sockets.ops.local_addr()?);
    let bootstrap = first_start::prepare(&store, &config, data_dir, public).await?;

    let node = Arc::new(NodeState::open(data_dir, routes.clone())?);
    let metrics = Arc::new(Metrics::new(routes.clone(), Arc::clone(&node)));
    let keys = Arc::new(KeyDirectory::new(store.clone(), tokio::runtime::Handle::current()));
    let log = Arc::new(AccessLog::default());
    let (usage, writer) = usage_writer::channel(store.clone(), Arc::clone(&metrics));
    let sink: Arc<dyn Sink> = Arc::new(Recorder { log: Arc::clone(&log), metrics: Arc::clone(&metrics), usage });

    let connector = Connector::default();
    let engines =
        Engines::start(&tokio::runtime::Handle::current(), launcher(data_dir)?, routes.clone(), connector.clone());
    let mut loops = JoinSet::new();
    loops.spawn(Arc::clone(&keys).follow());
    loops.spawn(health::watch(routes.clone(), connector.clone()));
    loops.spawn(Arc::clone(&node).beat(store.clone()));
    let log_loop = Arc::clone(&log);
    loops.spawn(async move { log_loop.run().await });
    let ops_listener = tokio::net::TcpListener::from_std(sockets.ops)?;
    loops.spawn(operations::serve(ops_listener, Arc::new(Operations { metrics, node: Arc::clone(&node) })));
    let mut writing = JoinSet::new();
    writing.spawn(UsageWriter::run(writer));

    let workers = {
        let ids = Arc::new(RequestIds::new()?);
        let tls = config.server.tls.as_ref().map(tls::acceptor).transpose()?;
        let timeouts = CallTimeouts { first_byte: config.edge.first_byte_timeout, idle: config.edge.idle_timeout };
        Workers::start(sockets.public, tls.as_ref(), config.server.drain_timeout, || Surface {
            dataplane: Dataplane::new(routes.clone(), connector.clone(), timeouts),
            keys: Arc::clone(&keys),
            sink: Arc::clone(&sink),
            ids: Arc::clone(&ids),
            cors: Cors::new(config.server.cors_origins.clone()),
            body_bounds: BodyBounds { limit: config.edge.body_limit, read_timeout: config.edge.body_read_timeout },
        })?
    };
    first_start::write_listen(data_dir, public, ops)?;
    tracing::info!(%public, %ops, workers = cores, "forebay is serving");
    if let Some(bootstrap) = bootstrap {
        let first_chat = config.catalogue.iter().find(|model| model.modality == Modality::Chat);
        bootstrap.print(first_chat.map(|model| model.id.as_str()));
    }

    wait_for_end(&routes, config_file.as_deref()).await?;

    tracing::info!("stopping: open answers may finish");
    node.drain();
    workers.stop().await;
    engines.stop().await;
    loops.shutdown().await;
    drop(sink);
    if tokio::time::timeout(FLUSH_TIME, writing.join_next()).await.is_err() {
        tracing::error!("usage events were left behind: the store did not take them");
    }
    log.flush().await;
    store.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Engines are started from the binary beside this one, or the one that `FOREBAY_ENGINE` names.
fn launcher(data_dir: &Path) -> anyhow::Result<Launcher> {
    let beside = || Ok::<_, std::io::Error>(std::env::current_exe()?.with_file_name("forebay-engine"));
    let binary = std::env::var_os("FOREBAY_ENGINE").map(PathBuf::from).map_or_else(beside, Ok)?;
    let data_dir = std::path::absolute(data_dir)?;
    Ok(Launcher { binary, run_dir: data_dir.join("engines"), cache_dir: data_dir.join("cache") })
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

/// Reloads the catalogue at SIGHUP and returns at SIGTERM or SIGINT.
async fn wait_for_end(routes: &Routes, config_file: Option<&Path>) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = hang_up.recv() => match load(config_file).and_then(|config| {
                routes.apply(&config.catalogue)?;
                Ok(config)
            }) {
                Ok(config) => {
                    tracing::info!(models = config.catalogue.ids().count(), hash = %config.catalogue.hash, "catalogue reloaded");
                }
                Err(error) => tracing::error!("the catalogue stays as it is: {error:#}"),
            },
        }
    }
}
