//! Connections of the service and of people.

use crate::databases::{on_both, on_both_empty};
use parking_lot::Mutex;
use std::sync::Arc;
use store::{Engine, PoolSizes, Store};
use tokio::task::JoinSet;

#[tokio::test]
async fn people_cannot_take_the_connections_of_the_service() {
    on_both_empty(async |database| {
        let sizes = PoolSizes { service: 2, people: 2 };
        let store = Store::open_sized(&database.url, database.data_dir(), sizes).await.unwrap();
        store.migrate().await.unwrap();
        let people = store.console_pool();
        let open = match store.engine() {
            Engine::Sqlite => 1,
            Engine::Postgres => sizes.people,
        };
        let mut transactions = Vec::new();
        for _ in 0..open {
            transactions.push(people.begin().await.unwrap());
        }
        store.ping().await.unwrap();
        if store.engine() == Engine::Postgres {
            let used_up = people.ping().await.unwrap_err();
            assert!(used_up.is_unavailable(), "{used_up:?}");
            store.begin().await.unwrap();
        }
        drop(transactions);
        people.ping().await.unwrap();
    })
    .await;
}

/// On SQLite, whose one writer they share. Runs on one thread, so that tasks queue in the order in which they start.
#[tokio::test]
async fn the_service_waits_for_at_most_one_transaction_of_people() {
    on_both(async |_, store| {
        if store.engine() == Engine::Postgres {
            return;
        }
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut writers = JoinSet::new();
        let mut queue = |store: Store, name: &'static str| {
            let order = Arc::clone(&order);
            writers.spawn(async move {
                let tx = store.begin().await.unwrap();
                order.lock().push(name);
                tx.commit().await.unwrap();
            });
        };
        let first = store.begin().await.unwrap();
        for _ in 0..5 {
            queue(store.console_pool(), "people");
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        queue(store.clone(), "service");
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        first.commit().await.unwrap();
        writers.join_all().await;
        assert_eq!(*order.lock(), ["people", "service", "people", "people", "people", "people"]);
    })
    .await;
}
