//! The leader of the control plane, and transactions that only the leader may make.
//!
//! An expired term alone does not stop a leader that was paused and wakes up. So the leader writes through [`Fenced`],
//! which locks the leader's row: a takeover waits for the transaction, and later transactions of the old leader fail.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::Timestamp;
use domain::leadership::Term;
use sqlx::any::AnyRow;
use std::ops::{Deref, DerefMut};

pub async fn read(store: &Store) -> Result<Term, StoreError> {
    let query = sqlx::query("SELECT epoch, holder, renewals FROM leader WHERE name = 'control'");
    term(&store.row(query).await?.ok_or_else(no_leader)?)
}

/// Opens a new epoch for `holder`, if the term is still the one that was `seen`.
pub async fn take_over(store: &Store, seen: &Term, holder: &str, now: Timestamp) -> Result<Option<Term>, StoreError> {
    let update = sqlx::query(
        "UPDATE leader SET epoch = epoch + 1, holder = $3, renewals = renewals + 1, renewed_at = $4 \
         WHERE name = 'control' AND epoch = $1 AND renewals = $2",
    )
    .bind(row::to_number(seen.epoch))
    .bind(row::to_number(seen.renewals))
    .bind(holder)
    .bind(now.millis());
    let taken = store.execute(update).await? == 1;
    let term = Term { epoch: seen.epoch + 1, holder: holder.to_owned(), renewals: seen.renewals + 1 };
    Ok(taken.then_some(term))
}

/// Renews the leadership; false if this node no longer leads.
pub async fn renew(store: &Store, epoch: u64, holder: &str, now: Timestamp) -> Result<bool, StoreError> {
    let update = sqlx::query(
        "UPDATE leader SET renewals = renewals + 1, renewed_at = $3 \
         WHERE name = 'control' AND epoch = $1 AND holder = $2",
    );
    Ok(store.execute(update.bind(row::to_number(epoch)).bind(holder).bind(now.millis())).await? == 1)
}

/// Ends the term, so that the next leader need not wait until it expires.
pub async fn resign(store: &Store, epoch: u64, holder: &str) -> Result<bool, StoreError> {
    let update = sqlx::query(
        "UPDATE leader SET holder = '', renewals = renewals + 1 WHERE name = 'control' AND epoch = $1 AND holder = $2",
    );
    Ok(store.execute(update.bind(row::to_number(epoch)).bind(holder)).await? == 1)
}

/// A transaction of the leader of one epoch.
pub struct Fenced {
    tx: Tx,
    epoch: u64,
}

impl Fenced {
    /// Fails if the epoch is over.
    pub async fn begin(store: &Store, epoch: u64) -> Result<Self, StoreError> {
        let mut tx = store.begin().await?;
        let lock = sqlx::query("UPDATE leader SET epoch = epoch WHERE name = 'control' AND epoch = $1");
        if tx.execute(lock.bind(row::to_number(epoch))).await? == 0 {
            return Err(StoreError::NotLeader { epoch });
        }
        Ok(Self { tx, epoch })
    }

    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        self.tx.commit().await
    }
}

impl Deref for Fenced {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl DerefMut for Fenced {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.tx
    }
}

fn term(found: &AnyRow) -> Result<Term, StoreError> {
    Ok(Term {
        epoch: row::count(found, "epoch")?,
        holder: row::text(found, "holder")?,
        renewals: row::count(found, "renewals")?,
    })
}

fn no_leader() -> StoreError {
    row::corrupt("leader")
}
