use crate::databases::on_both;
use crate::people::{NOW, later};
use domain::Timestamp;
use domain::attempts::Policy;
use store::{Store, StoreError, attempts};
use tokio::task::JoinSet;

const POLICY: Policy = Policy { max: 3, span_millis: 60_000 };

async fn take(store: &Store, subject: &str, now: Timestamp) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    attempts::take(&mut tx, subject, &POLICY, now).await?;
    tx.commit().await
}

#[tokio::test]
async fn of_many_concurrent_attempts_only_the_maximum_is_allowed() {
    on_both(async |_, store| {
        let mut all = JoinSet::new();
        for _ in 0..20 {
            let store = store.clone();
            all.spawn(async move { take(&store, "account", NOW).await });
        }
        let outcomes = all.join_all().await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 3);
        for rejected in outcomes.into_iter().filter_map(Result::err) {
            assert!(
                matches!(rejected, StoreError::TooManyAttempts { wait } if wait.until == later(60_000)),
                "{rejected}"
            );
        }
        take(&store, "another", NOW).await.unwrap();
        take(&store, "account", later(60_000)).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_successful_attempt_is_taken_back() {
    on_both(async |_, store| {
        for _ in 0..10 {
            take(&store, "address", NOW).await.unwrap();
            take(&store, "account", NOW).await.unwrap();
            let mut tx = store.begin().await.unwrap();
            attempts::give_back(&mut tx, "address").await.unwrap();
            attempts::forget(&mut tx, "account").await.unwrap();
            tx.commit().await.unwrap();
        }
    })
    .await;
}
