//! GPU time per replica and hour, for export: rows are overwritten until sealed, and corrected by further rows afterwards.

use crate::cluster::leader::Fenced;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::{holds, row};
use domain::gpu_time::GpuMillis;
use domain::{Grain, ReplicaId, Span, Timestamp};
use std::collections::BTreeMap;

/// Grace period after the end of an hour in which it may still change.
const GRACE_MILLIS: i64 = 15 * 60_000;
const MAX_LISTED: i64 = 1_000;

/// A sealed hour that is not exported yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    /// `gpuh:{replica}:{hour}`, the same for every attempt to send it.
    pub id: String,
    pub replica: ReplicaId,
    pub hour: Timestamp,
    pub gpu_time: GpuMillis,
}

/// The existing rows of one replica for an hour.
struct Written {
    gpu_millis: i64,
    is_sealed: bool,
    /// The original row and its corrections.
    rows: u64,
}

/// The first hour that may still have to be written and sealed; `None` if no GPU was ever held.
pub async fn first_open_hour(store: &Store) -> Result<Option<Timestamp>, StoreError> {
    let sealed = sqlx::query("SELECT MAX(hour) AS hour FROM gpu_usage_hourly WHERE sealed_at IS NOT NULL");
    let newest = store.row(sealed).await?.map(|found| row::optional_moment(&found, "hour")).transpose()?.flatten();
    if let Some(newest) = newest {
        return Ok(Some(newest.plus_millis(Grain::Hour.millis())));
    }
    let oldest = sqlx::query("SELECT MIN(started_at) AS started_at FROM replica_holds");
    let oldest = store.row(oldest).await?.map(|found| row::optional_moment(&found, "started_at")).transpose()?;
    Ok(oldest.flatten().map(|moment| Grain::Hour.start_of(moment)))
}

/// Recomputes one hour from the holds, and seals it when its grace period is over. If a sealed hour differs, a correcting
/// row is added. Idempotent.
pub async fn roll_up(store: &Store, epoch: u64, hour: Timestamp, now: Timestamp) -> Result<(), StoreError> {
    let span = Span { from: hour, to: hour.plus_millis(Grain::Hour.millis()) };
    let held = holds::overlapping(store, span).await?;
    let mut tx = Fenced::begin(store, epoch).await?;
    let written = written(&mut tx, hour).await?;
    for held in &held {
        let time = held.hold.gpu_time(span, now);
        match written.get(&held.replica) {
            Some(before) if before.is_sealed => {
                let by = time.get() - before.gpu_millis;
                if by != 0 {
                    adjust(&mut tx, &held.replica, hour, before.rows, by, now).await?;
                }
            }
            Some(_) | None => write(&mut tx, &held.replica, hour, time).await?,
        }
    }
    if now.millis() >= span.to.millis() + GRACE_MILLIS {
        let seal = sqlx::query("UPDATE gpu_usage_hourly SET sealed_at = $2 WHERE hour = $1 AND sealed_at IS NULL");
        tx.execute(seal.bind(hour.millis()).bind(now.millis())).await?;
    }
    tx.commit().await
}

async fn written(tx: &mut Tx, hour: Timestamp) -> Result<BTreeMap<ReplicaId, Written>, StoreError> {
    let query = sqlx::query(
        "SELECT replica_id, CAST(SUM(gpu_ms) AS BIGINT) AS gpu_ms, COUNT(*) AS row_count, \
         COUNT(sealed_at) AS sealed_count FROM gpu_usage_hourly WHERE hour = $1 GROUP BY replica_id",
    );
    let mut all = BTreeMap::new();
    for found in &tx.rows(query.bind(hour.millis())).await? {
        let written = Written {
            gpu_millis: row::number(found, "gpu_ms")?,
            is_sealed: row::number(found, "sealed_count")? > 0,
            rows: row::count(found, "row_count")?,
        };
        all.insert(row::parsed(found, "replica_id", |text| ReplicaId::parse(text).ok())?, written);
    }
    Ok(all)
}

async fn write(tx: &mut Tx, replica: &ReplicaId, hour: Timestamp, time: GpuMillis) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO gpu_usage_hourly (id, replica_id, hour, gpu_ms, adjusts, sealed_at, sent_at) \
         VALUES ($1, $2, $3, $4, NULL, NULL, NULL) ON CONFLICT (id) DO UPDATE SET gpu_ms = excluded.gpu_ms \
         WHERE gpu_usage_hourly.sealed_at IS NULL",
    )
    .bind(id(replica, hour))
    .bind(replica.as_str())
    .bind(hour.millis())
    .bind(time.get());
    tx.execute(upsert).await.map(drop)
}

fn id(replica: &ReplicaId, hour: Timestamp) -> String {
    format!("gpuh:{replica}:{}", hour.millis() / Grain::Hour.millis())
}

/// Corrects a sealed hour with a further row; `number` distinguishes corrections.
async fn adjust(
    tx: &mut Tx,
    replica: &ReplicaId,
    hour: Timestamp,
    number: u64,
    by: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let adjusted = id(replica, hour);
    let insert = sqlx::query(
        "INSERT INTO gpu_usage_hourly (id, replica_id, hour, gpu_ms, adjusts, sealed_at, sent_at) \
         VALUES ($1, $2, $3, $4, $5, $6, NULL) ON CONFLICT DO NOTHING",
    )
    .bind(format!("{adjusted}:{number}"))
    .bind(replica.as_str())
    .bind(hour.millis())
    .bind(by)
    .bind(adjusted)
    .bind(now.millis());
    tx.execute(insert).await.map(drop)
}

/// Sealed hours that are not sent yet, oldest first.
pub async fn unsent(store: &Store) -> Result<Vec<Unsent>, StoreError> {
    let query = sqlx::query(
        "SELECT id, replica_id, hour, gpu_ms FROM gpu_usage_hourly WHERE sealed_at IS NOT NULL AND sent_at IS NULL \
         ORDER BY hour, id LIMIT $1",
    );
    let found = store.rows(query.bind(MAX_LISTED)).await?;
    let unsent = found.iter().map(|found| {
        Ok(Unsent {
            id: row::text(found, "id")?,
            replica: row::parsed(found, "replica_id", |text| ReplicaId::parse(text).ok())?,
            hour: row::moment(found, "hour")?,
            gpu_time: GpuMillis::new(row::number(found, "gpu_ms")?),
        })
    });
    unsent.collect()
}

pub async fn sent(tx: &mut Fenced, id: &str, now: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE gpu_usage_hourly SET sent_at = $2 WHERE id = $1 AND sent_at IS NULL");
    tx.execute(update.bind(id).bind(now.millis())).await.map(drop)
}
