//! Scratch databases: each story is told on SQLite and on PostgreSQL, in a database of its own.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use std::path::Path;
use std::time::Duration;
use store::Store;
use tempfile::TempDir;

/// Far more than any story needs, and less than a person would wait.
const STORY_PATIENCE: Duration = Duration::from_secs(60);

/// An address that several stores may be opened on, as several processes would.
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

    /// A database whose story failed stays, to be looked at.
    async fn remove(self) {
        let Some((server, name)) = &self.drop_on else { return };
        let mut connection = PgConnection::connect(server).await.unwrap();
        connection.execute(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
    }
}

/// Tells the story on both databases, which have no schema yet.
pub(crate) async fn on_both_empty(story: impl AsyncFn(&Database)) {
    for database in [Database::sqlite(), Database::postgres().await] {
        let told = tokio::time::timeout(STORY_PATIENCE, story(&database)).await;
        assert!(told.is_ok(), "the story on {} did not end", database.url);
        database.remove().await;
    }
}

/// As [`on_both_empty`], with the schema in place and a store open.
pub(crate) async fn on_both(story: impl AsyncFn(&Database, Store)) {
    on_both_empty(async |database| {
        let store = database.open().await;
        store.migrate().await.unwrap();
        story(database, store).await;
    })
    .await;
}
