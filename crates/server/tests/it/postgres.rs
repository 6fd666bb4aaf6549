//! A PostgreSQL database per test, and a proxy to it that can be cut.

use std::sync::Arc;

use crate::databases::execute;
use domain::Timestamp;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use crate::databases::Postgres as Database;

impl Database {
    /// Makes the clock of the database adjustable by [`Self::set_clock`], for all connections from now on.
    pub(crate) async fn with_own_clock(self) -> Self {
        let name = &self.name;
        execute(
            &self.url,
            &format!(
                "CREATE SCHEMA own_clock; CREATE TABLE own_clock.ahead (millis BIGINT NOT NULL); \
             INSERT INTO own_clock.ahead VALUES (0); \
             CREATE FUNCTION own_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS \
             'SELECT pg_catalog.clock_timestamp() + millis * interval ''1 millisecond'' FROM own_clock.ahead'; \
             ALTER DATABASE {name} SET search_path = own_clock, pg_catalog, public"
            ),
        )
        .await;
        self
    }

    pub(crate) async fn set_clock(&self, time: Timestamp) {
        let real = "CAST(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000 AS BIGINT)";
        execute(&self.url, &format!("UPDATE own_clock.ahead SET millis = {} - {real}", time.millis())).await;
    }

    /// Locks a table until the connection ends: statements that use it fail after their lock timeout.
    pub(crate) async fn lock(&self, table: &str) -> PgConnection {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
        connection.execute(AssertSqlSafe(lock)).await.unwrap();
        connection
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    /// Connections end, and new ones are closed at once.
    Cut,
    /// Connections stay open, but nothing passes.
    Silent,
}

/// A proxy for connections to the database.
pub(crate) struct Cable {
    /// The URL of the database through the proxy.
    pub(crate) url: String,
    state: Arc<watch::Sender<State>>,
    _carrier: JoinSet<()>,
}

impl Cable {
    pub(crate) async fn to(database: &Database) -> Self {
        let (credentials, rest) = database.url.split_once('@').unwrap();
        let (address, name) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{credentials}@{}/{name}", listener.local_addr().unwrap());
        let state = Arc::new(watch::Sender::new(State::Whole));
        let mut carrier = JoinSet::new();
        carrier.spawn(carry(listener, address.to_owned(), Arc::clone(&state)));
        Self { url, state, _carrier: carrier }
    }

    pub(crate) fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    pub(crate) fn silence(&self) {
        self.state.send_replace(State::Silent);
    }

    pub(crate) fn restore(&self) {
        self.state.send_replace(State::Whole);
    }
}

async fn carry(listener: TcpListener, address: String, state: Arc<watch::Sender<State>>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let (address, mut state) = (address.clone(), state.subscribe());
        connections.spawn(async move {
            let is_whole = *state.borrow_and_update() == State::Whole;
            if is_whole && let Ok(mut server) = TcpStream::connect(&address).await {
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
                    _ = state.changed() => {}
                }
            }
            // Silence keeps the connection open; it ends afterwards, as it would after a partition.
            state.wait_for(|now| *now != State::Silent).await.ok();
        });
    }
}
