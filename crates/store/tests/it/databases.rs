//! Scratch databases: each test runs on SQLite and on PostgreSQL, in its own database.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use std::path::Path;
use std::time::Duration;
use store::Store;
use tempfile::TempDir;

/// Far more than any test needs.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A database on which several stores can be opened, as several processes would do.
pub(crate) struct Database {
    pub(crate) url: String,
    folder: TempDir,
    drop_on: Option<(String, String)>,
}

impl Database {
    fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        Self { url: "sqlite:forebay.db".into(), folder, drop_on: None }
    }

    async fn postgres() -> Self {
        let Ok(server) = std::env::var("FOREBAY_TEST_POSTGRES") else {
            panic!(
                "FOREBAY_TEST_POSTGRES is not set: run `make test`, or first \
                 `export FOREBAY_TEST_POSTGRES=$(scripts/postgres start /tmp/forebay-postgres)`"
            );
        };
        let name = format!("forebay_{:016x}", getrandom::u64().unwrap());
        let mut connection = PgConnection::connect(&server).await.unwrap();
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        let (place, _) = server.rsplit_once('/').expect("the URL ends with a database");
        Self { url: format!("{place}/{name}"), folder: TempDir::new().unwrap(), drop_on: Some((server.clone(), name)) }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Another handle, with connections of its own.
    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.url, self.data_dir()).await.unwrap()
    }

    /// Not called if a test failed, so that its database can be inspected.
    async fn remove(self) {
        let Some((server, name)) = &self.drop_on else { return };
        let mut connection = PgConnection::connect(server).await.unwrap();
        connection.execute(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
    }
}

/// Runs the test on both databases, without a schema.
pub(crate) async fn on_both_empty(test: impl AsyncFn(&Database)) {
    for database in [Database::sqlite(), Database::postgres().await] {
        let outcome = tokio::time::timeout(TEST_TIMEOUT, test(&database)).await;
        assert!(outcome.is_ok(), "the test on {} did not end", database.url);
        database.remove().await;
    }
}

/// Like [`on_both_empty`], with the schema and an open store.
pub(crate) async fn on_both(test: impl AsyncFn(&Database, Store)) {
    on_both_empty(async |database| {
        let store = database.open().await;
        store.migrate().await.unwrap();
        test(database, store).await;
    })
    .await;
}
