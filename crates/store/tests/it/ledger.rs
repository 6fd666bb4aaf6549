use crate::databases::on_both;
use crate::fleets::{self, cpu, defaults, new_endpoint};
use crate::people;
use domain::allotment::Ledger;
use domain::endpoint::scaling::ScalingPatch;
use std::time::{Duration, Instant};
use store::{Engine, allotments, endpoints};

#[tokio::test]
async fn the_ledger_is_the_sum_of_commitments_under_the_cap_or_the_default() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let organization = &workspace.organization;
        let read = async || allotments::read(&store, organization, &cpu(), &defaults(8)).await.unwrap();
        assert_eq!(read().await, Ledger { allotment: 8, committed: 0 });

        let mut tx = store.begin_ledger().await.unwrap();
        let new = new_endpoint(&workspace, "a", 2, ScalingPatch { replicas: Some(3), ..ScalingPatch::default() });
        assert_eq!(allotments::lock(&mut tx, organization, &cpu(), &defaults(8)).await.unwrap().committed, 0);
        endpoints::insert(&mut tx, &new, 120).await.unwrap();
        tx.commit_or_unknown().await.unwrap();
        assert_eq!(read().await, Ledger { allotment: 8, committed: 6 });
        let other_default = allotments::read(&store, organization, &cpu(), &defaults(9)).await.unwrap();
        assert_eq!(other_default.allotment, 9, "until it has a cap of its own it follows the default");

        for (own, allotment) in [(Some(4), 4), (Some(0), 0), (None, 8)] {
            let mut tx = store.begin().await.unwrap();
            allotments::set(&mut tx, organization, &cpu(), own).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(read().await, Ledger { allotment, committed: 6 });
        }
        let listed = allotments::list(&store, organization, &defaults(8)).await.unwrap();
        assert_eq!(listed.into_iter().collect::<Vec<_>>(), [(cpu(), Ledger { allotment: 8, committed: 6 })]);
    })
    .await;
}

#[tokio::test]
async fn a_locked_ledger_is_unavailable_within_its_timeout_and_blocks_nothing_else() {
    on_both(async |database, store| {
        if store.engine() == Engine::Sqlite {
            return; // one lock for all
        }
        let workspace = people::workspace(&store).await;
        let endpoint = fleets::endpoint(&store, &workspace, "a").await;
        let other = database.open().await;
        let mut holder = other.begin_ledger().await.unwrap();
        allotments::lock(&mut holder, &workspace.organization, &cpu(), &defaults(8)).await.unwrap();

        let started = Instant::now();
        let mut tx = store.begin_ledger().await.unwrap();
        let rejected = allotments::lock(&mut tx, &workspace.organization, &cpu(), &defaults(8)).await.unwrap_err();
        assert!(rejected.is_unavailable() && !rejected.is_contention(), "{rejected:?}");
        assert!((1..4).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
        drop(tx);

        let quick = tokio::time::timeout(Duration::from_secs(1), async {
            let seen = endpoint.generation;
            let mut tx = store.begin().await.unwrap();
            endpoints::update(&mut tx, endpoint.clone(), seen, 120).await.unwrap();
            tx.commit().await.unwrap();
            allotments::list(&store, &workspace.organization, &defaults(8)).await.unwrap();
            endpoints::list_all(&store).await.unwrap();
        });
        quick.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_clock_of_the_store_is_close_to_ours() {
    on_both(async |_, store| {
        let ours = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let theirs = u128::from(store.clock().await.unwrap().millis().unsigned_abs());
        assert!(ours.abs_diff(theirs) < 5_000, "{ours} {theirs}");
    })
    .await;
}
