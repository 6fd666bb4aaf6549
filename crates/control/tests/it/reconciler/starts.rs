//! Starting and restarting replicas.

use super::stage::Stage;
use crate::databases::on_both;
use domain::endpoint::FailureClass;
use fleet::engine::ProbeResult;
use serde_json::json;
use store::replicas;

#[tokio::test]
async fn a_start_timeout_fails_the_endpoint_and_is_not_billed() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        stage.after(1_790).await;
        assert_eq!(stage.summary().await, "provisioning (created) 0/1");
        let slow = stage.live().await.remove(0);
        stage.after(20).await;
        assert_eq!(stage.summary().await, "failed (start-timeout) 0/0");
        let newest = replicas::newest_of(&stage.platform.store, &slow.endpoint, 9).await.unwrap();
        assert_eq!((newest.len(), newest[0].failure), (1, Some(FailureClass::StartTimeout)));
        let span = domain::Span { from: crate::NOW, to: crate::NOW.plus_millis(10_000_000) };
        let holds = store::holds::of_endpoint(&stage.platform.store, &slow.endpoint, span).await.unwrap();
        assert_eq!((holds.len(), holds[0].hold.billable, holds[0].hold.ended_at.is_some()), (1, false, true));
        assert_eq!(stage.platform.committed().await, 1, "the commitment is kept for a retry");
    })
    .await;
}

#[tokio::test]
async fn starts_are_retried_with_a_growing_backoff_and_five_crashes_in_15_minutes_are_a_crash_loop() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        for pause in [10, 20, 40, 80] {
            let replica = stage.live().await.remove(0);
            stage.driver.crash(&replica.id);
            stage.after(pause - 1).await;
            stage.after(0).await;
            assert_eq!(stage.live().await.len(), 0, "its end is seen {} s before the next start", pause - 1);
            stage.after(pause).await;
            assert_eq!(stage.live().await.len(), 1, "after {pause} s");
        }
        let last = stage.live().await.remove(0);
        stage.driver.crash(&last.id);
        stage.after(1).await;
        assert_eq!(stage.summary().await, "failed (crash-loop) 0/0");
        let record = stage.platform.show("chat").await;
        assert_eq!(record.message, "boom", "the last error is the message");

        stage.platform.now = stage.now();
        stage.platform.resume("chat", json!({})).await.unwrap();
        stage.after(1).await;
        assert_eq!(stage.summary().await, "provisioning (retry) 0/1");
        let fresh = stage.live().await.remove(0);
        stage.driver.crash(&fresh.id);
        stage.after(1).await;
        assert_eq!(stage.summary().await, "provisioning (retry) 0/1", "a fresh budget");
    })
    .await;
}

#[tokio::test]
async fn a_crash_counts_even_if_its_machines_clock_is_wrong() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        for (pause, clock) in [(10, -3_600), (20, 3_600)] {
            let replica = stage.live().await.remove(0);
            stage.driver.crash_with_clock_skew(clock, &replica.id);
            stage.after(0).await;
            stage.after(pause - 1).await;
            assert_eq!(stage.live().await.len(), 0, "{} s after an end by a clock off by {clock} s", pause - 1);
            stage.after(1).await;
            assert_eq!(stage.live().await.len(), 1, "{pause} s after it");
            let newest = replicas::newest_of(&stage.platform.store, &replica.endpoint, 9).await.unwrap();
            let ended = newest.iter().find(|one| one.id == replica.id).unwrap();
            assert_eq!(ended.ended_at.map(|at| stage.now().millis_since(at)), Some(pause.unsigned_abs() * 1_000));
        }
    })
    .await;
}

#[tokio::test]
async fn a_replica_is_billed_until_it_was_last_seen_even_if_its_machines_clock_is_behind() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        stage.after(600).await;
        let replica = stage.live().await.remove(0);
        stage.driver.crash_with_clock_skew(-7_200, &replica.id);
        stage.after(1).await;
        let newest = replicas::newest_of(&stage.platform.store, &replica.endpoint, 9).await.unwrap();
        let ended = newest.iter().find(|one| one.id == replica.id).unwrap();
        assert_eq!(ended.ended_at.map(|at| stage.now().millis_since(at)), Some(1_000));
    })
    .await;
}

#[tokio::test]
async fn while_another_serves_a_failing_replica_only_degrades_the_endpoint() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 2})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        assert_eq!(stage.summary().await, "serving () 2/2");
        let healthy = stage.live().await[0].id.clone();
        for _ in 0..7 {
            let others: Vec<_> = stage.live().await.into_iter().filter(|replica| replica.id != healthy).collect();
            for replica in others {
                stage.driver.crash(&replica.id);
            }
            stage.after(1).await;
            assert_eq!(stage.summary().await, "serving (degraded) 1/2");
            stage.after(300).await;
        }
        stage.all_become_healthy().await;
        assert_eq!(stage.summary().await, "serving () 2/2");
    })
    .await;
}

#[tokio::test]
async fn a_replica_that_hangs_gets_no_calls_and_is_replaced() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        let first = stage.live().await.remove(0).id;
        stage.driver.change(&first, |replica| replica.probe = ProbeResult::Unhealthy("no answer".into()));
        for failures in 1..=2 {
            stage.after(5).await;
            assert_eq!(stage.summary().await, "serving () 1/1", "{failures} failures are tolerated");
        }
        stage.after(5).await;
        assert_eq!(stage.summary().await, "provisioning (recovering) 0/1");
        stage.driver.change(&first, |replica| replica.probe = ProbeResult::Healthy);
        stage.after(5).await;
        assert_eq!(stage.summary().await, "serving () 1/1", "it recovered by itself");

        stage.driver.change(&first, |replica| replica.probe = ProbeResult::Unhealthy("no answer".into()));
        for _ in 1..=11 {
            stage.after(5).await;
            assert!(!stage.driver.is_stopped(&first));
        }
        stage.after(5).await;
        stage.after(1).await;
        let ended = stage.events().await.into_iter().find(|event| event.kind.as_str() == "replica.failed").unwrap();
        assert!(ended.message.contains("health checks: no answer"), "{}", ended.message);
        stage.after(10).await;
        assert_ne!(stage.live().await[0].id, first, "it is replaced");
    })
    .await;
}
