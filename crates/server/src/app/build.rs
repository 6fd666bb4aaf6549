//! Builds the parts of a node, each once and in the order of their needs.

use super::start::StoreState;
use crate::batch_runner::{BatchRunner, RunnerParts};
use crate::control_plane::ControlPlane;
use crate::oidc::Provider;
use crate::surface::console::ConsoleSurface;
use crate::surface::endpoints::EndpointsSurface;
use crate::surface::response_memory::ResponseBudget;
use crate::surface::{EndUserNames, Surface};
use crate::surface_context::{OperatorParts, SurfaceContext};
use anyhow::Context;
use config::Config;
use control::bill_check::Monitor;
use control::usage::QuarantinedEvents;
use dataplane::admission::{
    Admission, CompletionAverages, Quota, RateLimiter, RedisLimits, RunningCalls, RunningCounts,
};
use dataplane::keys::KeyDirectory;
use dataplane::quarantine::Quarantine;
use dataplane::response_memory::BodyMemory;
use dataplane::usage_tap::Sink;
use dataplane::{Dataplane, DataplaneParts};
use domain::end_user::EndUserSecret;
use domain::model::CallTimeouts;
use domain::{RunId, SaltSecret};
use edge::cors::Cors;
use edge::heavy_work::HeavyWork;
use edge::limits::{ConnectionFigures, ConnectionLimits};
use edge::listener;
use edge::memory_budget::MemoryBudget;
use edge::peers::PeerTable;
use edge::request_body::BodyBounds;
use edge::request_id::RequestIds;
use edge::workers::Workers;
use fleet::logs::MachineLogs;
use fleet::machine::memory_limit;
use fleet::weights::Weights;
use fleet::{Connector, Endpoints, EngineLogs, Launcher, Routes};
use node::catalogue_keeper::CatalogueKeeper;
use node::clock;
use node::doctor::ResidentDoctor;
use node::first_start;
use node::health::Health;
use node::state::NodeState;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use store::{Journal, JournalReader, Store};
use telemetry::Recorder;
use telemetry::access_log::AccessLog;
use telemetry::metrics::Calls;
use telemetry::rejections::Rejections;
use telemetry::traces::Tracer;
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;

/// The parts that loops and surfaces share.
pub(super) struct Parts {
    pub config: Config,
    /// The number of worker threads that serve calls.
    pub cores: usize,
    pub store: Store,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub connector: Connector,
    pub launcher: Launcher,
    pub machine_logs: MachineLogs,
    pub node: Arc<NodeState>,
    pub journal: Journal,
    pub quota: Quota,
    /// `None` if limits are kept in this node's memory.
    pub redis: Option<RedisLimits>,
    pub health: Arc<Health>,
    pub keys: Arc<KeyDirectory>,
    pub salt_secret: SaltSecret,
    pub end_user_secret: EndUserSecret,
    pub context: Arc<SurfaceContext>,
    pub control_plane: ControlPlane,
    /// The catalogue of the file and of the store.
    pub catalogue: Arc<CatalogueKeeper>,
    pub log: Arc<AccessLog>,
    pub rejections: Arc<Rejections>,
    pub calls: Arc<Calls>,
    pub quarantined: Arc<QuarantinedEvents>,
    pub bill: Arc<Monitor>,
    /// The memory of request bodies.
    pub memory: Arc<MemoryBudget>,
    /// Connections by client address.
    pub peers: Arc<PeerTable>,
    pub connection_figures: Arc<ConnectionFigures>,
}

impl Parts {
    /// Builds the parts. The journal's reader is returned apart: only the usage writer may own it.
    pub(super) async fn build(
        config: Config,
        config_file: Option<&Path>,
        data_dir: &Path,
        state: StoreState,
        public: SocketAddr,
    ) -> anyhow::Result<(Self, JournalReader)> {
        let StoreState { store, catalogue, salt_secret, end_user_secret, reasoning_keys, store_id } = state;
        let runtime = Handle::current();
        let (routes, endpoints, connector) = (catalogue.routes().clone(), Endpoints::default(), Connector::default());
        let catalogue = Arc::new(catalogue);
        let node = Arc::new(NodeState::open(data_dir, routes.clone())?);
        let (journal, reader) = open_journal(data_dir, &config)?;
        let run = journal.run().clone();
        let monthly = config.workspace_defaults.monthly_tokens;
        let quota = Quota::new(store.clone(), runtime.clone(), run, node.id(), monthly, node.alive());
        let redis = open_limits(&config, &node)?;
        let health = Arc::new(Health {
            node: Arc::clone(&node),
            routes: routes.clone(),
            journal: journal.clone(),
            journal_max: config.journal.max_bytes,
            limits: redis.clone(),
        });
        let keys = KeyDirectory::new(store.clone(), runtime.clone());
        let console_url = first_start::console_url(&config, public);
        let launcher = Launcher::find(data_dir)?;
        let table = (routes.clone(), endpoints.clone());
        let stored = (store.clone(), store_id);
        let control_plane = ControlPlane::open(&config, data_dir, &launcher, stored, &node, table).await?;
        let doctor = ResidentDoctor::new(config_file, data_dir);
        let machine_logs = MachineLogs { engines: EngineLogs::default(), process: control_plane.process_driver() };
        let operator = OperatorParts {
            node_id: node.id().to_owned(),
            connector: connector.clone(),
            doctor,
            weights: Weights::open(&config.weights, connector.clone(), data_dir, &launcher.cache_dir)?,
            logs: machine_logs.clone(),
            cluster: control_plane.cluster_driver(),
        };
        let shared = Arc::clone(&catalogue);
        let context = SurfaceContext::new(&store, runtime, &config, console_url, shared, operator, reasoning_keys);
        let context = Arc::new(context);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = Self {
            cores,
            routes,
            endpoints,
            connector,
            launcher,
            machine_logs,
            node,
            journal,
            quota,
            redis,
            health,
            keys,
            salt_secret,
            end_user_secret,
            context,
            control_plane,
            catalogue,
            log: Arc::default(),
            rejections: Arc::default(),
            // The lines of batches run on a thread of their own.
            calls: Arc::new(Calls::new(cores + 1, config.telemetry.max_label_sets)),
            quarantined: Arc::default(),
            bill: Arc::default(),
            memory: Arc::new(MemoryBudget::new(memory_budget(&config))),
            peers: Arc::new(peer_table(&config)),
            connection_figures: Arc::default(),
            config,
            store,
        };
        Ok((parts, reader))
    }
}

/// Starts the threads that serve calls, each with surfaces of its own, and the thread that runs batches.
pub(super) fn start_workers(
    parts: &Parts,
    tracer: Option<&Arc<Tracer>>,
    listeners: Vec<TcpListener>,
    tls: Option<&TlsAcceptor>,
) -> anyhow::Result<(Workers, BatchRunner)> {
    let config = &parts.config;
    let ids = Arc::new(RequestIds::new()?);
    let in_memory = RateLimiter::in_memory();
    let rate_limiter = || parts.redis.as_ref().map_or_else(|| in_memory.clone(), RateLimiter::on_redis);
    let body_bounds = BodyBounds {
        limit: config.edge.body_limit,
        read_timeout: config.edge.body_read_timeout,
        memory: Arc::clone(&parts.memory),
        heavy: HeavyWork::new(parts.cores.div_ceil(2)),
    };
    let context = &parts.context;
    let new_provider = |oidc| Provider::new(oidc, parts.connector.clone(), &context.console_url);
    let provider = config.oidc.clone().map(new_provider).transpose()?;
    let console = ConsoleSurface::new(Arc::clone(context), rate_limiter(), provider.map(Arc::new), body_bounds.clone());
    let endpoints_surface = EndpointsSurface::new(
        Arc::clone(context),
        Arc::clone(&parts.keys),
        parts.catalogue.served().subscribe(),
        parts.control_plane.follower(),
        body_bounds.clone(),
    );
    let timeouts = CallTimeouts { first_byte: config.edge.first_byte_timeout, idle: config.edge.idle_timeout };
    let running = RunningCalls::new(config.edge.max_calls_per_workspace);
    let counting = RunningCounts::default();
    let averages = CompletionAverages::default();
    let quarantine = Quarantine::default();
    let response_memory: Arc<dyn BodyMemory> = Arc::new(ResponseBudget(Arc::clone(&parts.memory)));
    let dataplane = || {
        let (quota, journal) = (parts.quota.clone(), parts.journal.clone());
        let (running, counting, averages) = (running.clone(), counting.clone(), averages.clone());
        let (rate_limiter, defaults) = (rate_limiter(), config.workspace_defaults);
        let admission = Admission { rate_limiter, quota, journal, defaults, running, counting, averages };
        let (routes, endpoints) = (parts.routes.clone(), parts.endpoints.clone());
        let (salt_secret, quarantine) = (parts.salt_secret.clone(), quarantine.clone());
        let (connector, memory) = (parts.connector.clone(), Arc::clone(&response_memory));
        Dataplane::new(DataplaneParts {
            routes,
            endpoints,
            connector,
            timeouts,
            admission,
            salt_secret,
            quarantine,
            memory,
        })
    };
    let end_users = Arc::new(EndUserNames {
        secret: parts.end_user_secret.clone(),
        headers: config.server.end_user_headers.clone(),
        are_sent: config.server.end_user_to_engine,
    });
    let sink = |core| -> Arc<dyn Sink> {
        let (log, rejections) = (Arc::clone(&parts.log), Arc::clone(&parts.rejections));
        Arc::new(Recorder { log, calls: parts.calls.on_core(core), journal: parts.journal.clone(), rejections })
    };
    let limits = ConnectionLimits {
        stall_timeout: config.edge.client_stall_timeout,
        call_timeout: config.edge.call_timeout,
        peers: Arc::clone(&parts.peers),
        figures: Arc::clone(&parts.connection_figures),
    };
    let surface = |core| Surface {
        dataplane: dataplane(),
        keys: Arc::clone(&parts.keys),
        sink: sink(core),
        tracer: tracer.cloned(),
        ids: Arc::clone(&ids),
        cors: Cors::new(config.server.cors_origins.clone()),
        hold_timeout: config.edge.hold_timeout,
        keep_alive: config.edge.keep_alive,
        routing_headers: config.edge.routing_headers,
        end_users: Arc::clone(&end_users),
        body_bounds: body_bounds.clone(),
        context: Arc::clone(context),
        console: console.clone(),
        endpoints: endpoints_surface.clone(),
        strict_transport: is_strict_transport(tls, &context.console_url),
        trusted_proxies: config.server.trusted_proxies.clone(),
    };
    let runner = BatchRunner::start(RunnerParts {
        surface: surface(parts.cores),
        storage: context.batches.clone(),
        run: parts.journal.run().clone(),
        background: context.background.clone(),
        log: Arc::clone(&parts.log),
        calls: parts.calls.on_core(parts.cores),
    })?;
    let workers = Workers::start(listeners, tls, config.server.drain_timeout, &limits, surface)?;
    Ok((workers, runner))
}

/// A proxy that ends TLS decides for itself; on localhost it would bind every other program there.
pub(super) fn is_strict_transport(tls: Option<&TlsAcceptor>, console_url: &str) -> bool {
    tls.is_some() && !console_url.starts_with("https://localhost")
}

pub(super) fn peer_table(config: &Config) -> PeerTable {
    let unbounded = [&config.server.trusted_proxies[..], &config.server.unbounded_addresses].concat();
    PeerTable::new(config.server.max_connections_per_address, unbounded)
}

/// A quarter of the process's memory, unless configured; at least one body. An unknown limit counts as 2 GiB.
fn memory_budget(config: &Config) -> u64 {
    const UNKNOWN_LIMIT: u64 = 2 << 30;
    let default = || memory_limit::detect().unwrap_or(UNKNOWN_LIMIT) / 4;
    config.edge.memory_budget.unwrap_or_else(|| default().max(config.edge.body_limit))
}

fn open_journal(data_dir: &Path, config: &Config) -> anyhow::Result<(Journal, JournalReader)> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no randomness from the system: {error}"))?;
    let run = RunId::new(clock::now(), u128::from_le_bytes(random));
    let folder = data_dir.join("journal");
    Journal::open(&folder, run, config.journal.max_bytes).with_context(|| format!("cannot open {}", folder.display()))
}

/// Limits shared with other nodes; `None` with `url = "memory:"`.
fn open_limits(config: &Config, node: &NodeState) -> anyhow::Result<Option<RedisLimits>> {
    if config.limits.url == "memory:" {
        return Ok(None);
    }
    // The URL may contain a password, so the error does not repeat it.
    let limits = RedisLimits::open(&config.limits.url, config.limits.timeout, node.alive());
    limits.map(Some).map_err(|_| anyhow::anyhow!("[limits] url is not of the form redis://host:6379/0"))
}

/// The listening sockets: one per core for the public address, one for the operations address.
pub(super) struct Sockets {
    pub public: Vec<TcpListener>,
    pub ops: TcpListener,
}

impl Sockets {
    pub(super) fn bind(config: &Config) -> anyhow::Result<Self> {
        for address in [config.server.listen, config.server.ops_listen] {
            anyhow::ensure!(!listener::is_taken(address), "cannot listen on {address}: another program does");
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut ops = listener::bind(config.server.ops_listen, 1)?;
        Ok(Self { public: listener::bind(config.server.listen, cores)?, ops: ops.remove(0) })
    }
}
