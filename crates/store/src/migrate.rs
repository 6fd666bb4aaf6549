//! Brings the schema forward, never back.
//!
//! Several nodes may start at once: whoever comes first does the work under a lock, the others find it done. A schema
//! newer than this program is refused, because an old program could not keep the promises of a new one.

use crate::db::{Engine, Store, Tx};
use crate::error::StoreError;
use crate::row;

struct Migration {
    version: i64,
    script: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, script: include_str!("../migrations/0001_people_keys_and_usage.sql") },
    Migration { version: 2, script: include_str!("../migrations/0002_quota_and_costs.sql") },
    Migration { version: 3, script: include_str!("../migrations/0003_people.sql") },
    Migration { version: 4, script: include_str!("../migrations/0004_endpoints.sql") },
    Migration { version: 5, script: include_str!("../migrations/0005_secrets.sql") },
    Migration { version: 8, script: include_str!("../migrations/0008_drivers.sql") },
];

/// Held by PostgreSQL until the end of the transaction; a migration may take longer than a request may.
const POSTGRES_LOCK: &str = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; \
     SELECT pg_advisory_xact_lock(7023110001);";

/// The version that was found, and the one that is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    pub from: i64,
    pub to: i64,
}

impl Store {
    pub async fn migrate(&self) -> Result<Migrated, StoreError> {
        let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
        let mut tx = self.begin().await?;
        match tx.engine() {
            Engine::Sqlite => {} // its write transactions exclude each other already
            Engine::Postgres => tx.run_script(POSTGRES_LOCK).await?,
        }
        tx.run_script("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)").await?;
        let done = done(&mut tx).await?;
        let found = done.iter().copied().max().unwrap_or(0);
        if found > known {
            return Err(StoreError::SchemaTooNew { found, known });
        }
        for migration in MIGRATIONS.iter().filter(|migration| !done.contains(&migration.version)) {
            tx.run_script(migration.script).await?;
            let record = sqlx::query("INSERT INTO schema_version (version) VALUES ($1)").bind(migration.version);
            tx.execute(record).await?;
        }
        tx.commit().await?;
        Ok(Migrated { from: found, to: known })
    }
}

/// The migrations that were made. One that joined the program later than its successor is still to be made.
async fn done(tx: &mut Tx) -> Result<Vec<i64>, StoreError> {
    let query = sqlx::query("SELECT version FROM schema_version");
    tx.rows(query).await?.iter().map(|found| row::number(found, "version")).collect()
}
