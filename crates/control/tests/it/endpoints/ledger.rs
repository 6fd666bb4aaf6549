//! The GPU allotment under concurrent commands.

use super::platform::{Platform, endpoint_ref, gpu_type, new, outcome_text};
use crate::databases::on_both;
use crate::{NOW, command};
use control::endpoints::{self, EndpointCommand, EndpointError, RunMode};
use control::{Command, allotments};
use domain::allotment::AllotmentError;
use domain::endpoint::State;
use domain::endpoint::state::Trigger;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Engine;
use tokio::task::JoinSet;

async fn cap(platform: &Platform, gpus: u64) -> allotments::AllotmentLine {
    let (organization, defaults) = (&platform.workspace.organization, &platform.defaults);
    allotments::set(command(&platform.store), organization, &gpu_type(), Some(gpus), defaults).await.unwrap()
}

async fn apply(platform: &Platform, name: &str, trigger: Trigger) {
    let endpoint = platform.show(name).await;
    let note = endpoints::Note { part: "reconciler", message: String::new(), data: json!({}) };
    let outcome = endpoints::transition(&endpoint, trigger, note, NOW);
    store::leader_writes::commit(&platform.store, platform.lead().await, &outcome.writes()).await.unwrap();
}

#[tokio::test]
async fn the_worked_table() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 16).await;
        let p = &platform;
        assert_eq!(outcome_text(p, p.create("a", "4x", json!({"replicas": 2})).await).await, "committed 8", "row 1");
        let create = p.create("b", "1x", json!({"minReplicas": 1, "maxReplicas": 4})).await;
        assert_eq!(outcome_text(p, create).await, "committed 12", "row 2");
        let create = p.create("d", "2x", json!({"minReplicas": 0, "maxReplicas": 3})).await;
        assert_eq!(outcome_text(p, create).await, "16/12/18/2", "row 3");
        let create = p.create("d", "2x", json!({"minReplicas": 0, "maxReplicas": 2})).await;
        assert_eq!(outcome_text(p, create).await, "committed 16", "row 4");
        apply(p, "d", Trigger::Ready).await;
        apply(p, "d", Trigger::Idle).await;
        assert_eq!((p.show("d").await.state, p.committed().await), (State::ScaledToZero, 16), "row 5");
        let before = p.show("b").await;
        assert_eq!(outcome_text(p, p.patch("b", json!({"maxReplicas": 5})).await).await, "16/16/17/1", "row 6");
        assert_eq!(p.show("b").await, before, "row 6: unchanged");
        assert_eq!(outcome_text(p, p.patch("b", json!({"maxReplicas": 2})).await).await, "committed 14", "row 7");
        assert_eq!(outcome_text(p, p.patch("a", json!({"replicas": 3})).await).await, "16/14/18/2", "row 8");
        assert_eq!(outcome_text(p, p.patch("b", json!({"minReplicas": 0})).await).await, "committed 14", "row 9");
        assert_eq!(outcome_text(p, p.suspend("a").await).await, "committed 6", "row 10");
        assert_eq!(outcome_text(p, p.patch("a", json!({"replicas": 3})).await).await, "committed 6", "row 11");
        assert_eq!(outcome_text(p, p.resume("a", json!({})).await).await, "16/6/18/2", "row 12");
        assert_eq!(p.show("a").await.state, State::Suspended, "row 12");
        assert_eq!(outcome_text(p, p.resume("a", json!({"replicas": 2})).await).await, "committed 14", "row 13");
        let cut = cap(p, 10).await;
        assert_eq!((cut.committed, cut.headroom), (14, -4), "row 14");
        assert!((cut.utilization - 1.4).abs() < 1e-12, "row 14");
        assert_eq!(outcome_text(p, p.patch("b", json!({"maxReplicas": 1})).await).await, "committed 13", "row 15");
        assert_eq!(outcome_text(p, p.create("e", "1x", json!({"replicas": 1})).await).await, "10/13/14/4", "row 16");

        cap(p, 16).await;
        let one = json!({"replicas": 1});
        let (first, second) = tokio::join!(p.create("f", "3x", one.clone()), p.create("g", "3x", one));
        let (won, lost) = if first.is_ok() { (first, second) } else { (second, first) };
        assert_eq!(outcome_text(p, won).await, "committed 16", "row 17");
        assert_eq!(outcome_text(p, lost).await, "16/16/19/3", "row 17");
        let patch = p.patch("a", json!({"minReplicas": 1, "maxReplicas": 1})).await;
        assert_eq!(outcome_text(p, patch).await, "committed 12", "row 18");
        apply(p, "a", Trigger::Ready).await;
        assert_eq!(outcome_text(p, p.delete("a").await).await, "committed 8", "row 20");
        assert_eq!(p.show("a").await.state, State::Deleting);
        assert_eq!(endpoints::find_differences(&p.store).await.unwrap(), []);
        let rejections = p.events("b").await.into_iter().filter(|kind| kind == "allotment.rejected");
        assert_eq!(rejections.count(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_creates_commit_exactly_the_cap() {
    on_both(async |database, store| {
        let several = store.engine() == Engine::Postgres;
        let platform = Arc::new(Platform::new(store, 10).await);
        let mut stores = Vec::new();
        for _ in 0..3 {
            stores.push(if several { database.open().await } else { platform.store.clone() });
        }
        let mut creates = JoinSet::new();
        for number in 0..50 {
            let (platform, store) = (Arc::clone(&platform), stores[number % 3].clone());
            creates.spawn(async move {
                let command = platform.command();
                let command = EndpointCommand { base: Command { store: &store, ..command.base }, ..command };
                let body = new(&format!("e{number}"), "1x", json!({"replicas": 1}));
                endpoints::create(command, &body, RunMode::Real).await
            });
        }
        let (mut created, mut rejected) = (0, 0);
        for outcome in creates.join_all().await {
            match outcome {
                Ok(_) => created += 1,
                Err(EndpointError::AllotmentExceeded(why)) => {
                    rejected += 1;
                    let numbers = why.numbers;
                    assert_eq!((numbers.projected, numbers.need), (numbers.committed + 1, numbers.projected - 10));
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!((created, rejected, platform.committed().await), (10, 40, 10));
        assert_eq!(endpoints::find_differences(&platform.store).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn row_19_a_locked_ledger_is_unavailable_and_commands_without_a_check_still_work() {
    on_both(async |database, store| {
        if store.engine() == Engine::Sqlite {
            return; // one lock for all
        }
        let platform = Platform::new(store, 16).await;
        for name in ["a", "b", "c"] {
            platform.create(name, "1x", json!({"replicas": 2})).await.unwrap();
        }
        platform.suspend("c").await.unwrap();
        let other = database.open().await;
        let mut holder = other.begin_ledger().await.unwrap();
        let organization = &platform.workspace.organization;
        store::allotments::lock(&mut holder, organization, &gpu_type(), &platform.defaults).await.unwrap();

        let started = Instant::now();
        let create = platform.create("d", "1x", json!({})).await.unwrap_err();
        assert_eq!(create.code(), "GPU_ALLOTMENT_UNAVAILABLE", "{create:?}");
        assert!((1..4).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
        for rejected in [platform.resume("c", json!({})).await, platform.patch("a", json!({"replicas": 3})).await] {
            assert_eq!(rejected.unwrap_err().code(), "GPU_ALLOTMENT_UNAVAILABLE");
        }
        let goes_on = tokio::time::timeout(Duration::from_secs(3), async {
            platform.show("a").await;
            endpoints::list(&platform.store, platform.scope(), store::endpoints::Filter::default(), 20).await.unwrap();
            let model = &domain::ModelId::parse("acme/tiny").unwrap();
            let flavors = endpoints::flavors(&platform.store, platform.rules(), organization, model).await.unwrap();
            assert_eq!(flavors[0].fits, Some(true));
            platform.patch("a", json!({"replicas": 1})).await.unwrap();
            platform.suspend("a").await.unwrap();
            platform.delete("b").await.unwrap();
        });
        goes_on.await.unwrap();
    })
    .await;
}

/// SPEC 7.5: `GPU_ALLOTMENT_UNAVAILABLE` means that the capacity check could not complete, so what needs no check is never
/// rejected with it.
#[tokio::test]
async fn without_the_store_neither_the_allotment_nor_the_endpoints_can_be_read() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 16).await;
        platform.create("a", "1x", json!({})).await.unwrap();
        platform.store.close().await;
        let code = |outcome: Result<endpoints::CommandResponse, EndpointError>| outcome.unwrap_err().code();
        assert_eq!(code(platform.create("b", "1x", json!({})).await), "GPU_ALLOTMENT_UNAVAILABLE");
        assert_eq!(code(platform.patch("a", json!({"replicas": 1})).await), "GPU_ALLOTMENT_UNAVAILABLE");
        assert_eq!(code(platform.resume("a", json!({})).await), "GPU_ALLOTMENT_UNAVAILABLE");
        let labels = platform.patch("a", json!({"labels": {"team": "chat"}})).await;
        assert_eq!(code(labels), "DATABASE_UNAVAILABLE", "labels need no check");
        assert_eq!(code(platform.suspend("a").await), "DATABASE_UNAVAILABLE");
        assert_eq!(code(platform.delete("a").await), "DATABASE_UNAVAILABLE");
        let read = endpoints::show(&platform.store, platform.scope(), &endpoint_ref("a")).await;
        assert_eq!(read.unwrap_err().code(), "DATABASE_UNAVAILABLE");
        let organization = &platform.workspace.organization;
        let model = &domain::ModelId::parse("acme/tiny").unwrap();
        let flavors = endpoints::flavors(&platform.store, platform.rules(), organization, model).await.unwrap();
        assert_eq!((flavors.len(), flavors[0].fits, flavors[0].replicas_that_fit), (5, None, None));
    })
    .await;
}

#[tokio::test]
async fn a_rejection_carries_its_numbers() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 3).await;
        let Err(EndpointError::AllotmentExceeded(why)) = platform.create("chat", "4x", json!({})).await else {
            panic!()
        };
        let expected = AllotmentError { allotment: 3, committed: 0, projected: 4, need: 1 };
        assert_eq!((why.gpu_type.as_str(), &why.numbers), ("nvidia/h100", &expected));
        let sentence = "Creating chat needs 1 more nvidia/h100 GPUs than the organization's allotment.";
        assert_eq!(EndpointError::AllotmentExceeded(why).to_string(), sentence);
    })
    .await;
}
