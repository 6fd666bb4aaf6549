//! What is done now and then: sums of GPU-hours, a look at the ledger, and the clearing away of what nobody asks for.

use super::Parts;
use crate::endpoints::find_differences;
use domain::{Grain, Timestamp};
use store::{Fenced, StoreError, endpoint_events, gpu_usage, idempotency, replicas};

const ROLL_UP_EVERY_MILLIS: u64 = 60_000;
const TIDY_EVERY_MILLIS: u64 = 3_600_000;
/// Replicas that ended are shown for so long; their holds stay.
const KEEP_REPLICAS_MILLIS: i64 = 7 * 24 * 3_600_000;

#[derive(Default)]
pub(super) struct Upkeep {
    rolled_up_at: Option<Timestamp>,
    tidied_at: Option<Timestamp>,
}

impl Upkeep {
    pub(super) async fn tick<D>(&mut self, parts: &Parts<D>, epoch: u64) -> Result<(), StoreError> {
        let now = (parts.now)();
        let due = |last: Option<Timestamp>, every| last.is_none_or(|at| now < at || now.millis_since(at) >= every);
        if due(self.rolled_up_at, ROLL_UP_EVERY_MILLIS) {
            self.rolled_up_at = Some(now);
            let hour = Grain::Hour.start_of(now);
            // The hour before is open for a while: replicas may still tell how they ended.
            for hour in [hour.plus_millis(-Grain::Hour.millis()), hour] {
                gpu_usage::roll_up(&parts.store, epoch, hour, now).await?;
            }
        }
        if due(self.tidied_at, TIDY_EVERY_MILLIS) {
            self.tidied_at = Some(now);
            // A difference is told by an error in the log and mended by a person: it is a bug, and hiding it would not help.
            match find_differences(&parts.store).await {
                Ok(differences) => parts.figures.found_differences(differences.len()),
                Err(error) => tracing::warn!(%error, "the ledger could not be looked at"),
            }
            endpoint_events::prune(&parts.store, now).await?;
            idempotency::prune(&parts.store, now).await?;
            let mut tx = Fenced::begin(&parts.store, epoch).await?;
            replicas::prune(&mut tx, now.plus_millis(-KEEP_REPLICAS_MILLIS)).await?;
            tx.commit().await?;
        }
        Ok(())
    }
}
