//! Connections and transactions.
//!
//! SQLite allows one writer at a time, so writes go through a pool of one connection and start with BEGIN IMMEDIATE: a
//! transaction that has begun never fails because of another. PostgreSQL has one pool for everything, with short
//! timeouts, so that an unreachable store is noticed quickly; rows are locked where a rule needs it.

mod tx;

pub use tx::Tx;

use crate::change::Change;
use crate::error::StoreError;
use crate::row;
use domain::Timestamp;
use sqlx::any::{Any, AnyArguments, AnyConnectOptions, AnyPoolOptions, AnyRow};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AnyConnection, AnyPool, Executor};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tx::ChangeListener;

const SQLITE_READERS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 10;
/// One listening connection for every feed.
const POSTGRES_FEEDS: u32 = 4;
/// Timeout for getting a connection from the pool.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);
/// SQLite's writers queue for one connection, and a file does not become unreachable.
const WRITER_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than the lock and statement timeouts below, which give better errors.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// Shorter than the session's timeouts, so that a command that waits for an allotment fails soon. READ COMMITTED lets each
/// statement see what was committed before it, also by the transaction whose lock it waited for.
const POSTGRES_LEDGER_SETTINGS: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = '5s';";
const SQLITE_CLOCK: &str = "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS BIGINT) AS now";
const POSTGRES_CLOCK: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now";

/// A new file gets larger pages than SQLite's default: usage is written in long runs of rows, and each page twice.
const SQLITE_WRITER_PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;";
const SQLITE_READER_PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;";
const POSTGRES_SETTINGS: &str = "SET application_name = 'forebay'; SET lock_timeout = '5s'; \
     SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '30s';";

/// The database behind a [`Store`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// Prefix of script lines for this engine only; the other engine reads them as comments.
    const fn own_line_prefix(self) -> &'static str {
        match self {
            Self::Sqlite => "--sqlite",
            Self::Postgres => "--postgres",
        }
    }
}

/// A connected database. Clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    readers: AnyPool,
    writers: AnyPool,
    /// For notifications of changes: `None` for SQLite, which is polled.
    notices: Option<PgPool>,
    listener: Arc<ChangeListener>,
}

pub(crate) type Query<'q> = sqlx::query::Query<'q, Any, AnyArguments>;

impl Store {
    /// Opens `sqlite:<path>` (relative to `data_dir`, created if missing) or `postgres://…`, and checks that it responds.
    pub async fn open(url: &str, data_dir: &Path) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let store = match url.split_once(':') {
            Some(("sqlite", rest)) => Self::sqlite(&sqlite_path(rest, data_dir)?)?,
            Some(("postgres" | "postgresql", _)) => Self::postgres(url)?,
            _ => return Err(StoreError::BadAddress { problem: "it must start with sqlite: or postgres:" }),
        };
        // The writer comes first: it creates SQLite's file and enables the write-ahead log.
        within(READ_TIMEOUT, async { store.writers.acquire().await.map(drop) }).await?;
        store.ping().await?;
        Ok(store)
    }

    /// The file of a SQLite URL, without opening (and thereby creating) it. `None` for PostgreSQL.
    pub fn file(url: &str, data_dir: &Path) -> Result<Option<PathBuf>, StoreError> {
        url.strip_prefix("sqlite:").map(|rest| sqlite_path(rest, data_dir)).transpose()
    }

    fn sqlite(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        }
        let options = AnyConnectOptions::from_str(&sqlite_url(path))?;
        let writers = AnyPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(WRITER_TIMEOUT)
            .after_connect(|connection, _| Box::pin(prepare(connection, SQLITE_WRITER_PRAGMAS)))
            .connect_lazy_with(options.clone());
        let readers = AnyPoolOptions::new()
            .max_connections(SQLITE_READERS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .after_connect(|connection, _| Box::pin(prepare(connection, SQLITE_READER_PRAGMAS)))
            .connect_lazy_with(options);
        Ok(Self { engine: Engine::Sqlite, readers, writers, notices: None, listener: Arc::default() })
    }

    fn postgres(url: &str) -> Result<Self, StoreError> {
        let invalid = |_| StoreError::BadAddress { problem: "it must have the form postgres://user@host/database" };
        let pool = AnyPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .after_connect(|connection, _| Box::pin(prepare(connection, POSTGRES_SETTINGS)))
            .connect_lazy_with(AnyConnectOptions::from_str(url).map_err(invalid)?);
        let notices = PgPoolOptions::new()
            .max_connections(POSTGRES_FEEDS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(None)
            .connect_lazy_with(PgConnectOptions::from_str(url).map_err(invalid)?);
        let (readers, writers) = (pool.clone(), pool);
        Ok(Self { engine: Engine::Postgres, readers, writers, notices: Some(notices), listener: Arc::default() })
    }

    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// Checks that the store responds.
    pub async fn ping(&self) -> Result<(), StoreError> {
        within(READ_TIMEOUT, sqlx::query("SELECT 1").execute(&self.readers)).await.map(drop)
    }

    /// Starts a write transaction.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        let inner = match self.engine {
            Engine::Sqlite => self.writers.begin_with("BEGIN IMMEDIATE").await?,
            Engine::Postgres => within(WRITE_TIMEOUT, self.writers.begin()).await?,
        };
        Ok(Tx::new(inner, self.engine, Arc::clone(&self.listener)))
    }

    /// Like [`Store::begin`], for changes that must fit an allotment.
    pub async fn begin_ledger(&self) -> Result<Tx, StoreError> {
        let mut tx = self.begin().await?;
        match self.engine {
            Engine::Sqlite => {}
            Engine::Postgres => tx.run(POSTGRES_LEDGER_SETTINGS).await?,
        }
        Ok(tx)
    }

    /// Calls `listener` with every change made through this store before the commit returns, so that a key revoked on
    /// this node is rejected by this node at once. The change feed delivers these changes again, with those of other
    /// nodes. Only the first listener is kept.
    pub fn on_own_change(&self, listener: impl Fn(&Change) + Send + Sync + 'static) {
        self.listener.set(listener);
    }

    /// The store's current time: the one clock that all nodes share.
    pub async fn clock(&self) -> Result<Timestamp, StoreError> {
        let text = match self.engine {
            Engine::Sqlite => SQLITE_CLOCK,
            Engine::Postgres => POSTGRES_CLOCK,
        };
        let found = self.row(sqlx::query(text)).await?;
        found.as_ref().map_or_else(|| Err(row::corrupt("clock")), |row| row::moment(row, "now"))
    }

    /// Closes all connections after waiting for open transactions.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
        if let Some(notices) = &self.notices {
            notices.close().await;
        }
    }

    pub(crate) const fn notices(&self) -> Option<&PgPool> {
        self.notices.as_ref()
    }

    /// Executes a statement in a transaction of its own and returns the number of changed rows.
    pub(crate) async fn execute(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let changed = tx.execute(query).await?;
        tx.commit().await?;
        Ok(changed)
    }

    pub(crate) async fn rows(&self, query: Query<'_>) -> Result<Vec<AnyRow>, StoreError> {
        within(READ_TIMEOUT, query.fetch_all(&self.readers)).await
    }

    pub(crate) async fn row(&self, query: Query<'_>) -> Result<Option<AnyRow>, StoreError> {
        within(READ_TIMEOUT, query.fetch_optional(&self.readers)).await
    }
}

/// Adds a timeout: a store that does not respond in time is unavailable.
pub(crate) async fn within<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(timeout, work).await {
        Ok(outcome) => Ok(outcome?),
        Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
    }
}

async fn prepare(connection: &mut AnyConnection, script: &'static str) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(script)).await.map(drop)
}

/// `rest` is the part of the URL after `sqlite:`, with or without two slashes.
fn sqlite_path(rest: &str, data_dir: &Path) -> Result<PathBuf, StoreError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() || path.contains('?') || path.starts_with(':') {
        return Err(StoreError::BadAddress { problem: "sqlite: must be followed by a file path and nothing else" });
    }
    std::path::absolute(data_dir.join(path)).map_err(|error| StoreError::Unavailable(Box::new(error)))
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
    fn sqlite_files_are_below_the_data_directory_unless_absolute() {
        let data_dir = Path::new("/var/lib/forebay");
        for (rest, path) in [
            ("forebay.db", "/var/lib/forebay/forebay.db"),
            ("//forebay.db", "/var/lib/forebay/forebay.db"),
            ("/srv/x.db", "/srv/x.db"),
            ("///srv/x.db", "/srv/x.db"),
        ] {
            assert_eq!(sqlite_path(rest, data_dir).unwrap(), Path::new(path));
        }
        for bad in ["", "//", ":memory:", "forebay.db?mode=ro"] {
            assert!(sqlite_path(bad, data_dir).is_err(), "{bad}");
        }
        assert_eq!(sqlite_url(Path::new("/a b/50%.db")), "sqlite:///a%20b/50%25.db?mode=rwc");
    }
}
