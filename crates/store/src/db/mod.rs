//! Connections and transactions.
//!
//! SQLite allows one writer at a time, so writes go through a pool of one connection and start with BEGIN IMMEDIATE: a
//! transaction that has begun never fails because of another. PostgreSQL has short timeouts, so that an unreachable store
//! is noticed quickly; rows are locked where a rule needs it.
//!
//! People have connections of their own ([`Store::console_pool`]), so that dashboards, exports and sign-ins do not keep calls
//! from their keys and leases. On SQLite they share the one writer, and take turns before they queue for it.

mod pools;
mod tx;

pub use pools::PoolSizes;
pub use tx::Tx;

use crate::change::Change;
use crate::error::StoreError;
use crate::row;
use domain::Timestamp;
use pools::{AllPools, Pools};
use sqlx::any::{Any, AnyArguments, AnyRow};
use sqlx::postgres::PgPool;
use sqlx::{AnyConnection, Connection};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tx::ChangeListener;

/// For the first connection, which a busy machine may take long to open.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than the lock and statement timeouts below, which give better errors.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// Shorter than the session's timeouts, so that a command that waits for an allotment fails soon. READ COMMITTED lets each
/// statement see what was committed before it, also by the transaction whose lock it waited for.
const POSTGRES_LEDGER_SETTINGS: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = '5s';";
const SQLITE_CLOCK: &str = "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS BIGINT) AS now";
const POSTGRES_CLOCK: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now";

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
    /// The connections that this handle uses.
    pools: Pools,
    all: Arc<AllPools>,
    listener: Arc<ChangeListener>,
}

pub(crate) type Query<'q> = sqlx::query::Query<'q, Any, AnyArguments>;

impl Store {
    /// Opens `sqlite:<path>` (relative to `data_dir`, created if missing) or `postgres://…`, and checks that it responds.
    pub async fn open(url: &str, data_dir: &Path) -> Result<Self, StoreError> {
        Self::open_sized(url, data_dir, PoolSizes::default()).await
    }

    /// Like [`Store::open`], with pools of these sizes.
    pub async fn open_sized(url: &str, data_dir: &Path, sizes: PoolSizes) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let (engine, all) = match url.split_once(':') {
            Some(("sqlite", rest)) => (Engine::Sqlite, AllPools::sqlite(&sqlite_path(rest, data_dir)?)?),
            Some(("postgres" | "postgresql", _)) => (Engine::Postgres, AllPools::postgres(url, sizes)?),
            _ => return Err(StoreError::BadAddress { problem: "it must start with sqlite: or postgres:" }),
        };
        let store = Self { engine, pools: all.service.clone(), all: Arc::new(all), listener: Arc::default() };
        within(OPEN_TIMEOUT, store.try_connections(url)).await?;
        Ok(store)
    }

    async fn try_connections(&self, url: &str) -> Result<(), sqlx::Error> {
        match self.engine {
            // The writer comes first: it creates the file and enables the write-ahead log.
            Engine::Sqlite => {
                self.pools.writers.acquire().await?;
                self.pools.readers.acquire().await.map(drop)
            }
            // Not through a pool, which would wait for a server that refuses connections.
            Engine::Postgres => AnyConnection::connect(url).await?.close().await,
        }
    }

    /// A handle with the connections that are kept for people: the console, exports and commands.
    pub fn console_pool(&self) -> Self {
        Self { pools: self.all.people.clone(), ..self.clone() }
    }

    /// The file of a SQLite URL, without opening (and thereby creating) it. `None` for PostgreSQL.
    pub fn file(url: &str, data_dir: &Path) -> Result<Option<PathBuf>, StoreError> {
        url.strip_prefix("sqlite:").map(|rest| sqlite_path(rest, data_dir)).transpose()
    }

    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// Checks that the store responds.
    pub async fn ping(&self) -> Result<(), StoreError> {
        within(READ_TIMEOUT, sqlx::query("SELECT 1").execute(&self.pools.readers)).await.map(drop)
    }

    /// Starts a write transaction.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        let turn = self.pools.take_turn().await?;
        let inner = match self.engine {
            Engine::Sqlite => self.pools.writers.begin_with("BEGIN IMMEDIATE").await?,
            Engine::Postgres => within(WRITE_TIMEOUT, self.pools.writers.begin()).await?,
        };
        Ok(Tx::new(inner, self.engine, Arc::clone(&self.listener), turn))
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
        self.all.close().await;
    }

    pub(crate) fn notices(&self) -> Option<&PgPool> {
        self.all.notices.as_ref()
    }

    /// Executes a statement in a transaction of its own and returns the number of changed rows.
    pub(crate) async fn execute(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let changed = tx.execute(query).await?;
        tx.commit().await?;
        Ok(changed)
    }

    pub(crate) async fn rows(&self, query: Query<'_>) -> Result<Vec<AnyRow>, StoreError> {
        within(READ_TIMEOUT, query.fetch_all(&self.pools.readers)).await
    }

    pub(crate) async fn row(&self, query: Query<'_>) -> Result<Option<AnyRow>, StoreError> {
        within(READ_TIMEOUT, query.fetch_optional(&self.pools.readers)).await
    }

    /// The number in `column` of the only row; 0 if there is none.
    pub(crate) async fn count(&self, query: Query<'_>, column: &str) -> Result<u64, StoreError> {
        self.row(query).await?.map_or(Ok(0), |found| row::count(&found, column))
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

/// `rest` is the part of the URL after `sqlite:`, with or without two slashes.
fn sqlite_path(rest: &str, data_dir: &Path) -> Result<PathBuf, StoreError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() || path.contains('?') || path.starts_with(':') {
        return Err(StoreError::BadAddress { problem: "sqlite: must be followed by a file path and nothing else" });
    }
    std::path::absolute(data_dir.join(path)).map_err(|error| StoreError::Unavailable(Box::new(error)))
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
    }
}
