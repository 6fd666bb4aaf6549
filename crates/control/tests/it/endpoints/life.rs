//! Transitions by the reconciler and the autoscaler.

use super::platform::Platform;
use crate::databases::on_both;
use control::endpoints::{self, Note, Transition};
use domain::Endpoint;
use domain::endpoint::State;
use domain::endpoint::failure::FailureReason;
use domain::endpoint::state::{StateReason, Trigger};
use serde_json::json;
use std::sync::Arc;
use store::{StoreError, leader_writes};
use tokio::task::JoinSet;

fn note(message: &str) -> Note {
    Note { part: "reconciler", message: message.into(), data: json!({"n": 1}) }
}

async fn apply(platform: &Platform, endpoint: &Endpoint, trigger: Trigger, message: &str) -> Transition {
    let outcome = endpoints::transition(endpoint, trigger, note(message), platform.now);
    leader_writes::commit(&platform.store, platform.lead().await, &outcome.writes()).await.unwrap();
    outcome
}

async fn reach(platform: &Platform, name: &str, triggers: &[Trigger]) -> Endpoint {
    for trigger in triggers {
        apply(platform, &platform.show(name).await, *trigger, "").await;
    }
    platform.show(name).await
}

#[tokio::test]
async fn a_transition_by_the_service_is_recorded_as_an_event() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        platform.create("chat", "1x", json!({"minReplicas": 0, "maxReplicas": 4})).await.unwrap();
        let created = platform.show("chat").await;
        let Transition::Changed(changed) = apply(&platform, &created, Trigger::Ready, "").await else { panic!() };
        let serving = changed.endpoint;
        assert_eq!((serving.state, serving.reason), (State::Serving, StateReason::Plain));
        assert_eq!(apply(&platform, &serving, Trigger::Ready, "").await, Transition::Unchanged);
        let scaled = apply(&platform, &serving, Trigger::Autoscaled { desired: 3 }, "1 → 3: because").await;
        let Transition::Changed(changed) = scaled else { panic!() };
        let scaled = changed.endpoint;
        assert_eq!((scaled.status.desired, scaled.message.as_str()), (3, ""));
        assert!(matches!(apply(&platform, &scaled, Trigger::Idle, "").await, Transition::NotApplicable(_)));
        assert_eq!(platform.events("chat").await, ["created", "state-changed", "scaled"]);
        let filter = store::endpoint_events::Filter::default();
        let events = store::endpoint_events::list(&platform.store, &scaled.id, filter, 1).await.unwrap();
        assert_eq!((events[0].message.as_str(), events[0].actor.id()), ("1 → 3: because", "reconciler"));
    })
    .await;
}

#[tokio::test]
async fn a_transition_of_a_stale_record_is_rejected() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 8).await;
        platform.create("chat", "1x", json!({})).await.unwrap();
        let old = platform.show("chat").await;
        platform.suspend("chat").await.unwrap();
        let outcome = endpoints::transition(&old, Trigger::Ready, note(""), platform.now);
        let stale = leader_writes::commit(&platform.store, platform.lead().await, &outcome.writes()).await;
        assert!(matches!(stale, Err(StoreError::EndpointStale)), "{stale:?}");
        assert_eq!(platform.show("chat").await.state, State::Suspended);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_wakes_start_an_endpoint_once() {
    on_both(async |_, store| {
        let platform = Arc::new(Platform::new(store, 8).await);
        let body = json!({"minReplicas": 0, "maxReplicas": 4, "autoscalingTarget": 10});
        platform.create("chat", "1x", body).await.unwrap();
        let asleep = reach(&platform, "chat", &[Trigger::Ready, Trigger::Idle]).await;
        assert_eq!((asleep.state, asleep.status.desired), (State::ScaledToZero, 0));
        let mut crowd = JoinSet::new();
        for _ in 0..6 {
            let (platform, id) = (Arc::clone(&platform), asleep.id.clone());
            crowd.spawn(async move { endpoints::wake(&platform.store, &id, 25, platform.now).await.unwrap().unwrap() });
        }
        for woken in crowd.join_all().await {
            assert_eq!((woken.state, woken.status.desired), (State::Provisioning, 3));
            assert_eq!(woken.reason, StateReason::ColdStart);
        }
        let events = platform.events("chat").await;
        assert_eq!(
            events.iter().filter(|kind| *kind == "state-changed").count(),
            3,
            "ready, asleep, awake: {events:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_failed_endpoint_keeps_its_commitment_and_can_be_retried() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 4).await;
        platform.create("chat", "4x", json!({})).await.unwrap();
        let failed = reach(&platform, "chat", &[Trigger::StartFailed(FailureReason::CrashLoop)]).await;
        assert_eq!((failed.state, failed.reason.as_str(), failed.committed_gpus), (State::Failed, "crash-loop", 4));
        assert!(failed.message.contains("five times"), "{}", failed.message);
        let retried = platform.resume("chat", json!({})).await.unwrap().endpoint.unwrap();
        assert_eq!((retried.state, retried.reason), (State::Provisioning, StateReason::Retry));
    })
    .await;
}

#[tokio::test]
async fn a_deleted_endpoint_is_gone_once_its_last_hold_is_released_and_its_name_is_free() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 4).await;
        platform.create("chat", "4x", json!({})).await.unwrap();
        platform.delete("chat").await.unwrap();
        let taken = platform.create("chat", "1x", json!({})).await.unwrap_err();
        assert_eq!(taken.code(), "ENDPOINT_NAME_IN_USE");
        let deleting = platform.show("chat").await;
        let outcome = apply(&platform, &deleting, Trigger::LastHoldReleased, "").await;
        assert!(matches!(outcome, Transition::Gone(_)), "{outcome:?}");
        let gone = platform.delete("chat").await.unwrap_err();
        assert_eq!(gone.code(), "ENDPOINT_NOT_FOUND");
        platform.create("chat", "1x", json!({})).await.unwrap();
    })
    .await;
}
