//! Draining replicas.

use super::stage::Stage;
use crate::databases::on_both;
use domain::endpoint::replica::ReplicaState;
use serde_json::json;

#[tokio::test]
async fn the_least_busy_replica_is_stopped_once_every_node_has_drained_it() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 2})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        let live = stage.live().await;
        let (busy, idle) = (&live[1].id, &live[0].id);
        stage.report("me", 1, &[(busy, true, 1), (idle, true, 1)]).await;
        stage.report("other", 3, &[(busy, true, 3), (idle, true, 0)]).await;
        stage.platform.patch("chat", json!({"replicas": 1})).await.unwrap();
        stage.after(1).await;
        assert_eq!(stage.summary().await, "serving () 1/1");
        let goes = stage.live().await.into_iter().find(|one| one.state() == ReplicaState::Draining).unwrap();
        assert_eq!(goes.id, *idle, "the other one is busier");

        stage.report("me", 1, &[(busy, true, 1), (idle, false, 1)]).await;
        stage.after(10).await;
        assert!(!stage.driver.is_stopped(idle), "it has a call left, and the other node still routes to it");
        stage.report("me", 0, &[(busy, true, 0), (idle, false, 0)]).await;
        stage.after(10).await;
        assert!(!stage.driver.is_stopped(idle), "the other node still routes to it");
        stage.report("other", 3, &[(busy, true, 3), (idle, false, 0)]).await;
        stage.after(1).await;
        let kinds: Vec<_> = stage.events().await.iter().map(|event| event.kind.as_str()).collect();
        assert!(kinds.ends_with(&["replica.drained", "replica.released"]), "{kinds:?}");
        assert_eq!(stage.live().await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_drain_ends_at_its_deadline() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        let replica = stage.live().await.remove(0).id;
        stage.report("me", 1, &[(&replica, false, 1)]).await;
        stage.platform.suspend("chat").await.unwrap();
        stage.after(1).await;
        stage.after(118).await;
        assert!(!stage.driver.is_stopped(&replica), "a suspend leaves two minutes");
        stage.after(3).await;
        assert_eq!((stage.live().await.len(), stage.summary().await.as_str()), (0, "suspended () 0/0"));
    })
    .await;
}

#[tokio::test]
async fn a_draining_replica_is_kept_for_a_call_but_a_stopped_one_is_not() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"minReplicas": 0, "maxReplicas": 1, "scaleToZeroWindowSeconds": 60})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        let first = stage.live().await.remove(0).id;
        let report_idle = async |stage: &Stage| stage.report("me", 0, &[(&first, true, 0)]).await;
        report_idle(&stage).await;
        for _ in 0..7 {
            stage.after(10).await;
            report_idle(&stage).await;
        }
        assert_eq!(stage.summary().await, "scaled-to-zero () 0/0");
        let id = stage.id().await;
        // A call during the drain keeps the replica.
        control::endpoints::wake(&stage.platform.store, &id, 1, crate::NOW).await.unwrap();
        stage.after(1).await;
        assert_eq!((stage.summary().await.as_str(), stage.live().await.len()), ("serving () 1/1", 1));
        assert_eq!(stage.live().await[0].id, first);

        for _ in 0..8 {
            stage.after(10).await;
            report_idle(&stage).await;
        }
        stage.report("me", 0, &[(&first, false, 0)]).await;
        stage.after(3).await;
        assert!(stage.live().await.is_empty(), "it was not kept this time");
        control::endpoints::wake(&stage.platform.store, &id, 1, crate::NOW).await.unwrap();
        stage.after(1).await;
        assert_ne!(stage.live().await[0].id, first);
    })
    .await;
}
