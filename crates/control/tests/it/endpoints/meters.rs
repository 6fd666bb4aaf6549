//! The meters, with scripted instruments.

use super::platform::Platform;
use crate::NOW;
use crate::databases::on_both;
use control::bill_check::{self, Monitor, SharedServers};
use control::meters::{Instruments, MeterParts, Meters};
use control::series::{self, LineName, NamedValues, SeriesQuery, SeriesReport, SeriesValue};
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::gpu_time::WINDOW_MILLIS;
use domain::model::{DriverKind, EnginePool, Model, Serving, Upstream};
use domain::series::{Division, Metric, Step};
use domain::{Catalogue, Endpoint, Grain, ModelId, NanoUsd, ReplicaId, Retention, Span, Timestamp};
use fleet::drivers::{DeviceId, ReplicaName};
use fleet::endpoints::{Condition, EndpointUpdate};
use fleet::engine::{EngineLoad, EngineMetrics, LoadError, TokenCounters};
use fleet::{Backend, Connector, Endpoints, Routes};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::gpu_busy::{self, BusyQuery};
use store::holds::{self, NewHold};
use store::replicas;
use testkit::fake_engine::FakeEngine;

const DAY: Duration = Duration::from_secs(86_400);
const KEPT: Retention = Retention { minutes: DAY, hours: DAY, days: DAY, requests: DAY };

/// Scripted readings of a machine.
#[derive(Clone)]
struct Panel {
    busy: Arc<Mutex<Vec<(DeviceId, u32)>>>,
    prompt: Arc<AtomicU64>,
}

impl Instruments for Panel {
    async fn gpu_busy(&self) -> Vec<(DeviceId, u32)> {
        self.busy.lock().unwrap().clone()
    }

    async fn gpu_busy_in_cluster(&self) -> Vec<(DeviceId, u32)> {
        vec![(DeviceId::slot("rep_in_cluster", 0), 90), (DeviceId::slot("rep_in_cluster", 1), 30)]
    }

    async fn cpu_time(&self, _: &ReplicaName) -> Option<Duration> {
        None
    }

    async fn metrics(&self, _: &ReplicaName) -> Result<EngineMetrics, LoadError> {
        let load = EngineLoad { kv_cache_usage: Some(0.25), running: Some(1.0), waiting: Some(3.0) };
        let prompt = self.prompt.fetch_add(10, Ordering::Relaxed) + 10;
        Ok(EngineMetrics { load, tokens: Some(TokenCounters { prompt, completion: prompt / 2, counts_cached: true }) })
    }
}

fn model(id: ModelId, serving: Serving) -> Model {
    Model { serving, ..Model::plain(id) }
}

fn known(endpoint: &Endpoint) -> EndpointUpdate {
    EndpointUpdate {
        id: endpoint.id.to_string(),
        organization: endpoint.organization.clone(),
        workspace: endpoint.workspace.clone(),
        name: endpoint.name.to_string(),
        model: Arc::new(model(endpoint.name.model_id(), Serving::Upstreams(Vec::new()))),
        condition: Condition::Serving,
        draining: Vec::new(),
        replicas: Vec::new(),
    }
}

/// An endpoint with one ready replica on two GPUs of this node.
async fn running(platform: &Platform) -> (Endpoint, ReplicaId) {
    running_on(platform, DriverKind::Process, "here", ["GPU-a", "GPU-b"]).await
}

async fn running_on(platform: &Platform, driver: DriverKind, node: &str, gpus: [&str; 2]) -> (Endpoint, ReplicaId) {
    platform.create("chat", "2x", json!({})).await.unwrap();
    let endpoint = platform.show("chat").await;
    let new = Replica::new(ReplicaId::new(NOW, 1), endpoint.id.clone(), NOW);
    let mut replica = new.restored(ReplicaState::Ready);
    (replica.driver, replica.node) = (driver, Some(node.into()));
    (replica.started_at, replica.ready_at) = (Some(NOW), Some(NOW));
    let mut tx = platform.fenced().await;
    let hold = NewHold {
        replica: &replica.id,
        endpoint: &endpoint,
        node,
        gpus: &gpus.map(str::to_owned),
        price_per_gpu_hour: NanoUsd::ZERO,
        started_at: NOW,
    };
    replicas::insert(&mut tx, &replica).await.unwrap();
    holds::open(&mut tx, hold).await.unwrap();
    tx.commit().await.unwrap();
    (endpoint, replica.id)
}

/// Meters without GPUs and with an engine that reports little, on the node of this name.
fn meters(platform: &Platform, node: &str, routes: Routes, endpoints: Endpoints) -> Meters<Panel> {
    Meters::new(MeterParts {
        store: platform.store.clone(),
        instruments: Panel { busy: Arc::default(), prompt: Arc::default() },
        routes,
        endpoints,
        connector: Connector::default(),
        node: node.into(),
        now: || NOW,
        bill: Arc::new(Monitor::default()),
    })
}

#[tokio::test]
async fn the_prompts_in_flight_of_all_nodes_are_shown_by_replica() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        let (endpoint, _) = running(&platform).await;
        let upstream = |port: u16| Upstream::plain(format!("http://127.0.0.1:{port}/v1"), "m");
        let replicas = vec![("rep_1".to_owned(), upstream(1)), ("rep_2".to_owned(), upstream(2))];
        let node = |name: &str| {
            let endpoints = Endpoints::default();
            endpoints.apply(vec![EndpointUpdate { replicas: replicas.clone(), ..known(&endpoint) }]);
            (endpoints.clone(), meters(&platform, name, Routes::default(), endpoints))
        };
        // The platform leads as `me`.
        let ((of_leader, mut leader), (of_other, mut other)) = (node("me"), node("other"));
        let load = |endpoints: &Endpoints, replica: usize, tokens: u64| {
            endpoints.all()[0].view().route.pool.replicas()[replica].prompt_load().begin(tokens);
        };
        load(&of_leader, 0, 700);
        load(&of_other, 0, 300);
        other.round(2).await.unwrap();
        leader.round(2).await.unwrap();
        leader.round(4).await.unwrap();

        let query = SeriesQuery {
            metric: Metric::PrefillQueue,
            span: Span { from: NOW, to: NOW.plus_millis(60_000) },
            step: Some(Step::parse("minute").unwrap()),
            division: Some(Division::Replica),
            model: None,
            actor: None,
            endpoint: Some("chat".into()),
            code: None,
            surface: None,
        };
        let report = series::report(&platform.store, &endpoint.workspace, &query, &KEPT, NOW).await.unwrap();
        // Two samples: 700 and 300 of the other node, then 700.
        assert_eq!(lines(report), [line("rep_1", 850.0, 700.0), line("rep_2", 0.0, 0.0)]);
    })
    .await;
}

type Line = (LineName, NamedValues<Option<SeriesValue>>);

/// The lines of a chart with their totals, by name.
fn lines(report: SeriesReport) -> Vec<Line> {
    let mut lines: Vec<Line> = report.lines.into_iter().map(|line| (line.name, line.total)).collect();
    lines.sort_by(|one, other| one.0.cmp(&other.0));
    lines
}

fn line(replica: &str, mean: f64, max: f64) -> Line {
    let part = |value| Some(SeriesValue::Part(value));
    (LineName::Replica(replica.into()), vec![("mean", part(mean)), ("max", part(max))])
}

/// A node that serves a model with two upstreams, one with two engines of its own, and one with a single upstream.
fn serving_node(platform: &Platform, node: &str) -> (Routes, Meters<Panel>) {
    let upstream = |port: u16| Upstream::plain(format!("http://127.0.0.1:{port}/v1"), "m");
    let engines = EnginePool { weights: "weights".into(), replicas: 2, parallel: None, args: Vec::new(), flavor: None };
    let models = vec![
        model(id("acme/shared"), Serving::Upstreams(vec![upstream(1), upstream(2)])),
        model(id("acme/own"), Serving::Engine(engines)),
        model(id("acme/single"), Serving::Upstreams(vec![upstream(3)])),
    ];
    let routes = Routes::default();
    routes.apply(&Catalogue::new(models, "hash")).unwrap();
    for number in 1..=2 {
        let engine = Backend::new(&format!("acme/own#{number}"), upstream(3 + number)).unwrap();
        routes.join(id("acme/own"), Arc::new(engine));
    }
    (routes.clone(), meters(platform, node, routes, Endpoints::default()))
}

fn id(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

#[tokio::test]
async fn the_leader_counts_desired_and_ready_replicas() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        let (endpoint, _) = running(&platform).await;
        platform.create("idle", "1x", json!({})).await.unwrap();
        platform.suspend("idle").await.unwrap();
        let node = |name: &str| meters(&platform, name, Routes::default(), Endpoints::default());
        // The platform leads as `me`.
        node("other").round(2).await.unwrap();
        node("me").round(2).await.unwrap();
        node("me").round(4).await.unwrap();

        let query = SeriesQuery {
            metric: Metric::Replicas,
            span: Span { from: NOW, to: NOW.plus_millis(60_000) },
            step: Some(Step::parse("minute").unwrap()),
            division: Some(Division::Endpoint),
            model: None,
            actor: None,
            endpoint: None,
            code: None,
            surface: None,
        };
        let report = series::report(&platform.store, &endpoint.workspace, &query, &KEPT, NOW).await.unwrap();
        let desired = SeriesValue::Part(f64::from(endpoint.status.desired));
        let counts = vec![("desired", Some(desired)), ("ready", Some(SeriesValue::Part(1.0)))];
        assert_eq!(lines(report), [(LineName::Endpoint("chat".into()), counts)], "not of a suspended one");
    })
    .await;
}

#[tokio::test]
async fn the_queues_of_models_with_several_replicas_are_shown_apart_from_workspaces() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        platform.lead().await;
        let ((of_leader, mut leader), (of_other, mut other)) =
            (serving_node(&platform, "me"), serving_node(&platform, "other"));
        let load = |routes: &Routes, model: &str, replica: usize, tokens: u64| {
            routes.table().get(model).unwrap().pool.replicas()[replica].prompt_load().begin(tokens);
        };
        load(&of_leader, "acme/shared", 0, 700);
        load(&of_other, "acme/shared", 0, 300);
        load(&of_other, "acme/own", 1, 40);
        load(&of_leader, "acme/single", 0, 9);
        other.round(2).await.unwrap();
        leader.round(2).await.unwrap();

        let span = Span { from: NOW, to: NOW.plus_millis(60_000) };
        let step = Some(Step::parse("minute").unwrap());
        let queues = async |model: &str| {
            lines(series::prefill_queue(&platform.store, &id(model), span, step, &KEPT, NOW).await.unwrap())
        };
        let shared = [line("acme/shared#1", 1_000.0, 700.0), line("acme/shared#2", 0.0, 0.0)];
        assert_eq!(queues("acme/shared").await, shared, "both nodes call the same servers");
        let own = [
            line("acme/own#1@me", 0.0, 0.0),
            line("acme/own#1@other", 0.0, 0.0),
            line("acme/own#2@me", 0.0, 0.0),
            line("acme/own#2@other", 40.0, 40.0),
        ];
        assert_eq!(queues("acme/own").await, own, "each node has engines of its own");
        assert!(queues("acme/single").await.is_empty());

        let query = SeriesQuery {
            metric: Metric::PrefillQueue,
            span,
            step,
            division: Some(Division::Replica),
            model: None,
            actor: None,
            endpoint: None,
            code: None,
            surface: None,
        };
        let report = series::report(&platform.store, &platform.workspace.id, &query, &KEPT, NOW).await.unwrap();
        assert!(report.lines.is_empty(), "a workspace does not see the load of others");
    })
    .await;
}

#[tokio::test]
async fn a_server_of_two_models_is_read_again_as_soon_as_it_is_up_and_is_one_line() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        platform.lead().await;
        let mut engine = FakeEngine::start().await;
        engine.set_counters(100, 50);
        let upstreams = || Serving::Upstreams(vec![Upstream::plain(engine.url(), "fake-model")]);
        let models = vec![model(id("acme/one"), upstreams()), model(id("acme/two"), upstreams())];
        let routes = Routes::default();
        routes.apply(&Catalogue::new(models, "hash")).unwrap();
        let mut meters = meters(&platform, "me", routes.clone(), Endpoints::default());
        let hours = async || {
            let span = Span { from: NOW, to: NOW.plus_millis(1) };
            let shared = SharedServers::of(&routes.table());
            bill_check::report(&platform.store, None, span, &shared).await.unwrap().hours
        };

        engine.stop();
        meters.round(2).await.unwrap();
        assert!(hours().await.is_empty());
        engine.restart();
        meters.round(4).await.unwrap();
        let read: Vec<_> = hours().await.into_iter().map(|hour| (hour.replica, hour.counted.is_some())).collect();
        assert_eq!(read, [("acme/one#1".to_owned(), true)]);
    })
    .await;
}

#[tokio::test]
async fn gpus_in_a_cluster_are_measured_by_the_leader_alone() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        let gpus = ["rep_in_cluster#0", "rep_in_cluster#1"];
        let (endpoint, _) = running_on(&platform, DriverKind::Kubernetes, "gpu-node", gpus).await;
        // The platform leads as `me`.
        for node in ["me", "other", "gpu-node"] {
            let mut meters = meters(&platform, node, Routes::default(), Endpoints::default());
            for round in 1..=2 {
                meters.round(round).await.unwrap();
            }
        }
        let query = BusyQuery {
            workspace: Some(&endpoint.workspace),
            by_endpoint: true,
            span: Span { from: NOW.plus_millis(-3_600_000), to: NOW.plus_millis(3_600_000) },
            step_millis: WINDOW_MILLIS,
            max_rows: 10,
        };
        let windows = gpu_busy::measured(&platform.store, query).await.unwrap();
        assert_eq!((windows.len(), windows[0].busy_millionths, windows[0].samples), (1, 600_000, 4));
    })
    .await;
}

#[tokio::test]
async fn gpus_and_engines_of_this_node_are_measured_and_shown() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        let (endpoint, replica) = running(&platform).await;
        let endpoints = Endpoints::default();
        endpoints.apply(vec![known(&endpoint)]);
        let card = |name: &str, busy| (DeviceId::new(name), busy);
        let panel = Panel {
            busy: Arc::new(Mutex::new(vec![card("GPU-a", 60), card("GPU-b", 20), card("GPU-of-others", 100)])),
            prompt: Arc::default(),
        };
        let mut meters = Meters::new(MeterParts {
            store: platform.store.clone(),
            instruments: panel.clone(),
            routes: Routes::default(),
            endpoints,
            connector: Connector::default(),
            node: "here".into(),
            now: || NOW,
            bill: Arc::new(Monitor::default()),
        });
        for round in 1..=4 {
            meters.round(round).await.unwrap();
        }
        let span = Span { from: NOW.plus_millis(-3_600_000), to: NOW.plus_millis(3_600_000) };
        let query = BusyQuery {
            workspace: Some(&endpoint.workspace),
            by_endpoint: true,
            span,
            step_millis: WINDOW_MILLIS,
            max_rows: 10,
        };
        let windows = gpu_busy::measured(&platform.store, query).await.unwrap();
        let window = &windows[0];
        assert_eq!((windows.len(), window.busy_millionths, window.samples), (1, 400_000, 8));

        // The GPUs report nothing any more: here that is unknown, while the cost view counts it as idle.
        panel.busy.lock().unwrap().clear();
        for round in 5..=6 {
            meters.round(round).await.unwrap();
        }
        let query = |metric, step| SeriesQuery {
            metric,
            span: Span { from: NOW, to: NOW.plus_millis(300_000) },
            step: Some(Step::parse(step).unwrap()),
            division: None,
            model: None,
            actor: None,
            endpoint: Some("chat".into()),
            code: None,
            surface: None,
        };
        let report = async |metric, step, now: Timestamp| {
            let found = series::report(&platform.store, &endpoint.workspace, &query(metric, step), &KEPT, now).await;
            found.unwrap().lines.remove(0).total
        };
        let later = NOW.plus_millis(80_000);
        let part = |value| Some(SeriesValue::Part(value));
        assert_eq!(report(Metric::KvCache, "minute", NOW).await, [("mean", part(0.25)), ("max", part(0.25))]);
        assert_eq!(report(Metric::Waiting, "minute", NOW).await, [("mean", part(3.0)), ("max", part(3.0))]);
        let busy = report(Metric::GpuBusy, "300", later).await;
        assert_eq!(busy, [("mean", part(0.4)), ("measured", part(0.25))], "40 of 160 GPU-seconds");

        let hours = bill_check::report(&platform.store, Some(&endpoint.organization), span, &Default::default()).await;
        let hours = hours.unwrap();
        let line = &hours.hours[0];
        assert_eq!((line.replica.as_str(), line.hour), (replica.as_str(), Grain::Hour.start_of(NOW)));
        // All readings have the same time, so only the first one counts.
        assert_eq!(line.counted.map(|tokens| (tokens.prompt, tokens.completion)), Some((10, 5)));
        assert_eq!(hours.replicas[0].difference().total(), -15);
    })
    .await;
}
