//! Sign-in attempts and changes of passwords, by a digest of the account or the address.

use crate::db::Tx;
use crate::error::StoreError;
use crate::row;
use domain::attempts::{self, Attempts, Policy};
use domain::{SecretHash, Timestamp};

/// Counts an attempt, or fails if there were too many. Locks the row until the end of the transaction.
pub async fn take(tx: &mut Tx, subject: &str, policy: &Policy, now: Timestamp) -> Result<(), StoreError> {
    let digest = digest(subject);
    let lock = sqlx::query(
        "INSERT INTO sign_in_attempts (subject, attempts, since) VALUES ($1, 0, $2) \
         ON CONFLICT (subject) DO UPDATE SET attempts = sign_in_attempts.attempts RETURNING attempts, since",
    );
    let found = tx.row(lock.bind(digest.as_str()).bind(now.millis())).await?;
    let found = found.ok_or_else(|| row::corrupt("sign_in_attempts"))?;
    let seen = Attempts { count: row::count(&found, "attempts")?, since: row::moment(&found, "since")? };
    let counted = attempts::count(policy, seen, now).map_err(|wait| StoreError::TooManyAttempts { wait })?;
    if counted.count == 1 {
        let over = sqlx::query("DELETE FROM sign_in_attempts WHERE since < $1 AND subject <> $2");
        // Rows of other policies are among them.
        let oldest = now.millis().saturating_sub(attempts::LONGEST_SPAN_MILLIS);
        tx.execute(over.bind(oldest).bind(digest.as_str())).await?;
    }
    let update = sqlx::query("UPDATE sign_in_attempts SET attempts = $2, since = $3 WHERE subject = $1")
        .bind(digest.as_str())
        .bind(row::to_number(counted.count))
        .bind(counted.since.millis());
    tx.execute(update).await.map(drop)
}

/// Takes back one attempt, because it was successful.
pub async fn give_back(tx: &mut Tx, subject: &str) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE sign_in_attempts SET attempts = attempts - 1 WHERE subject = $1 AND attempts > 0");
    tx.execute(update.bind(digest(subject))).await.map(drop)
}

/// Resets the attempts after a successful sign-in.
pub async fn forget(tx: &mut Tx, subject: &str) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM sign_in_attempts WHERE subject = $1");
    tx.execute(delete.bind(digest(subject))).await.map(drop)
}

/// Only digests are stored, so that the table contains no e-mail or IP addresses.
fn digest(subject: &str) -> String {
    SecretHash::of(subject).to_hex()
}
