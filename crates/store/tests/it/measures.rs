//! Measurements of endpoints: how busy their GPUs are, and the gauges of their engines.

use crate::databases::on_both;
use crate::fleets;
use crate::people::{NOW, later};
use domain::gpu_busy::{GpuWindow, Sum, window_of};
use domain::gpu_time::{GpuBusy, WINDOW_MILLIS};
use domain::series::Resolution;
use domain::{Endpoint, NanoUsd, ReplicaId, Span, WorkspaceId};
use store::Store;
use store::gauges::{self, Gauge, GaugeReading};
use store::gpu_busy::{self, BusyQuery};
use store::holds::{self, NewHold};
use store::prefill_queues::{self, QueueReading};
use tokio::task::JoinSet;

async fn hold(store: &Store, endpoint: &Endpoint, number: u128, gpus: &[&str]) -> ReplicaId {
    let replica = ReplicaId::new(NOW, number);
    let gpus: Vec<String> = gpus.iter().map(|gpu| (*gpu).to_owned()).collect();
    let mut tx = fleets::fenced(store).await;
    let price_per_gpu_hour = NanoUsd::from_nanos(5);
    let new = NewHold { replica: &replica, endpoint, node: "n", gpus: &gpus, price_per_gpu_hour, started_at: NOW };
    holds::open(&mut tx, new).await.unwrap();
    tx.commit().await.unwrap();
    replica
}

fn sampled(endpoint: &Endpoint, replica: &ReplicaId, gpu: &str, percents: &[u64]) -> (GpuWindow, Sum) {
    let place = GpuWindow {
        window: window_of(NOW),
        endpoint: endpoint.id.clone(),
        replica: replica.clone(),
        gpu: gpu.to_owned(),
    };
    (place, Sum { busy: percents.iter().map(|percent| percent * 10_000).sum(), samples: percents.len() as u64 })
}

async fn write(store: &Store, samples: &[(GpuWindow, Sum)]) {
    let mut tx = store.begin().await.unwrap();
    gpu_busy::add_samples(&mut tx, samples).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_the_mean_over_held_gpus_of_all_nodes() {
    on_both(async |database, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let one = hold(&store, &endpoint, 1, &["a", "b", "c"]).await;
        let other = hold(&store, &endpoint, 2, &["d"]).await;
        let mut nodes = JoinSet::new();
        for samples in [
            vec![sampled(&endpoint, &one, "a", &[40, 60]), sampled(&endpoint, &one, "b", &[0])],
            vec![sampled(&endpoint, &other, "d", &[30])],
            vec![sampled(&endpoint, &other, "d", &[10])],
        ] {
            let store = database.open().await;
            nodes.spawn(async move { write(&store, &samples).await });
        }
        nodes.join_all().await;
        let span = Span { from: window_of(NOW), to: later(WINDOW_MILLIS) };
        // Each replica of this endpoint is held to be of the flavor's size: one GPU. Measured: 50, 0 and 20.
        let query = |by_endpoint| BusyQuery {
            workspace: Some(&endpoint.workspace),
            by_endpoint,
            span,
            step_millis: WINDOW_MILLIS,
            max_rows: 10,
        };
        let windows = gpu_busy::measured(&store, query(true)).await.unwrap();
        assert_eq!((windows.len(), windows[0].windows, windows[0].starts_at), (1, 1, window_of(NOW)));
        let held = u64::from(endpoint.gpu_count()) * 2;
        let expected = 700_000 / held.max(3);
        let busy = windows[0].busy_millionths;
        assert!(busy.abs_diff(expected) <= 1, "{:?}", windows[0]);
        assert_eq!((windows[0].samples, windows[0].endpoint_name.as_str()), (5, endpoint.name.as_str()));
        assert_eq!(windows[0].sampled_millionths, 5 * busy);
        let all = gpu_busy::measured(&store, BusyQuery { workspace: None, ..query(false) }).await.unwrap();
        assert_eq!((all.len(), all[0].endpoint_name.as_str(), all[0].busy_millionths), (1, "", busy));
        let listed = gpu_busy::list(&store, &endpoint.id, span).await.unwrap();
        assert_eq!(listed.get(&window_of(NOW)), Some(&GpuBusy::from_millionths(busy)), "the cost view sees the same");
    })
    .await;
}

#[tokio::test]
async fn readings_are_added_up_per_minute_hour_and_day() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let reading = |seconds: i64, value| GaugeReading {
            workspace: endpoint.workspace.clone(),
            model: "dedicated/x".into(),
            gauge: Gauge::KvCache,
            at: later(seconds * 1_000),
            value,
        };
        for batch in [vec![reading(0, 100), reading(10, 500)], vec![reading(70, 300)]] {
            let mut tx = store.begin().await.unwrap();
            gauges::add(&mut tx, &batch).await.unwrap();
            tx.commit().await.unwrap();
        }
        let span = Span { from: later(-100_000_000), to: later(100_000_000) };
        let read = async |resolution, gauge| {
            let found = gauges::read(&store, &endpoint.workspace, resolution, gauge, span).await.unwrap();
            found.into_iter().map(|one| (one.total, one.highest, one.samples)).collect::<Vec<_>>()
        };
        assert_eq!(read(Resolution::Minute, Gauge::KvCache).await, [(600, 500, 2), (300, 300, 1)]);
        assert_eq!(read(Resolution::Day, Gauge::KvCache).await, [(900, 500, 3)]);
        assert!(read(Resolution::Day, Gauge::Waiting).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn the_queue_of_a_replica_is_that_of_all_nodes_together() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let reading = |replica: &str, seconds: i64, tokens, is_sample| QueueReading {
            workspace: Some(endpoint.workspace.clone()),
            model: "dedicated/x".into(),
            replica: replica.into(),
            at: later(seconds * 1_000),
            tokens,
            is_sample,
        };
        let of_leader = [reading("b", 0, 100, true), reading("a", 0, 0, true), reading("a", 10, 300, true)];
        let of_other = [reading("a", 10, 500, false)];
        for batch in [&of_leader[..], &of_other] {
            let mut tx = store.begin().await.unwrap();
            prefill_queues::add(&mut tx, batch).await.unwrap();
            tx.commit().await.unwrap();
        }
        let span = Span { from: later(-100_000_000), to: later(100_000_000) };
        let read = async |model: Option<&str>, most| {
            let found =
                prefill_queues::read(&store, Some(&endpoint.workspace), Resolution::Minute, span, model, most).await;
            let queue = |one: prefill_queues::QueuedTokens| (one.replica, one.total, one.highest, one.samples);
            let mut found: Vec<_> = found.unwrap().into_iter().map(queue).collect();
            found.sort();
            found
        };
        let expected = [("a".to_owned(), 800, 500, 2), ("b".to_owned(), 100, 100, 1)];
        assert_eq!(read(None, 10).await, expected);
        assert_eq!(read(Some("dedicated/x"), 10).await, expected);
        assert!(read(Some("dedicated/y"), 10).await.is_empty());
        assert_eq!(read(None, 0).await.len(), 1, "one more than asked for");
    })
    .await;
}

#[tokio::test]
async fn the_queues_of_many_replicas_are_stored_together() {
    // With three resolutions more rows than one statement writes.
    const REPLICAS: usize = 100;
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let readings: Vec<QueueReading> = (1..=REPLICAS)
            .map(|number| QueueReading {
                workspace: Some(endpoint.workspace.clone()),
                model: "dedicated/x".into(),
                replica: format!("rep_{number}"),
                at: NOW,
                tokens: number as u64,
                is_sample: true,
            })
            .collect();
        for _ in 0..2 {
            let mut tx = store.begin().await.unwrap();
            prefill_queues::add(&mut tx, &readings).await.unwrap();
            tx.commit().await.unwrap();
        }
        let span = Span { from: later(-100_000_000), to: later(100_000_000) };
        for resolution in Resolution::ALL {
            let found = prefill_queues::read(&store, Some(&endpoint.workspace), resolution, span, None, REPLICAS).await;
            let found = found.unwrap();
            let all_match = found.iter().all(|queue| {
                let number: u64 = queue.replica.strip_prefix("rep_").unwrap().parse().unwrap();
                (queue.total, queue.highest, queue.samples) == (2 * number, number, 2)
            });
            assert!(found.len() == REPLICAS && all_match, "{resolution:?}: {found:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_queues_of_models_belong_to_no_workspace() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let workspace = Some(endpoint.workspace);
        let reading = |workspace: &Option<WorkspaceId>, model: &str, tokens| QueueReading {
            workspace: workspace.clone(),
            model: model.into(),
            replica: "a".into(),
            at: NOW,
            tokens,
            is_sample: true,
        };
        let readings = [
            reading(&workspace, "dedicated/x", 1),
            reading(&None, "acme/x", 20),
            reading(&None, "acme/y", 300),
            reading(&None, "acme/x", 4_000),
        ];
        let mut tx = store.begin().await.unwrap();
        prefill_queues::add(&mut tx, &readings).await.unwrap();
        tx.commit().await.unwrap();
        let span = Span { from: later(-100_000_000), to: later(100_000_000) };
        let read = async |workspace: &Option<WorkspaceId>, model: Option<&str>| {
            let found =
                prefill_queues::read(&store, workspace.as_ref(), Resolution::Hour, span, model, 10).await.unwrap();
            let mut totals: Vec<_> = found.into_iter().map(|one| (one.model, one.total)).collect();
            totals.sort();
            totals
        };
        let total = |model: &str, total: u64| (model.to_owned(), total);
        assert_eq!(read(&workspace, None).await, [total("dedicated/x", 1)]);
        assert!(read(&workspace, Some("acme/x")).await.is_empty());
        assert_eq!(read(&None, None).await, [total("acme/x", 4_020), total("acme/y", 300)]);
        assert_eq!(read(&None, Some("acme/x")).await, [total("acme/x", 4_020)]);
    })
    .await;
}
