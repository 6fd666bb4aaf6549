//! Connections and transactions.
//!
//! SQLite has one writer at a time, so its writes go through a pool of one connection and start with BEGIN IMMEDIATE:
//! a transaction that has begun will not lose to another. PostgreSQL has one pool for everything, with short time-outs,
//! so that an absent store is noticed quickly; rows are locked where a rule needs it.

use crate::changes::{self, Change};
use crate::error::StoreError;
use crate::row;
use crate::usage_kinds::{Known, Numbers};
use domain::Timestamp;
use sqlx::any::{Any, AnyArguments, AnyConnectOptions, AnyPoolOptions, AnyRow};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, Executor, Transaction};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const SQLITE_READERS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 10;
/// One listening connection for every feed.
const POSTGRES_FEEDS: u32 = 4;
/// How long a free connection, new or used, is waited for.
const ACQUIRE_PATIENCE: Duration = Duration::from_secs(2);
/// SQLite's writers queue for one connection instead, and the file does not go away.
const WRITER_PATIENCE: Duration = Duration::from_secs(10);
const READ_PATIENCE: Duration = Duration::from_secs(5);
/// Longer than the lock and statement time-outs below, which give better errors.
const WRITE_PATIENCE: Duration = Duration::from_secs(15);

/// Under the session's own time-outs: whoever waits for an allotment is told soon. Each statement sees what was committed
/// before it, also by the one whose lock was waited for.
const POSTGRES_LEDGER_SETTINGS: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = '5s';";
const SQLITE_CLOCK: &str = "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS BIGINT) AS now";
const POSTGRES_CLOCK: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now";

/// A new file has larger pages than SQLite's own choice: usage comes in long runs of rows, and each page is written twice.
const SQLITE_WRITER_PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;";
const SQLITE_READER_PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;";
const POSTGRES_SETTINGS: &str = "SET application_name = 'forebay'; SET lock_timeout = '5s'; \
     SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '30s';";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// How lines of a script begin that are for this engine alone; to others they are comments.
    const fn own_lines(self) -> &'static str {
        match self {
            Self::Sqlite => "--sqlite",
            Self::Postgres => "--postgres",
        }
    }
}

/// The way to everything that is remembered; clones share their connections.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    readers: AnyPool,
    writers: AnyPool,
    /// Only PostgreSQL tells of changes; SQLite's are polled.
    notices: Option<PgPool>,
    made_here: Arc<Ear>,
    kinds: Known,
}

pub(crate) type Query<'q> = sqlx::query::Query<'q, Any, AnyArguments>;

impl Store {
    /// Opens `sqlite:<path>` (relative to `data_dir`, made if absent) or `postgres://…`, and asks it a first question.
    pub async fn open(url: &str, data_dir: &Path) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let store = match url.split_once(':') {
            Some(("sqlite", rest)) => Self::sqlite(&sqlite_path(rest, data_dir)?)?,
            Some(("postgres" | "postgresql", _)) => Self::postgres(url)?,
            _ => return Err(StoreError::BadAddress { problem: "it starts neither with sqlite: nor with postgres:" }),
        };
        // The writer comes first: it makes SQLite's file and switches on the write-ahead log.
        within(READ_PATIENCE, async { store.writers.acquire().await.map(drop) }).await?;
        store.ping().await?;
        Ok(store)
    }

    /// The file of a store that is one; opening it would make it.
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
            .acquire_timeout(WRITER_PATIENCE)
            .after_connect(|connection, _| Box::pin(prepare(connection, SQLITE_WRITER_PRAGMAS)))
            .connect_lazy_with(options.clone());
        let readers = AnyPoolOptions::new()
            .max_connections(SQLITE_READERS)
            .acquire_timeout(ACQUIRE_PATIENCE)
            .after_connect(|connection, _| Box::pin(prepare(connection, SQLITE_READER_PRAGMAS)))
            .connect_lazy_with(options);
        Ok(Self {
            engine: Engine::Sqlite,
            readers,
            writers,
            notices: None,
            made_here: Arc::default(),
            kinds: Known::default(),
        })
    }

    fn postgres(url: &str) -> Result<Self, StoreError> {
        let unreadable = |_| StoreError::BadAddress { problem: "it is not of the form postgres://user@host/database" };
        let pool = AnyPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(ACQUIRE_PATIENCE)
            .after_connect(|connection, _| Box::pin(prepare(connection, POSTGRES_SETTINGS)))
            .connect_lazy_with(AnyConnectOptions::from_str(url).map_err(unreadable)?);
        let notices = PgPoolOptions::new()
            .max_connections(POSTGRES_FEEDS)
            .acquire_timeout(ACQUIRE_PATIENCE)
            .max_lifetime(None)
            .connect_lazy_with(PgConnectOptions::from_str(url).map_err(unreadable)?);
        let (readers, writers) = (pool.clone(), pool);
        let (notices, made_here, kinds) = (Some(notices), Arc::default(), Known::default());
        Ok(Self { engine: Engine::Postgres, readers, writers, notices, made_here, kinds })
    }

    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// Whether the store can be asked at all.
    pub async fn ping(&self) -> Result<(), StoreError> {
        within(READ_PATIENCE, sqlx::query("SELECT 1").execute(&self.readers)).await.map(drop)
    }

    /// Starts a transaction that may write; what is not committed is undone.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        let inner = match self.engine {
            Engine::Sqlite => self.writers.begin_with("BEGIN IMMEDIATE").await?,
            Engine::Postgres => within(WRITE_PATIENCE, self.writers.begin()).await?,
        };
        let (made_here, kinds) = (Arc::clone(&self.made_here), Numbers::new(&self.kinds));
        Ok(Tx { inner, engine: self.engine, announcements: Vec::new(), made_here, kinds })
    }

    /// As [`Store::begin`], for changes that must fit an allotment.
    pub async fn begin_ledger(&self) -> Result<Tx, StoreError> {
        let mut tx = self.begin().await?;
        match self.engine {
            Engine::Sqlite => {}
            Engine::Postgres => {
                within(WRITE_PATIENCE, tx.inner.execute(sqlx::raw_sql(POSTGRES_LEDGER_SETTINGS))).await?;
            }
        }
        Ok(tx)
    }

    /// Has `ear` hear of every change that is made through this store before its maker knows that it is made, so that
    /// who revokes a key here finds it revoked here. What others make is told by the feed; so is this, once more.
    pub fn hear_own_changes(&self, ear: impl Fn(&Change) + Send + Sync + 'static) {
        let _another_listens = self.made_here.0.set(Box::new(ear));
    }

    /// What time it is for the store: the one clock that all nodes share.
    pub async fn clock(&self) -> Result<Timestamp, StoreError> {
        let text = match self.engine {
            Engine::Sqlite => SQLITE_CLOCK,
            Engine::Postgres => POSTGRES_CLOCK,
        };
        let found = self.row(sqlx::query(text)).await?;
        found.as_ref().map_or_else(|| Err(StoreError::Corrupt { place: "clock".into() }), |row| row::moment(row, "now"))
    }

    /// Closes all connections; open transactions are waited for.
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

    pub(crate) async fn rows(&self, query: Query<'_>) -> Result<Vec<AnyRow>, StoreError> {
        within(READ_PATIENCE, query.fetch_all(&self.readers)).await
    }

    pub(crate) async fn row(&self, query: Query<'_>) -> Result<Option<AnyRow>, StoreError> {
        within(READ_PATIENCE, query.fetch_optional(&self.readers)).await
    }
}

/// A transaction that may write. What it announces becomes visible together with what it wrote.
pub struct Tx {
    inner: Transaction<'static, Any>,
    engine: Engine,
    announcements: Vec<(Change, Timestamp)>,
    made_here: Arc<Ear>,
    pub(crate) kinds: Numbers,
}

impl Tx {
    pub async fn commit(mut self) -> Result<(), StoreError> {
        // Announced as the last thing, since every announcing transaction takes the same lock.
        let announcements = std::mem::take(&mut self.announcements);
        if !announcements.is_empty() {
            changes::publish(&mut self, &announcements).await?;
        }
        let outcome = within(WRITE_PATIENCE, self.inner.commit()).await;
        // Also after an error: it may be committed all the same, and who hears only reads again.
        self.made_here.hear(&announcements);
        if outcome.is_ok() {
            self.kinds.keep();
        }
        outcome
    }

    /// As [`Tx::commit`], and tells an answer that was lost from a store that could not be asked.
    pub async fn commit_or_unsure(self) -> Result<(), StoreError> {
        self.commit().await.map_err(|error| match error {
            StoreError::Unavailable(cause) => StoreError::Unsure(cause),
            other => other,
        })
    }

    /// Every node hears of `change` once this transaction is committed.
    pub(crate) fn announce(&mut self, change: Change, now: Timestamp) {
        if !self.announcements.iter().any(|(noted, _)| *noted == change) {
            self.announcements.push((change, now));
        }
    }

    pub(crate) const fn engine(&self) -> Engine {
        self.engine
    }

    /// Runs a statement and returns how many rows it touched.
    pub(crate) async fn execute(&mut self, query: Query<'_>) -> Result<u64, StoreError> {
        let done = within(WRITE_PATIENCE, query.execute(&mut *self.inner)).await?;
        Ok(done.rows_affected())
    }

    pub(crate) async fn rows(&mut self, query: Query<'_>) -> Result<Vec<AnyRow>, StoreError> {
        within(WRITE_PATIENCE, query.fetch_all(&mut *self.inner)).await
    }

    pub(crate) async fn row(&mut self, query: Query<'_>) -> Result<Option<AnyRow>, StoreError> {
        within(WRITE_PATIENCE, query.fetch_optional(&mut *self.inner)).await
    }

    /// Several statements without arguments and without a time-out: only for migrations.
    pub(crate) async fn run_script(&mut self, script: &str) -> Result<(), StoreError> {
        let script = script.replace(self.engine.own_lines(), "");
        self.inner.execute(sqlx::raw_sql(AssertSqlSafe(script))).await?;
        Ok(())
    }
}

/// Who hears of the changes that are made through a store, if anybody does.
#[derive(Default)]
struct Ear(OnceLock<Hears>);

type Hears = Box<dyn Fn(&Change) + Send + Sync>;

impl Ear {
    fn hear(&self, announcements: &[(Change, Timestamp)]) {
        let Some(ear) = self.0.get() else { return };
        announcements.iter().for_each(|(change, _)| ear(change));
    }
}

impl std::fmt::Debug for Ear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Ear").field(&self.0.get().is_some()).finish()
    }
}

/// A store that neither answers nor refuses is away, too.
pub(crate) async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(patience, work).await {
        Ok(outcome) => Ok(outcome?),
        Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
    }
}

async fn prepare(connection: &mut AnyConnection, script: &'static str) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(script)).await.map(drop)
}

/// `rest` is what follows `sqlite:`, with or without two slashes.
fn sqlite_path(rest: &str, data_dir: &Path) -> Result<PathBuf, StoreError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() || path.contains('?') || path.starts_with(':') {
        return Err(StoreError::BadAddress { problem: "sqlite: is followed by the path of a file, and nothing else" });
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
