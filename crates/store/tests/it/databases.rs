//! Scratch databases: each test runs on SQLite and on PostgreSQL, in its own database.
//!
//! The schema is created once per test program, in a template; the databases of tests are copies of it.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use store::Store;
use tempfile::TempDir;

/// Far more than any test needs.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The lock under which a template is made.
const TEMPLATE_LOCK: i64 = 7_023_110_002;

/// A database of PostgreSQL.
pub(crate) struct Postgres {
    pub(crate) url: String,
    pub(crate) name: String,
    server: String,
}

impl Postgres {
    /// A database without a schema.
    pub(crate) async fn empty() -> Self {
        Self::create("").await
    }

    /// A database with the current schema.
    pub(crate) async fn migrated() -> Self {
        Self::create(&format!(" TEMPLATE {}", template().await)).await
    }

    async fn create(options: &str) -> Self {
        let server = server();
        let name = format!("forebay_{:016x}", getrandom::u64().unwrap());
        execute(&server, &format!("CREATE DATABASE {name}{options}")).await;
        Self { url: beside(&server, &name), server, name }
    }

    /// Not called if a test failed, so that its database can be inspected.
    pub(crate) async fn remove(self) {
        execute(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

fn server() -> String {
    std::env::var("FOREBAY_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "FOREBAY_TEST_POSTGRES is not set: run `make test`, or `scripts/with-services cargo nextest run`, or first \
             `export FOREBAY_TEST_POSTGRES=$(scripts/postgres start /tmp/forebay-postgres)`"
        )
    })
}

/// The URL of another database of the server.
fn beside(server: &str, name: &str) -> String {
    let (place, _) = server.rsplit_once('/').expect("the URL ends with a database");
    format!("{place}/{name}")
}

/// Runs statements over a connection of their own.
pub(crate) async fn execute(url: &str, statements: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute(AssertSqlSafe(statements.to_owned())).await.unwrap();
    connection.close().await.unwrap();
}

/// Distinguishes this build of the test program, and with it its migrations, from earlier ones.
fn build() -> String {
    let modified = std::env::current_exe().unwrap().metadata().unwrap().modified().unwrap();
    format!("{:x}", modified.duration_since(UNIX_EPOCH).unwrap().as_nanos())
}

/// The name of PostgreSQL's template, which the first test makes.
async fn template() -> String {
    let (server, name) = (server(), format!("forebay_template_{}", build()));
    let mut connection = PgConnection::connect(&server).await.unwrap();
    let lock = format!("SELECT pg_advisory_lock({TEMPLATE_LOCK})");
    connection.execute(AssertSqlSafe(lock)).await.unwrap();
    let exists = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1").bind(&name);
    if exists.fetch_optional(&mut connection).await.unwrap().is_none() {
        let draft = Postgres::empty().await;
        let store = Store::open(&draft.url, Path::new("")).await.unwrap();
        store.migrate().await.unwrap();
        store.close().await;
        // Connections that are still closing would forbid the new name.
        let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'", draft.name);
        let rename = format!("ALTER DATABASE {} RENAME TO {name}", draft.name);
        loop {
            connection.execute(AssertSqlSafe(end.clone())).await.unwrap();
            if connection.execute(AssertSqlSafe(rename.clone())).await.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    connection.close().await.unwrap();
    name
}

/// A folder that the first test of this build makes: `make` fills it. The others wait.
pub(crate) async fn made_once(name: &str, make: impl AsyncFnOnce(&Path)) -> PathBuf {
    let builds = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}", env!("CARGO_PKG_NAME"), build()));
    std::fs::create_dir_all(&builds).unwrap();
    let lock = File::create(builds.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let folder = builds.join(name);
    if !folder.exists() {
        let draft = TempDir::new_in(&builds).unwrap();
        make(draft.path()).await;
        std::fs::rename(draft.keep(), &folder).unwrap();
    }
    folder
}

/// The file of SQLite's template.
async fn sqlite_template() -> PathBuf {
    let folder = made_once("sqlite", async |draft| {
        let scratch = TempDir::new().unwrap();
        let store = Store::open("sqlite:forebay.db", scratch.path()).await.unwrap();
        store.migrate().await.unwrap();
        store.close().await;
        // One file without a write-ahead log.
        let url = format!("sqlite:{}", scratch.path().join("forebay.db").display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        let copy = format!("VACUUM INTO '{}'", draft.join("forebay.db").display());
        connection.execute(AssertSqlSafe(copy)).await.unwrap();
    });
    folder.await.join("forebay.db")
}

/// A database on which several stores can be opened, as several processes would do.
pub(crate) struct Database {
    pub(crate) url: String,
    folder: TempDir,
    postgres: Option<Postgres>,
}

impl Database {
    fn sqlite() -> Self {
        Self { url: "sqlite:forebay.db".into(), folder: TempDir::new().unwrap(), postgres: None }
    }

    fn postgres(database: Postgres) -> Self {
        Self { url: database.url.clone(), folder: TempDir::new().unwrap(), postgres: Some(database) }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Another handle, with connections of its own.
    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.url, self.data_dir()).await.unwrap()
    }

    async fn run(self, test: impl AsyncFn(&Self)) {
        let outcome = tokio::time::timeout(TEST_TIMEOUT, test(&self)).await;
        assert!(outcome.is_ok(), "the test on {} did not end", self.url);
        if let Some(postgres) = self.postgres {
            postgres.remove().await;
        }
    }
}

/// Runs the test on both databases, without a schema.
pub(crate) async fn on_both_empty(test: impl AsyncFn(&Database)) {
    Database::sqlite().run(&test).await;
    Database::postgres(Postgres::empty().await).run(&test).await;
}

/// Like [`on_both_empty`], with the schema and an open store.
pub(crate) async fn on_both(test: impl AsyncFn(&Database, Store)) {
    let opened = async |database: &Database| test(database, database.open().await).await;
    let sqlite = Database::sqlite();
    std::fs::copy(sqlite_template().await, sqlite.data_dir().join("forebay.db")).unwrap();
    sqlite.run(opened).await;
    Database::postgres(Postgres::migrated().await).run(opened).await;
}
