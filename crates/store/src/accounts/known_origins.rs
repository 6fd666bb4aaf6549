//! Addresses and browsers from which users have signed in, as digests.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use domain::{SecretHash, Timestamp, UserId};

/// The most origins per user; a sign-in removes the oldest ones beyond.
const MAX_OF_ONE_USER: i64 = 50;
/// Origins are forgotten when they were not used for this long.
pub const KEPT_MILLIS: i64 = 180 * 24 * 60 * 60 * 1_000;

/// Whether the user has signed in from this origin.
pub async fn is_known(store: &Store, user: &UserId, origin: &str, now: Timestamp) -> Result<bool, StoreError> {
    let query = sqlx::query("SELECT seen_at FROM known_origins WHERE user_id = $1 AND origin = $2 AND seen_at > $3")
        .bind(user.as_str())
        .bind(digest(user, origin))
        .bind(now.millis().saturating_sub(KEPT_MILLIS));
    Ok(store.row(query).await?.is_some())
}

/// Records a sign-in from this origin.
pub async fn remember(tx: &mut Tx, user: &UserId, origin: &str, now: Timestamp) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO known_origins (user_id, origin, seen_at) VALUES ($1, $2, $3) \
         ON CONFLICT (user_id, origin) DO UPDATE SET seen_at = excluded.seen_at",
    );
    tx.execute(upsert.bind(user.as_str()).bind(digest(user, origin)).bind(now.millis())).await?;
    let surplus = sqlx::query(
        "DELETE FROM known_origins WHERE user_id = $1 AND origin NOT IN \
         (SELECT origin FROM known_origins WHERE user_id = $1 ORDER BY seen_at DESC, origin LIMIT $2)",
    );
    tx.execute(surplus.bind(user.as_str()).bind(MAX_OF_ONE_USER)).await.map(drop)
}

/// Forgets all origins of a user, because another user may have signed in.
pub async fn forget_all_of(tx: &mut Tx, user: &UserId) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM known_origins WHERE user_id = $1").bind(user.as_str());
    tx.execute(delete).await.map(drop)
}

/// Only digests are stored, and those of two users differ, so that the table reveals no addresses.
fn digest(user: &UserId, origin: &str) -> String {
    SecretHash::of(&format!("{user} {origin}")).to_hex()
}
