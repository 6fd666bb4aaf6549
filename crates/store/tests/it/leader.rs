use crate::databases::on_both;
use crate::fleets::{self, new_replica};
use crate::people::NOW;
use domain::autoscaler::Memory;
use domain::leadership::{Action, Watch};
use std::time::{Duration, Instant};
use store::{Fenced, StoreError, autoscaler, endpoints, leader, replicas};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn of_many_candidates_one_leads() {
    on_both(async |database, store| {
        let seen = leader::read(&store).await.unwrap();
        let mut nodes = JoinSet::new();
        for node in 0..4 {
            let (store, seen) = (database.open().await, seen.clone());
            nodes.spawn(async move { leader::take_over(&store, &seen, &format!("n{node}"), NOW).await.unwrap() });
        }
        let leaders: Vec<_> = nodes.join_all().await.into_iter().flatten().collect();
        assert_eq!(leaders.len(), 1, "{leaders:?}");
        assert_eq!(leader::read(&store).await.unwrap(), leaders[0]);
    })
    .await;
}

#[tokio::test]
async fn another_node_takes_over_when_the_leader_stops_renewing_and_the_old_one_is_fenced() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let old = fleets::lead(&store, "a").await;
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut watch = Watch::new(leader::read(&store).await.unwrap(), at(0));
        assert!(leader::renew(&store, old.epoch, "a", NOW).await.unwrap());
        let term = leader::read(&store).await.unwrap();
        assert_eq!(watch.observe(&term, "b", at(9)), Action::Wait);
        assert!(leader::take_over(&store, &old, "b", NOW).await.unwrap().is_none(), "it was renewed since");
        assert_eq!(watch.observe(&term, "b", at(19)), Action::TakeOver);
        let new = leader::take_over(&store, &term, "b", NOW).await.unwrap().unwrap();
        assert_eq!(new.epoch, old.epoch + 1);

        assert!(!leader::renew(&store, old.epoch, "a", NOW).await.unwrap());
        let late = Fenced::begin(&store, old.epoch).await.err();
        assert!(matches!(late, Some(StoreError::NotLeader { epoch }) if epoch == old.epoch), "{late:?}");

        let mut tx = Fenced::begin(&store, new.epoch).await.unwrap();
        let seen = endpoint.generation;
        endpoints::update_as_leader(&mut tx, endpoint.clone(), seen, 120).await.unwrap();
        replicas::insert(&mut tx, &new_replica(&endpoint, 1)).await.unwrap();
        tx.commit().await.unwrap();

        assert!(leader::resign(&store, new.epoch, "b").await.unwrap());
        assert_eq!(watch.observe(&leader::read(&store).await.unwrap(), "c", at(20)), Action::TakeOver);
    })
    .await;
}

#[tokio::test]
async fn the_autoscalers_memory_survives_a_restart() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        assert_eq!(autoscaler::recall(&store, &endpoint.id).await.unwrap(), None);
        for current in [3, 4] {
            let memory = Memory::seeded(current, NOW);
            let mut tx = fleets::fenced(&store).await;
            autoscaler::remember(&mut tx, &endpoint.id, &memory).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(autoscaler::recall(&store, &endpoint.id).await.unwrap(), Some(memory));
        }
    })
    .await;
}
