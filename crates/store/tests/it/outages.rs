//! A PostgreSQL that becomes unavailable and comes back, behind a connection that can be cut.

use crate::databases::{Database, on_both};
use crate::people::{self, NOW};
use std::sync::Arc;
use std::time::Duration;
use store::{Change, Engine, Store, api_keys};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Whole,
    /// Connections end, and new ones do at once.
    Cut,
    /// Connections stay, and nothing passes.
    Silent,
}

/// A store behind a wire, the wire, and the task that carries it.
async fn behind_a_wire(database: &Database) -> (Store, Arc<watch::Sender<Wire>>, JoinSet<()>) {
    let (credentials, rest) = database.url.split_once('@').unwrap();
    let (address, name) = rest.split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("{credentials}@{}/{name}", listener.local_addr().unwrap());
    let wire = Arc::new(watch::Sender::new(Wire::Whole));
    let mut carrier = JoinSet::new();
    carrier.spawn(carry(listener, address.to_owned(), Arc::clone(&wire)));
    (Store::open(&url, database.data_dir()).await.unwrap(), wire, carrier)
}

async fn carry(listener: TcpListener, address: String, wire: Arc<watch::Sender<Wire>>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let (address, mut state) = (address.clone(), wire.subscribe());
        connections.spawn(async move {
            let whole = *state.borrow_and_update() == Wire::Whole;
            if whole && let Ok(mut server) = TcpStream::connect(&address).await {
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
                    _ = state.changed() => {}
                }
            }
            // Silence keeps the connection open; it ends afterwards, as it would after a partition.
            state.wait_for(|now| *now != Wire::Silent).await.ok();
        });
    }
}

async fn away_and_back(state: Wire) {
    on_both(async |database, direct| {
        if direct.engine() == Engine::Sqlite {
            return; // a file does not become unavailable
        }
        let workspace = people::workspace(&direct).await;
        let key = people::key(&direct, &workspace).await;
        let (store, wire, _carrier) = behind_a_wire(database).await;
        let mut feed = store.changes().await.unwrap();
        assert!(api_keys::by_segment(&store, key.segment, NOW).await.unwrap().is_some());
        assert_eq!(feed.next(Duration::from_millis(10)).await.unwrap(), []);

        wire.send_replace(state);
        let outcome = api_keys::by_segment(&store, key.segment, NOW).await;
        assert!(outcome.unwrap_err().is_unavailable());
        assert!(store.begin().await.is_err_and(|error| error.is_unavailable()));
        assert!(feed.next(Duration::from_millis(10)).await.unwrap_err().is_unavailable());

        let mut tx = direct.begin().await.unwrap();
        api_keys::revoke(&mut tx, &workspace.id, &key.id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        wire.send_replace(Wire::Whole);
        let mut received = Vec::new();
        while received.is_empty() {
            received = feed.next(Duration::from_millis(100)).await.unwrap_or_default();
        }
        assert_eq!(received, [Change::Key(key.segment)]);
        let found = api_keys::by_segment(&store, key.segment, NOW).await.unwrap().unwrap();
        assert!(found.revoked_at.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_store_that_refuses_connections_is_unavailable_until_it_is_back() {
    away_and_back(Wire::Cut).await;
}

#[tokio::test]
async fn a_store_that_does_not_respond_is_unavailable_until_it_is_back() {
    away_and_back(Wire::Silent).await;
}
