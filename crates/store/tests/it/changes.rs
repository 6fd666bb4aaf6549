use crate::databases::on_both;
use crate::people::{self, NOW, later};
use sqlx::{Connection, Executor, PgConnection};
use std::time::Duration;
use store::{Change, ChangeFeed, Engine, Store, api_keys, organizations};
use tokio::task::JoinSet;
use tokio::time::Instant;

const POLL: Duration = Duration::from_millis(100);

/// Reads until `count` changes have arrived.
async fn take(feed: &mut ChangeFeed, count: usize) -> Vec<Change> {
    let mut seen = Vec::new();
    while seen.len() < count {
        seen.extend(feed.next(POLL).await.unwrap());
    }
    seen
}

#[tokio::test]
async fn another_store_receives_changes_in_the_order_of_commits() {
    on_both(async |database, store| {
        let elsewhere = database.open().await;
        people::organization(&store).await;
        let mut feed = elsewhere.changes().await.unwrap();
        let workspace = people::workspace(&store).await;
        let key = people::key(&store, &workspace).await;
        let mut tx = store.begin().await.unwrap();
        api_keys::revoke(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        tx.commit().await.unwrap();

        let expected = [
            Change::Organization(workspace.organization.clone()),
            Change::Workspace(workspace.id.clone()),
            Change::Key(key.segment),
            Change::Key(key.segment),
        ];
        assert_eq!(take(&mut feed, 4).await, expected);
        assert_eq!(feed.next(Duration::from_millis(1)).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn postgresql_notifies_without_waiting_for_the_poll() {
    on_both(async |database, store| {
        if store.engine() == Engine::Sqlite {
            return; // its log is polled
        }
        let mut feed = database.open().await.changes().await.unwrap();
        let started = Instant::now();
        let (received, _) = tokio::join!(feed.next(Duration::from_secs(30)), async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            people::organization(&store).await
        });
        assert_eq!(received.unwrap().len(), 1);
        assert!(started.elapsed() < Duration::from_secs(5));
    })
    .await;
}

#[tokio::test]
async fn changes_that_are_not_committed_are_not_published() {
    on_both(async |_, store| {
        let mut feed = store.changes().await.unwrap();
        let mut tx = store.begin().await.unwrap();
        organizations::insert(&mut tx, &people::new_organization()).await.unwrap();
        drop(tx);
        assert_eq!(feed.next(POLL).await.unwrap(), []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_leave_no_gap_for_a_reader() {
    on_both(async |database, store| {
        let mut feed = database.open().await.changes().await.unwrap();
        let mut writers = JoinSet::new();
        for _ in 0..30 {
            let store = store.clone();
            writers.spawn(async move { people::organization(&store).await.id });
        }
        let received = take(&mut feed, 30).await;
        for id in writers.join_all().await {
            assert!(received.contains(&Change::Organization(id)));
        }
        assert_eq!(received.len(), 30);
    })
    .await;
}

#[tokio::test]
async fn a_feed_continues_where_it_was_after_lost_connections() {
    on_both(async |database, store| {
        let mut feed = store.changes().await.unwrap();
        people::organization(&store).await;
        assert_eq!(take(&mut feed, 1).await.len(), 1);

        if store.engine() == Engine::Postgres {
            cut_connections(&database.url).await;
        }
        let writer = database.open().await;
        let organization = people::organization(&writer).await;
        let mut received = Vec::new();
        while received.is_empty() {
            // The first reads may fail, since the store was unavailable.
            received = feed.next(POLL).await.unwrap_or_default();
        }
        assert_eq!(received, [Change::Organization(organization.id)]);

        let started = Instant::now();
        let next = async {
            loop {
                // The notification of an earlier change may arrive late, with nothing new.
                let received = feed.next(Duration::from_secs(2)).await.unwrap();
                if !received.is_empty() {
                    return received;
                }
            }
        };
        let (received, _) = tokio::join!(next, people::organization(&writer));
        assert_eq!(received.len(), 1);
        assert!(store.engine() == Engine::Sqlite || started.elapsed() < Duration::from_secs(2), "it listens again");
    })
    .await;
}

#[tokio::test]
async fn a_reader_that_was_away_for_too_long_gets_everything() {
    on_both(async |_, store| {
        let mut feed = store.changes().await.unwrap();
        people::organization(&store).await;
        let day_later = later(24 * 60 * 60 * 1_000);
        for _ in 0..64 {
            let mut organization = people::new_organization();
            organization.created_at = day_later;
            insert(&store, &organization).await;
        }
        assert_eq!(feed.next(POLL).await.unwrap(), [Change::Everything]);
        assert_eq!(feed.next(POLL).await.unwrap(), []);
        people::organization(&store).await;
        assert_eq!(take(&mut feed, 1).await.len(), 1);
    })
    .await;
}

/// Ends every connection to the database but its own.
async fn cut_connections(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    connection.execute(cut).await.unwrap();
}

async fn insert(store: &Store, organization: &domain::Organization) {
    let mut tx = store.begin().await.unwrap();
    organizations::insert(&mut tx, organization).await.unwrap();
    tx.commit().await.unwrap();
}
