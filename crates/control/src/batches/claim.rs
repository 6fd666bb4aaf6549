//! Makes one run at a time work on a batch.

use super::{BatchError, BatchStorage};
use crate::command_error::CommandError;
use domain::{BatchId, RunId, Timestamp};
use store::Tx;
use store::batches;

/// A node that reads an input or writes results renews its claim in every transaction; none takes nearly as long.
const CLAIM_MILLIS: i64 = 60_000;
const _: () =
    assert!(bucket::MAX_REQUEST.as_millis() < CLAIM_MILLIS as u128, "a chunk is written between two renewals");
/// How soon work is repeated that failed because the store could not be reached.
const REPEAT_MILLIS: i64 = 5_000;

/// The claim of a run on a batch whose input it reads, or whose results it writes.
#[derive(Debug, Clone)]
pub struct Claim {
    pub run: RunId,
    pub now: fn() -> Timestamp,
}

impl BatchStorage {
    /// Begins a transaction in which this run owns the batch.
    pub(super) async fn begin_owned(&self, batch: &BatchId, claim: &Claim) -> Result<Tx, BatchError> {
        let mut tx = self.store.begin().await?;
        let now = (claim.now)();
        if batches::own(&mut tx, batch, &claim.run, now, now.plus_millis(CLAIM_MILLIS)).await? {
            Ok(tx)
        } else {
            Err(BatchError::NotOwned)
        }
    }

    /// Makes this run the owner of the batch.
    pub(super) async fn own(&self, batch: &BatchId, claim: &Claim) -> Result<(), BatchError> {
        Ok(self.begin_owned(batch, claim).await?.commit().await?)
    }

    /// After a failure of the store, lets any node repeat the work soon. Otherwise that waits until the claim ends: a bucket that
    /// is away may take long to come back, and each attempt would write all results again.
    pub(super) async fn repeat_soon(&self, batch: &BatchId, claim: &Claim, error: &BatchError) {
        if !matches!(error, BatchError::Command(CommandError::StoreUnavailable { .. })) {
            return;
        }
        let renew = async {
            let mut tx = self.store.begin().await?;
            let now = (claim.now)();
            batches::own(&mut tx, batch, &claim.run, now, now.plus_millis(REPEAT_MILLIS)).await?;
            tx.commit().await
        };
        if let Err(error) = renew.await {
            tracing::debug!(?error, "work on {batch} is repeated when its claim ends");
        }
    }
}
