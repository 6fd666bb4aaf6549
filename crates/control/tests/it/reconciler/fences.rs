//! Former leaders and lost nodes.

use super::stage::Stage;
use crate::NOW;
use crate::databases::on_both;
use control::reconciler::RoundError;
use domain::endpoint::FailureClass;
use serde_json::json;
use store::nodes::{self, Node};
use store::{StoreError, holds, leader, replicas};

#[tokio::test]
async fn a_former_leader_writes_nothing_and_starts_nothing() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store.clone()).await;
        stage.create(json!({"replicas": 1})).await;
        let old = stage.epoch;
        let seen = leader::read(&store).await.unwrap();
        leader::take_over(&store, &seen, "another", NOW).await.unwrap().unwrap();
        let rejected = stage.round_in(old).await;
        assert!(
            matches!(rejected, Err(RoundError::Store(StoreError::NotLeader { epoch })) if epoch == old),
            "{rejected:?}"
        );
        assert_eq!((stage.live().await.len(), stage.driver.all().len()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn replicas_of_a_lost_node_end_when_they_were_last_seen() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store.clone()).await;
        stage.create(json!({"replicas": 1})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        // Move it to another machine, which cannot be observed from here.
        let mut replica = stage.live().await.remove(0);
        replica.node = Some("elsewhere".into());
        let mut tx = store::Fenced::begin(&store, stage.epoch).await.unwrap();
        replicas::update(&mut tx, &replica).await.unwrap();
        holds::seen(&mut tx, &replica.id, NOW.plus_millis(15_000)).await.unwrap();
        let alive = Node { id: "elsewhere".into(), started_at: NOW, seen_at: NOW, catalogue_hash: String::new() };
        nodes::record(&mut tx, &alive).await.unwrap();
        tx.commit().await.unwrap();
        stage.after(50).await;
        assert_eq!(stage.summary().await, "serving () 1/1", "its node was seen less than a minute ago");
        stage.after(20).await;
        let newest = replicas::newest_of(&store, &replica.endpoint, 9).await.unwrap();
        assert_eq!(newest[0].failure, Some(FailureClass::NodeLost));
        assert_eq!(newest[0].ended_at, Some(NOW.plus_millis(15_000)), "in the customer's favour");
        stage.after(10).await;
        assert_eq!(stage.live().await[0].node.as_deref(), Some("me"));
    })
    .await;
}
