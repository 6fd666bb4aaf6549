//! Migrations of the schema, forward only.
//!
//! Several nodes may start at once: the first one migrates under a lock, the others find it done.
//!
//! Nodes are updated one after another, so a version must work with the schema of the next: a migration adds what the new
//! version needs, and a later release removes what is no longer used (decision 14). Each migration records the oldest
//! version that still works with it; older ones refuse to start.

use crate::db::{Engine, Store, Tx};
use crate::error::StoreError;
use crate::row;
use sqlx::any::AnyRow;

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
    Migration { version: 6, script: include_str!("../migrations/0006_series.sql") },
    Migration { version: 7, script: include_str!("../migrations/0007_several_nodes_of_endpoints.sql") },
    Migration { version: 8, script: include_str!("../migrations/0008_drivers.sql") },
    Migration { version: 9, script: include_str!("../migrations/0009_usage_kinds.sql") },
    Migration { version: 10, script: include_str!("../migrations/0010_proven_addresses.sql") },
    Migration { version: 11, script: include_str!("../migrations/0011_surfaces.sql") },
    Migration { version: 12, script: include_str!("../migrations/0012_workspace_aliases.sql") },
    Migration { version: 13, script: include_str!("../migrations/0013_catalogue.sql") },
    Migration { version: 14, script: include_str!("../migrations/0014_stored_responses.sql") },
    Migration { version: 15, script: include_str!("../migrations/0015_failed_calls_by_time.sql") },
    Migration { version: 16, script: include_str!("../migrations/0016_failovers.sql") },
    Migration { version: 17, script: include_str!("../migrations/0017_prefill_queues.sql") },
    Migration { version: 18, script: include_str!("../migrations/0018_log_requests.sql") },
    Migration { version: 19, script: include_str!("../migrations/0019_download_requests.sql") },
    Migration { version: 20, script: include_str!("../migrations/0020_node_requests.sql") },
    Migration { version: 21, script: include_str!("../migrations/0021_workspaces_of_organizations.sql") },
    Migration { version: 22, script: include_str!("../migrations/0022_bounds_of_organizations.sql") },
    Migration { version: 23, script: include_str!("../migrations/0023_restrictions_of_keys.sql") },
    Migration { version: 24, script: include_str!("../migrations/0024_budgets_of_keys.sql") },
    Migration { version: 25, script: include_str!("../migrations/0025_monthly_budgets.sql") },
    Migration { version: 26, script: include_str!("../migrations/0026_engine_capabilities.sql") },
    Migration { version: 27, script: include_str!("../migrations/0027_files_and_batches.sql") },
    Migration { version: 28, script: include_str!("../migrations/0028_limits_of_keys_and_organizations.sql") },
    Migration { version: 29, script: include_str!("../migrations/0029_end_users.sql") },
    Migration { version: 30, script: include_str!("../migrations/0030_end_users_of_calls.sql") },
    Migration { version: 31, script: include_str!("../migrations/0031_queue_weights.sql") },
    Migration { version: 32, script: include_str!("../migrations/0032_usage_classes.sql") },
    Migration { version: 33, script: include_str!("../migrations/0033_files_in_a_bucket.sql") },
    Migration { version: 34, script: include_str!("../migrations/0034_classes_of_calls.sql") },
    Migration { version: 35, script: include_str!("../migrations/0035_totals_of_files.sql") },
    Migration { version: 36, script: include_str!("../migrations/0036_bytes_of_lines.sql") },
];

/// Migrations that only add, each with the newest migration that a version must know to work with it. All others require
/// a version that knows them.
const ADDING: &[(i64, i64)] = &[
    (8, 7),
    (10, 9),
    (11, 9),
    (12, 9),
    (13, 9),
    (14, 9),
    (15, 9),
    (16, 9),
    (17, 9),
    (18, 9),
    (19, 9),
    (20, 9),
    (21, 9),
    (22, 9),
    (23, 9),
    (24, 9),
    (25, 9),
    (26, 9),
    (27, 9),
    (28, 9),
    (29, 9),
    (30, 9),
    (31, 9),
    (32, 9),
    (33, 9),
    (34, 9),
    (35, 9),
    (36, 9),
];

const SERVES_SINCE: &str = "SELECT MAX(serves_since) AS serves_since FROM schema_version";

/// The lock is held until the end of the transaction. Timeouts are off: a migration may take longer than a request.
const POSTGRES_LOCK: &str = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; \
     SELECT pg_advisory_xact_lock(7023110001);";

/// The schema version before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    pub from: i64,
    pub to: i64,
}

/// The schema version of a store, compared with the one that this version of Forebay knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// The newest version that the store has; `None` if it has no tables of Forebay.
    pub found: Option<i64>,
    pub known: i64,
    /// Whether this version of Forebay works with it: a newer version may only have added to it.
    pub can_be_served: bool,
    /// The number of migrations that the next start runs.
    pub to_do: usize,
}

impl Store {
    /// Reads the schema version, without changes.
    pub async fn schema(&self) -> Result<Schema, StoreError> {
        let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
        let done: Vec<i64> = match self.rows(sqlx::query("SELECT version FROM schema_version")).await {
            Ok(found) => found.iter().map(|found| row::number(found, "version")).collect::<Result<_, _>>()?,
            Err(error) if error.is_unavailable() => return Err(error),
            // The table does not exist yet.
            Err(_) => Vec::new(),
        };
        let to_do = MIGRATIONS.iter().filter(|migration| !done.contains(&migration.version)).count();
        let found = done.iter().copied().max();
        let can_be_served = match found {
            Some(found) if found > known => match self.rows(sqlx::query(SERVES_SINCE)).await {
                Ok(rows) => newest_needed(&rows)? <= known,
                Err(error) if error.is_unavailable() => return Err(error),
                // The column does not exist.
                Err(_) => false,
            },
            Some(_) | None => true,
        };
        Ok(Schema { found, known, can_be_served, to_do })
    }

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
        if found > known && serves_since(&mut tx).await? > known {
            return Err(StoreError::SchemaTooNew { found, known });
        }
        for migration in MIGRATIONS.iter().filter(|migration| !done.contains(&migration.version)) {
            tx.run_script(migration.script).await?;
            let record = sqlx::query("INSERT INTO schema_version (version) VALUES ($1)").bind(migration.version);
            tx.execute(record).await?;
        }
        record_compatibility(&mut tx).await?;
        tx.commit().await?;
        Ok(Migrated { from: found, to: known.max(found) })
    }
}

/// Records for older versions of Forebay whether they work with these migrations.
async fn record_compatibility(tx: &mut Tx) -> Result<(), StoreError> {
    for Migration { version, .. } in MIGRATIONS {
        let since = ADDING.iter().find(|(adding, _)| adding == version).map_or(*version, |(_, since)| *since);
        let record =
            sqlx::query("UPDATE schema_version SET serves_since = $2 WHERE version = $1 AND serves_since <> $2");
        tx.execute(record.bind(*version).bind(since)).await?;
    }
    Ok(())
}

/// The newest migration that a version must know to work with this schema.
async fn serves_since(tx: &mut Tx) -> Result<i64, StoreError> {
    newest_needed(&tx.rows(sqlx::query(SERVES_SINCE)).await?)
}

fn newest_needed(rows: &[AnyRow]) -> Result<i64, StoreError> {
    rows.first().map_or(Ok(0), |found| row::number(found, "serves_since"))
}

/// The migrations that have run. One that was added to Forebay later than its successor may still be missing.
async fn done(tx: &mut Tx) -> Result<Vec<i64>, StoreError> {
    let query = sqlx::query("SELECT version FROM schema_version");
    tx.rows(query).await?.iter().map(|found| row::number(found, "version")).collect()
}
