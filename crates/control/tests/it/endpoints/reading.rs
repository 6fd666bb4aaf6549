//! Queries.

use super::platform::{Platform, catalogue, endpoint_ref, gpu_type};
use crate::NOW;
use crate::databases::on_both;
use control::endpoints::FlavorLine;
use control::{endpoints, gpu_prices};
use domain::gpu_time::GpuBusy;
use domain::{Catalogue, Grain, ModelId, NanoUsd, ReplicaId, Span};
use serde_json::json;
use store::holds::{self, NewHold};
use store::{endpoints as rows, gpu_busy};

const HOUR: i64 = 3_600_000;

#[tokio::test]
async fn all_flavors_are_listed_and_marked_if_they_do_not_fit() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 6).await;
        platform.create("a", "3x", json!({"replicas": 1})).await.unwrap();
        let organization = &platform.workspace.organization;
        let model = ModelId::parse("acme/tiny").unwrap();
        let flavors = endpoints::flavors(&platform.store, platform.rules(), organization, &model).await.unwrap();
        let fitting: Vec<_> = flavors.iter().map(|line| (line.fits, line.replicas_that_fit)).collect();
        let fits = |replicas| (Some(replicas > 0), Some(replicas));
        assert_eq!(fitting, [fits(3), fits(1), fits(1), fits(0), fits(3)]);
        let expected = FlavorLine {
            flavor: "4x".into(),
            gpu_type: gpu_type(),
            gpu_count: 4,
            precision: "fp8".into(),
            engine: "vllm",
            fits: Some(false),
            replicas_that_fit: Some(0),
            default_target: 32,
            price_per_gpu_hour: NanoUsd::parse("2.50").unwrap(),
        };
        assert_eq!(flavors[3], expected);
        let unknown = ModelId::parse("acme/none").unwrap();
        let rejected = endpoints::flavors(&platform.store, platform.rules(), organization, &unknown).await.unwrap_err();
        assert_eq!(rejected.code(), "MODEL_NOT_FOUND");
    })
    .await;
}

#[tokio::test]
async fn usage_has_gpu_hours_cost_and_busyness() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        gpu_prices::declare(&platform.store, &platform.catalogue, NOW).await.unwrap();
        platform.create("chat", "2x", json!({})).await.unwrap();
        let endpoint = platform.show("chat").await;
        let hour = Grain::Hour.start_at_or_after(NOW);
        let mut tx = platform.fenced().await;
        for (number, from, to) in [(1, 0, 150), (2, 75, 105)] {
            let replica = ReplicaId::new(NOW, number);
            let gpus = [format!("g{number}"), format!("h{number}")];
            let new = NewHold {
                replica: &replica,
                endpoint: &endpoint,
                node: "n",
                gpus: &gpus,
                price_per_gpu_hour: NanoUsd::ZERO,
                started_at: hour.plus_millis(from * 60_000),
            };
            holds::open(&mut tx, new).await.unwrap();
            holds::close(&mut tx, &replica, hour.plus_millis(to * 60_000), "exit").await.unwrap();
        }
        let busy = GpuBusy::from_millionths(300_000);
        gpu_busy::record(&mut tx, &endpoint.id, hour, busy, true).await.unwrap();
        tx.commit().await.unwrap();

        let span = Span { from: hour, to: hour.plus_millis(24 * HOUR) };
        let now = hour.plus_millis(3 * HOUR);
        let usage = async |span, grain| {
            let report =
                endpoints::usage(&platform.store, platform.scope(), &endpoint_ref("chat"), span, grain, now).await;
            report.unwrap()
        };
        let report = usage(span, Grain::Hour).await;
        let total = report.total;
        assert_eq!((total.gpu_time.to_string(), total.cost.to_string()), ("6.0".into(), "15.00".into()));
        assert_eq!((report.span.to, report.grain), (now, Grain::Hour), "cut at now");
        assert!((total.busy.fraction() - 0.01).abs() < 1e-9, "one of thirty windows was measured");
        let hours: Vec<_> = report.lines.iter().map(|line| line.gpu_time.to_string()).collect();
        assert_eq!(hours, ["2.0", "3.0", "1.0"]);
        let first_half = Span { from: hour, to: hour.plus_millis(HOUR / 2) };
        assert_eq!(usage(first_half, Grain::Day).await.total.gpu_time.to_string(), "1.0");
    })
    .await;
}

#[tokio::test]
async fn a_changed_price_opens_a_version_and_a_dropped_flavor_keeps_its_last() {
    on_both(async |_, store| {
        let declared = catalogue();
        assert_eq!(gpu_prices::declare(&store, &declared, NOW).await.unwrap(), 5);
        assert_eq!(gpu_prices::declare(&store, &declared, NOW).await.unwrap(), 0);
        let mut model = declared.iter().next().unwrap().as_ref().clone();
        model.flavors.truncate(2);
        model.flavors[0].price_per_gpu_hour = NanoUsd::from_nanos(7);
        let changed = Catalogue::new(vec![model.clone()], "hash");
        assert_eq!(gpu_prices::declare(&store, &changed, NOW.plus_millis(-5)).await.unwrap(), 1);
        let history = store::gpu_prices::of_flavor(&store, &model.id, "1x").await.unwrap();
        let moments: Vec<_> = history.iter().map(|version| version.valid_from).collect();
        assert_eq!(moments, [NOW, NOW.plus_millis(1)], "in order, even if a clock was set back");
        assert_eq!(store::gpu_prices::of_flavor(&store, &model.id, "4x").await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn differences_of_the_ledger_are_reported_but_not_corrected() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        platform.create("chat", "2x", json!({})).await.unwrap();
        assert_eq!(endpoints::find_differences(&platform.store).await.unwrap(), []);
        let mut wrong = platform.show("chat").await;
        let seen = wrong.generation;
        wrong.committed_gpus = 5;
        let mut tx = platform.store.begin().await.unwrap();
        rows::update(&mut tx, wrong, seen, 120).await.unwrap();
        tx.commit().await.unwrap();
        for _ in 0..2 {
            let found = endpoints::find_differences(&platform.store).await.unwrap();
            assert_eq!((found.len(), found[0].written, found[0].expected), (1, 5, 2));
        }
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_keeps_its_flavor_when_the_catalogue_drops_it() {
    on_both(async |_, store| {
        let mut platform = Platform::new(store, 8).await;
        platform.create("chat", "2x", json!({})).await.unwrap();
        platform.suspend("chat").await.unwrap();
        platform.catalogue = Catalogue::default();
        let resumed = platform.resume("chat", json!({"maxReplicas": 2})).await.unwrap().endpoint.unwrap();
        assert_eq!(resumed.committed_gpus, 4);
        let shape = resumed.shape.effective(&resumed.model, &platform.catalogue);
        assert_eq!((shape.flavor.weights.as_deref(), &shape.flavor.gpu_type), (Some("weights"), &gpu_type()));
    })
    .await;
}
