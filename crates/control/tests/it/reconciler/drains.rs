use super::stage::Stage;
use crate::databases::on_both;
use domain::endpoint::replica::ReplicaState;
use serde_json::json;

#[tokio::test]
async fn the_least_busy_goes_and_only_when_every_gateway_has_let_it_go() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 2})).await;
        stage.after(1).await;
        stage.everyone_is_well().await;
        let live = stage.live().await;
        let (busy, idle) = (&live[1].id, &live[0].id);
        stage.report("me", 1, &[(busy, true, 1), (idle, true, 1)]).await;
        stage.report("other", 3, &[(busy, true, 3), (idle, true, 0)]).await;
        stage.platform.patch("chat", json!({"replicas": 1})).await.unwrap();
        stage.after(1).await;
        assert_eq!(stage.told().await, "serving () 1/1");
        let goes = stage.live().await.into_iter().find(|one| one.state() == ReplicaState::Draining).unwrap();
        assert_eq!(goes.id, *idle, "the other one has more to do");

        stage.report("me", 1, &[(busy, true, 1), (idle, false, 1)]).await;
        stage.after(10).await;
        assert!(!stage.puppets.is_stopped(idle), "it has a call left, and the other node still sends it some");
        stage.report("me", 0, &[(busy, true, 0), (idle, false, 0)]).await;
        stage.after(10).await;
        assert!(!stage.puppets.is_stopped(idle), "the other node has not heard of it");
        stage.report("other", 3, &[(busy, true, 3), (idle, false, 0)]).await;
        stage.after(1).await;
        let kinds: Vec<_> = stage.events().await.iter().map(|event| event.kind.as_str()).collect();
        assert!(kinds.ends_with(&["replica.drained", "replica.released"]), "{kinds:?}");
        assert_eq!(stage.live().await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn past_its_limit_a_drain_is_over() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        stage.everyone_is_well().await;
        let replica = stage.live().await.remove(0).id;
        stage.report("me", 1, &[(&replica, false, 1)]).await;
        stage.platform.suspend("chat").await.unwrap();
        stage.after(1).await;
        stage.after(118).await;
        assert!(!stage.puppets.is_stopped(&replica), "a suspend leaves two minutes");
        stage.after(3).await;
        assert_eq!((stage.live().await.len(), stage.told().await.as_str()), (0, "suspended () 0/0"));
    })
    .await;
}

#[tokio::test]
async fn a_replica_that_was_told_to_end_is_not_kept_for_a_call() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"minReplicas": 0, "maxReplicas": 1, "scaleToZeroWindowSeconds": 60})).await;
        stage.after(1).await;
        stage.everyone_is_well().await;
        let first = stage.live().await.remove(0).id;
        let told = async |stage: &Stage| stage.report("me", 0, &[(&first, true, 0)]).await;
        told(&stage).await;
        for _ in 0..7 {
            stage.after(10).await;
            told(&stage).await;
        }
        assert_eq!(stage.told().await, "scaled-to-zero () 0/0");
        let id = stage.id().await;
        // A call in the gap keeps the replica that drains.
        control::endpoints::wake(&stage.platform.store, &id, 1, crate::NOW).await.unwrap();
        stage.after(1).await;
        assert_eq!((stage.told().await.as_str(), stage.live().await.len()), ("serving () 1/1", 1));
        assert_eq!(stage.live().await[0].id, first);

        for _ in 0..8 {
            stage.after(10).await;
            told(&stage).await;
        }
        stage.report("me", 0, &[(&first, false, 0)]).await;
        stage.after(3).await;
        assert!(stage.live().await.is_empty(), "nobody kept it this time");
        control::endpoints::wake(&stage.platform.store, &id, 1, crate::NOW).await.unwrap();
        stage.after(1).await;
        assert_ne!(stage.live().await[0].id, first);
    })
    .await;
}
