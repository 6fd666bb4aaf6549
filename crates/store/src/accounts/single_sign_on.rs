//! Pending sign-ins at the identity provider, and the links between its subjects and our users.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::{SecretHash, Timestamp, UserId};

/// A sign-in that waits for the browser to return from the provider.
pub struct Pending {
    pub nonce: String,
    pub verifier: String,
}

pub async fn begin(
    tx: &mut Tx,
    state: SecretHash,
    pending: &Pending,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let over = sqlx::query("DELETE FROM oidc_sign_ins WHERE expires_at <= $1").bind(now.millis());
    tx.execute(over).await?;
    let insert =
        sqlx::query("INSERT INTO oidc_sign_ins (state_hash, nonce, verifier, expires_at) VALUES ($1, $2, $3, $4)")
            .bind(state.to_hex())
            .bind(pending.nonce.as_str())
            .bind(pending.verifier.as_str())
            .bind(expires_at.millis());
    tx.execute(insert).await.map(drop)
}

/// Takes a pending sign-in: it can be used once.
pub async fn take(tx: &mut Tx, state: SecretHash, now: Timestamp) -> Result<Option<Pending>, StoreError> {
    let delete =
        sqlx::query("DELETE FROM oidc_sign_ins WHERE state_hash = $1 AND expires_at > $2 RETURNING nonce, verifier");
    let Some(found) = tx.row(delete.bind(state.to_hex()).bind(now.millis())).await? else { return Ok(None) };
    Ok(Some(Pending { nonce: row::text(&found, "nonce")?, verifier: row::text(&found, "verifier")? }))
}

pub async fn linked(store: &Store, issuer: &str, subject: &str) -> Result<Option<UserId>, StoreError> {
    let query = sqlx::query("SELECT user_id FROM oidc_links WHERE issuer = $1 AND subject = $2");
    let found = store.row(query.bind(issuer).bind(subject)).await?;
    found.map(|found| row::parsed(&found, "user_id", |text| UserId::parse(text).ok())).transpose()
}

pub async fn link(tx: &mut Tx, issuer: &str, subject: &str, user: &UserId) -> Result<(), StoreError> {
    let insert =
        sqlx::query("INSERT INTO oidc_links (issuer, subject, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
    tx.execute(insert.bind(issuer).bind(subject).bind(user.as_str())).await.map(drop)
}
