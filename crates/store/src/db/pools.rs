//! Pools of connections: those of the service, and those of people.

use crate::error::StoreError;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AnyConnection, AnyPool, Connection, Executor};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const SQLITE_READERS: u32 = 4;
/// One listening connection for every feed.
const POSTGRES_FEEDS: u32 = 4;
/// Timeout for getting a connection to PostgreSQL: in the queue for the pool, for the response of an idle connection, and to
/// open a new one. On a busy machine opening takes seconds, and what is opened so far is lost at the timeout: one that is
/// too short keeps the machine busy without a result.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// An idle connection that does not respond within this is replaced by a new one.
const IDLE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// SQLite's writers queue for one connection, and a file does not become unreachable, so its connections are not tested.
const SQLITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A new file gets larger pages than SQLite's default: usage is written in long runs of rows, and each page twice.
const SQLITE_WRITER_PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;";
const SQLITE_READER_PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;";
const POSTGRES_SETTINGS: &str = "SET application_name = 'forebay'; SET lock_timeout = '5s'; \
     SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '30s';";

/// The most connections to PostgreSQL, besides those that listen for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSizes {
    /// For calls (keys, quota leases, usage) and the control plane.
    pub service: u32,
    /// For people: the console, exports and commands.
    pub people: u32,
}

impl Default for PoolSizes {
    fn default() -> Self {
        Self { service: 10, people: 6 }
    }
}

/// The connections of one kind of user.
#[derive(Debug, Clone)]
pub(super) struct Pools {
    pub(super) readers: AnyPool,
    pub(super) writers: AnyPool,
    /// Permits to queue for a writer. `None` if the writers are not shared with others.
    turns: Option<Arc<Semaphore>>,
}

impl Pools {
    /// Waits for the turn of a transaction, which the transaction keeps until its end.
    pub(super) async fn take_turn(&self) -> Result<Option<OwnedSemaphorePermit>, StoreError> {
        let Some(turns) = &self.turns else { return Ok(None) };
        match tokio::time::timeout(SQLITE_TIMEOUT, Arc::clone(turns).acquire_owned()).await {
            Ok(turn) => Ok(turn.ok()),
            Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
        }
    }
}

/// All connections of a store.
#[derive(Debug)]
pub(super) struct AllPools {
    pub(super) service: Pools,
    pub(super) people: Pools,
    /// For notifications of changes: `None` for SQLite, which is polled.
    pub(super) notices: Option<PgPool>,
}

impl AllPools {
    /// All write through one connection. Of people, one transaction at a time queues for it, so that the service waits for
    /// at most one of them.
    pub(super) fn sqlite(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        }
        let options = AnyConnectOptions::from_str(&sqlite_url(path))?;
        let writers = AnyPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(SQLITE_TIMEOUT)
            .test_before_acquire(false)
            .after_connect(|connection, _| Box::pin(prepare(connection, SQLITE_WRITER_PRAGMAS)))
            .connect_lazy_with(options.clone());
        let readers = || {
            AnyPoolOptions::new()
                .max_connections(SQLITE_READERS)
                .acquire_timeout(SQLITE_TIMEOUT)
                .test_before_acquire(false)
                .after_connect(|connection, _| Box::pin(prepare(connection, SQLITE_READER_PRAGMAS)))
                .connect_lazy_with(options.clone())
        };
        let people = Pools { readers: readers(), writers: writers.clone(), turns: Some(Arc::new(Semaphore::new(1))) };
        Ok(Self { service: Pools { readers: readers(), writers, turns: None }, people, notices: None })
    }

    pub(super) fn postgres(url: &str, sizes: PoolSizes) -> Result<Self, StoreError> {
        let invalid = |_| StoreError::BadAddress { problem: "it must have the form postgres://user@host/database" };
        let options = AnyConnectOptions::from_str(url).map_err(invalid)?;
        let pools = |size| {
            let pool = AnyPoolOptions::new()
                .max_connections(size)
                .acquire_timeout(ACQUIRE_TIMEOUT)
                .test_before_acquire(false)
                .before_acquire(|connection, _| Box::pin(responds(connection)))
                .after_connect(|connection, _| Box::pin(prepare(connection, POSTGRES_SETTINGS)))
                .connect_lazy_with(options.clone());
            Pools { readers: pool.clone(), writers: pool, turns: None }
        };
        let notices = PgPoolOptions::new()
            .max_connections(POSTGRES_FEEDS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(None)
            .connect_lazy_with(PgConnectOptions::from_str(url).map_err(invalid)?);
        Ok(Self { service: pools(sizes.service), people: pools(sizes.people), notices: Some(notices) })
    }

    /// Waits for open transactions.
    pub(super) async fn close(&self) {
        for pools in [&self.service, &self.people] {
            pools.readers.close().await;
            pools.writers.close().await;
        }
        if let Some(notices) = &self.notices {
            notices.close().await;
        }
    }
}

/// Whether an idle connection still works. One whose server went away unnoticed never responds.
async fn responds(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    Ok(matches!(tokio::time::timeout(IDLE_RESPONSE_TIMEOUT, connection.ping()).await, Ok(Ok(()))))
}

async fn prepare(connection: &mut AnyConnection, script: &'static str) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(script)).await.map(drop)
}

fn sqlite_url(path: &Path) -> String {
    let mut url = String::from("sqlite://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => url.push(char::from(*byte)),
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url.push_str("?mode=rwc");
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_encoded_in_urls() {
        assert_eq!(sqlite_url(Path::new("/a b/50%.db")), "sqlite:///a%20b/50%25.db?mode=rwc");
    }
}
