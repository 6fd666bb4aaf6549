//! Hours of holds, for export: overwritten until sealed, corrected by further rows afterwards.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::leader::Fenced;
use crate::{holds, row};
use domain::gpu_time::GpuMillis;
use domain::{Grain, ReplicaId, Span, Timestamp};

/// An hour may still change for so long after its end.
const GRACE_MILLIS: i64 = 15 * 60_000;
const MAX_LISTED: i64 = 1_000;

/// A sealed hour that nobody has taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    /// `gpuh:{replica}:{hour}`, the same however often it is sent.
    pub id: String,
    pub replica: ReplicaId,
    pub hour: Timestamp,
    pub gpu_time: GpuMillis,
}

/// Computes one hour from the holds again, and seals it when its grace is over. Doing it twice changes nothing.
pub async fn roll_up(store: &Store, epoch: u64, hour: Timestamp, now: Timestamp) -> Result<(), StoreError> {
    let span = Span { from: hour, to: hour.plus_millis(Grain::Hour.millis()) };
    let held = holds::overlapping(store, span).await?;
    let mut tx = Fenced::begin(store, epoch).await?;
    for held in &held {
        write(&mut tx, &held.replica, hour, held.hold.gpu_time(span, now)).await?;
    }
    if now.millis() >= span.to.millis() + GRACE_MILLIS {
        let seal = sqlx::query("UPDATE gpu_usage_hourly SET sealed_at = $2 WHERE hour = $1 AND sealed_at IS NULL");
        tx.execute(seal.bind(hour.millis()).bind(now.millis())).await?;
    }
    tx.commit().await
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

/// Corrects a sealed hour by a row of its own; `number` tells corrections apart, so that one is not made twice.
pub async fn adjust(
    tx: &mut Fenced,
    sealed: &Unsent,
    number: u32,
    by: GpuMillis,
    now: Timestamp,
) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO gpu_usage_hourly (id, replica_id, hour, gpu_ms, adjusts, sealed_at, sent_at) \
         VALUES ($1, $2, $3, $4, $5, $6, NULL) ON CONFLICT DO NOTHING",
    )
    .bind(format!("{}:{number}", sealed.id))
    .bind(sealed.replica.as_str())
    .bind(sealed.hour.millis())
    .bind(by.get())
    .bind(sealed.id.as_str())
    .bind(now.millis());
    tx.execute(insert).await.map(drop)
}

/// Sealed hours that are still to be sent, oldest first.
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
