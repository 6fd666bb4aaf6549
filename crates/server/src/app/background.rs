//! The background work of a node: every loop is started here.

use super::build::Parts;
use crate::surface::operations::{self, Operations};
use crate::version::VERSION;
use ::background::{Backoff, Loop, Pace, Tasks};
use control::capabilities::{self, CapabilityKeeper, CapabilityParts};
use control::engine_logs::LogPart;
use control::node_requests::{self, RESPONSE_PERIOD, Unwritten};
use control::retention;
use control::usage::JournalDrain;
use dataplane::admission::{PING_PERIOD, RENEW_PERIOD, RedisPing};
use dataplane::keys;
use dataplane::load_exchange::{self, LoadExchange};
use fleet::pressure::{self, PressureMeter};
use fleet::{Engines, LoadSharing, health};
use node::catalogue_keeper;
use node::clock;
use node::downloads::DownloadRequest;
use node::metrics::{self, Metrics, Rows};
use node::price_keeper;
use node::report::NodeReporter;
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, JournalReader};
use telemetry::traces::Tracer;
use telemetry::{access_log, rejections};
use tokio::runtime::Handle;
use tokio::sync::watch;

const HEARTBEAT_PERIOD: Duration = Duration::from_secs(5);
const RETENTION_PERIOD: Duration = Duration::from_secs(600);
/// Content of a workspace that was deleted, or that stores none any more, is deleted this soon.
const STORED_RESPONSES_PERIOD: Duration = Duration::from_secs(60);

/// The running loops, in the groups in which shutdown ends them.
pub(super) struct Background {
    /// Loops that may be aborted at any `await`.
    pub loops: Tasks,
    /// Serverless engines, which are children of this process.
    pub engines: Engines,
    pub usage_writer: Finishing,
    pub trace_export: Finishing,
    pub tracer: Option<Arc<Tracer>>,
}

/// Work that is not aborted but asked to finish.
pub(super) struct Finishing {
    tasks: Tasks,
    stop: watch::Sender<bool>,
}

impl Finishing {
    fn new() -> (Self, watch::Receiver<bool>) {
        let (stop, stopping) = watch::channel(false);
        (Self { tasks: Tasks::new(Handle::current()), stop }, stopping)
    }

    /// Asks the work to finish and waits until it has.
    pub(super) async fn finish(&self) {
        self.stop.send_replace(true);
        self.tasks.finish().await;
    }
}

impl Background {
    pub(super) fn start(parts: &Parts, reader: JournalReader, ops_listener: TcpListener) -> anyhow::Result<Self> {
        let loops = Tasks::new(Handle::current());
        let (launcher, routes, connector) = (parts.launcher.clone(), parts.routes.clone(), parts.connector.clone());
        let engines =
            Engines::start(&Handle::current(), launcher, routes, connector, parts.machine_logs.engines.clone());
        follow_changes(parts, &loops);
        parts.control_plane.start();
        watch_fleet(parts, &loops);
        share_loads(parts, &loops)?;
        report_node(parts, &loops);
        keep_state(parts, &loops);

        let (usage_writer, stopping) = Finishing::new();
        let quarantined = Arc::clone(&parts.quarantined);
        let drain = JournalDrain::new(reader, parts.store.clone(), quarantined);
        usage_writer.tasks.spawn(drain.run(parts.journal.run().clone(), stopping));
        let (trace_export, stopping) = Finishing::new();
        let tracer = parts.config.telemetry.traces.clone().map(|traces| {
            let (tracer, export) = Tracer::open(traces, parts.node.id(), parts.connector.clone(), stopping);
            trace_export.tasks.spawn(export);
            Arc::new(tracer)
        });
        report(parts, &loops, tracer.clone(), ops_listener)?;
        Ok(Self { loops, engines, usage_writer, trace_export, tracer })
    }
}

/// Applies changes made on other nodes: keys, quotas, endpoints, the catalogue.
fn follow_changes(parts: &Parts, loops: &Tasks) {
    let (quota, control_plane_listener) = (parts.quota.clone(), parts.control_plane.change_listener());
    let catalogue = Arc::clone(&parts.catalogue);
    let on_change = move |change: &Change| {
        quota.apply_change(change);
        catalogue.apply_change(change);
        control_plane_listener(change);
    };
    let mut follower = parts.keys.follower();
    let changes = Loop::every("change feed", Duration::ZERO).backing_off(Backoff::constant(keys::RETRY_DELAY));
    loops.spawn(loops.register(changes).run(async move || follower.round(&on_change).await));
    let catalogue = Arc::clone(&parts.catalogue);
    let refreshes = Loop::on_nudge("catalogue", catalogue.nudge()).backing_off(catalogue_keeper::BACKOFF);
    loops.spawn(loops.register(refreshes).run(async move || catalogue.refresh().await));
}

/// Observes replicas and engines.
fn watch_fleet(parts: &Parts, loops: &Tasks) {
    let meters = parts.control_plane.meters(parts.connector.clone(), Arc::clone(&parts.bill));
    meters.start(loops);
    loops.spawn(health::watch(parts.routes.clone(), parts.endpoints.clone(), parts.connector.clone()));
    if parts.config.server.probe != Some(false) {
        let mut keeper = CapabilityKeeper::new(CapabilityParts {
            store: parts.store.clone(),
            routes: parts.routes.clone(),
            endpoints: parts.endpoints.clone(),
            connector: parts.connector.clone(),
            probes_unknown: parts.config.server.probe == Some(true),
            node: parts.node.id().into(),
            now: clock::now,
        });
        loops.spawn(loops.every("capabilities", capabilities::PERIOD).run(async move || keeper.round().await));
    }
    if let Some(redis) = parts.redis.clone() {
        let mut ping = RedisPing::new(redis);
        loops.spawn(loops.every("Redis ping", PING_PERIOD).run(async move || ping.round().await));
    }
}

/// Keeps the loads of replicas up to date that calls are routed by: those of the engines, and of other nodes.
fn share_loads(parts: &Parts, loops: &Tasks) -> anyhow::Result<()> {
    let (routes, endpoints) = (parts.routes.clone(), parts.endpoints.clone());
    let mut meter = PressureMeter::new(routes.clone(), endpoints.clone(), parts.connector.clone());
    let pressure = loops.every("engine pressure", pressure::PERIOD);
    loops.spawn(pressure.repeat(async move || meter.round().await));
    let url = &parts.config.limits.url;
    if url == "memory:" {
        return Ok(());
    }
    // The URL may contain a password, so the error does not repeat it.
    let exchange = LoadExchange::open(url, LoadSharing::new(routes, endpoints));
    let mut exchange = exchange.map_err(|_| anyhow::anyhow!("[limits] url is not of the form redis://host:6379/0"))?;
    let exchanging = Loop::every("load exchange", Duration::ZERO);
    let exchanging = exchanging.backing_off(Backoff::constant(load_exchange::RETRY_DELAY));
    loops.spawn(loops.register(exchanging).run(async move || exchange.round().await));
    Ok(())
}

/// Keeps quota leases, prices, retention and downloads up to date.
fn keep_state(parts: &Parts, loops: &Tasks) {
    let (quota, leases) = (parts.quota.clone(), loops.every("quota leases", RENEW_PERIOD));
    loops.spawn(leases.run(async move || quota.renew(clock::now()).await));
    let (served, store) = (parts.catalogue.served().subscribe(), parts.store.clone());
    let price_history =
        Loop::on_nudge("price history", parts.catalogue.served().nudge()).backing_off(price_keeper::BACKOFF);
    let price_history = loops.register(price_history);
    loops.spawn(price_history.run(async move || price_keeper::record(&store, &served).await));
    let (store, node, kept) = (parts.store.clone(), parts.node.id().to_owned(), parts.config.retention);
    let cleanup = loops.every("retention", RETENTION_PERIOD);
    loops.spawn(cleanup.run(async move || retention::clear_if_leading(&store, &node, &kept, clock::now()).await));
    let (store, node) = (parts.store.clone(), parts.node.id().to_owned());
    let responses = loops.every("stored responses", STORED_RESPONSES_PERIOD);
    let storage = parts.context.responses.clone();
    loops.spawn(responses.run(async move || {
        control::responses::clear_if_leading(&store, &node, clock::now()).await?;
        storage.count_total().await
    }));
    let (storage, node) = (parts.context.batches.clone(), parts.node.id().to_owned());
    let batches = loops.every("files and batches", STORED_RESPONSES_PERIOD);
    loops.spawn(batches.run(async move || {
        control::batches::clear_if_leading(&storage, &node, clock::now()).await?;
        storage.count_total().await
    }));
    let (rejections, store) = (Arc::clone(&parts.rejections), parts.store.clone());
    let rejected_calls = loops.every("rejected calls", rejections::FLUSH_PERIOD);
    loops.spawn(rejected_calls.run(async move || rejections.flush(&store).await));
    let downloads = Arc::clone(parts.context.operator.weights.downloads());
    let weights = loops.register(Loop::on_nudge("weight downloads", downloads.nudge()));
    loops.spawn(weights.repeat(async move || downloads.run_queued().await));
    let log = Arc::clone(&parts.log);
    let access_log = loops.every("access log", access_log::FLUSH_PERIOD);
    loops.spawn(access_log.run_paced(async move || {
        let pace = if log.flush().await { Pace::Usual } else { Pace::Idle(access_log::IDLE_FLUSH_PERIOD) };
        Ok::<_, Infallible>(pace)
    }));
}

/// Reports this node to the others, and responds to their requests.
fn report_node(parts: &Parts, loops: &Tasks) {
    let (node, store) = (Arc::clone(&parts.node), parts.store.clone());
    let downloads = Arc::clone(parts.context.operator.weights.downloads());
    let changed = downloads.changed();
    let reporter = Arc::new(NodeReporter {
        version: VERSION,
        health: Arc::clone(&parts.health),
        routes: parts.routes.clone(),
        endpoints: parts.endpoints.clone(),
        logs: parts.machine_logs.clone(),
        downloads,
    });
    let (renewing, renewed, renewer) = (Arc::clone(&node), store.clone(), Arc::clone(&reporter));
    let heartbeat = loops.every("heartbeat", HEARTBEAT_PERIOD);
    loops.spawn(heartbeat.run(async move || node.beat(&store, &reporter.report().await).await));
    let reports = loops.register(Loop::on_nudge("node report", changed));
    loops.spawn(reports.run(async move || renewing.renew_report(&renewed, &renewer.report().await).await));
    let (logs, node, store) = (parts.machine_logs.clone(), Arc::clone(&parts.node), parts.store.console_pool());
    let content_keys = parts.context.content_keys.clone();
    let mut unwritten = Unwritten::default();
    let engine_logs = loops.every("engine logs", RESPONSE_PERIOD);
    loops.spawn(engine_logs.run(async move || {
        let (logs, keys) = (&logs, content_keys.as_ref());
        let read = |part: LogPart| async move {
            let text = logs.read(&part.name, part.max_bytes, &part.search).await;
            Ok(text.map(|text| part.seal(text, keys)))
        };
        match node.alive_count() {
            1 => Ok(()),
            _ => node_requests::respond(&store, node.id(), &mut unwritten, clock::now(), read).await,
        }
    }));
    let (context, node) = (Arc::clone(&parts.context), Arc::clone(&parts.node));
    let mut unwritten = Unwritten::default();
    let download_changes = loops.every("download changes", RESPONSE_PERIOD);
    loops.spawn(download_changes.run(async move || {
        let (commands, now) = (context.download_commands(), clock::now());
        let change = |request: DownloadRequest| commands.carry_out(request, now);
        match node.alive_count() {
            1 => Ok(()),
            _ => node_requests::respond(&context.store, node.id(), &mut unwritten, now, change).await,
        }
    }));
}

/// Serves metrics and health on the operations port.
fn report(parts: &Parts, loops: &Tasks, tracer: Option<Arc<Tracer>>, listener: TcpListener) -> anyhow::Result<()> {
    let max_label_sets = parts.config.telemetry.max_label_sets;
    let monthly = parts.config.workspace_defaults.monthly_tokens;
    let allotment_defaults = parts.config.allotment_defaults.clone();
    let rows = Arc::new(Rows::new(parts.store.clone(), allotment_defaults, monthly, max_label_sets));
    let gauges = Arc::clone(&rows);
    loops.spawn(loops.every("gauges of the store", metrics::REFRESH_PERIOD).run(async move || gauges.refresh().await));
    let health = Arc::clone(&parts.health);
    let metrics = Metrics {
        calls: Arc::clone(&parts.calls),
        routes: parts.routes.clone(),
        endpoints: parts.endpoints.clone(),
        health: Arc::clone(&health),
        quota: parts.quota.clone(),
        keys: Arc::clone(&parts.keys),
        throttles: Arc::clone(&parts.context.throttles),
        log: Arc::clone(&parts.log),
        control: parts.control_plane.metrics(),
        bill: Arc::clone(&parts.bill),
        rows,
        quarantined: Arc::clone(&parts.quarantined),
        memory: Arc::clone(&parts.memory),
        peers: Arc::clone(&parts.peers),
        connections: Arc::clone(&parts.connection_figures),
        responses: parts.context.responses.clone(),
        batches: parts.context.batches.clone(),
        tracer,
        max_label_sets,
    };
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let operations = Operations { metrics, health };
    loops.spawn(async move {
        let (_never_sent, stop) = watch::channel(false);
        operations::serve(listener, stop, move |head| operations.respond(head)).await;
    });
    Ok(())
}
