//! What is done now and then: sums of GPU-hours, a look at the ledger, and the clearing away of what nobody asks for.

use super::Parts;
use crate::endpoints::find_differences;
use domain::{Grain, Timestamp};
use store::{Fenced, StoreError, endpoint_events, endpoint_loads, gpu_usage, idempotency, replicas};

const ROLL_UP_EVERY_MILLIS: u64 = 60_000;
/// Hours that are made good at once after a long absence.
const HOURS_AT_ONCE: usize = 48;
/// Sealed hours are compared with the holds again for so long.
const LOOK_BACK_HOURS: i64 = 72;
const TIDY_EVERY_MILLIS: u64 = 3_600_000;
/// Replicas that ended are shown for so long; their holds stay.
const KEEP_REPLICAS_MILLIS: i64 = 7 * 24 * 3_600_000;
/// No window of an autoscaler asks for older words of a node.
const KEEP_LOADS_MILLIS: i64 = 2 * 3_600_000;

#[derive(Default)]
pub(super) struct Upkeep {
    rolled_up_at: Option<Timestamp>,
    /// The first hour that is to be looked at again.
    next_hour: Option<Timestamp>,
    tidied_at: Option<Timestamp>,
}

impl Upkeep {
    pub(super) async fn tick<D>(&mut self, parts: &Parts<D>, epoch: u64) -> Result<(), StoreError> {
        let now = (parts.now)();
        let due = |last: Option<Timestamp>, every| last.is_none_or(|at| now < at || now.millis_since(at) >= every);
        if due(self.rolled_up_at, ROLL_UP_EVERY_MILLIS) {
            self.rolled_up_at = Some(now);
            self.roll_up(parts, epoch, now).await?;
        }
        if due(self.tidied_at, TIDY_EVERY_MILLIS) {
            self.tidied_at = Some(now);
            tidy(parts, epoch, now).await?;
        }
        Ok(())
    }

    /// All hours since the last one that was sealed; the hour before this one is open for a while.
    async fn roll_up<D>(&mut self, parts: &Parts<D>, epoch: u64, now: Timestamp) -> Result<(), StoreError> {
        let this_hour = Grain::Hour.start_of(now);
        let before = this_hour.plus_millis(-Grain::Hour.millis());
        let first = match self.next_hour {
            Some(hour) => hour,
            None => gpu_usage::first_open_hour(&parts.store).await?.unwrap_or(this_hour),
        };
        for hour in hours(first.min(before), this_hour).take(HOURS_AT_ONCE) {
            gpu_usage::roll_up(&parts.store, epoch, hour, now).await?;
            self.next_hour = Some(hour.min(before));
        }
        Ok(())
    }
}

async fn tidy<D>(parts: &Parts<D>, epoch: u64, now: Timestamp) -> Result<(), StoreError> {
    // A difference is told by an error in the log and mended by a person: it is a bug, and hiding it would not help.
    match find_differences(&parts.store).await {
        Ok(differences) => parts.figures.found_differences(differences.len()),
        Err(error) => tracing::warn!(%error, "the ledger could not be looked at"),
    }
    let this_hour = Grain::Hour.start_of(now);
    for hour in hours(this_hour.plus_millis(-LOOK_BACK_HOURS * Grain::Hour.millis()), this_hour) {
        gpu_usage::roll_up(&parts.store, epoch, hour, now).await?;
    }
    endpoint_events::prune(&parts.store, now).await?;
    idempotency::prune(&parts.store, now).await?;
    let store_now = parts.store.clock().await?;
    let mut tx = Fenced::begin(&parts.store, epoch).await?;
    replicas::prune(&mut tx, now.plus_millis(-KEEP_REPLICAS_MILLIS)).await?;
    endpoint_loads::prune(&mut tx, store_now.plus_millis(-KEEP_LOADS_MILLIS)).await?;
    tx.commit().await
}

/// The hours from one to another, both included.
fn hours(first: Timestamp, last: Timestamp) -> impl Iterator<Item = Timestamp> {
    let next = move |hour: &Timestamp| Some(hour.plus_millis(Grain::Hour.millis())).filter(|hour| *hour <= last);
    std::iter::successors((first <= last).then_some(first), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_counted_from_the_first_to_the_last() {
        let at = |hour: i64| Timestamp::from_millis(hour * 3_600_000);
        assert_eq!(hours(at(1), at(3)).collect::<Vec<_>>(), [at(1), at(2), at(3)]);
        assert_eq!(hours(at(3), at(3)).count(), 1);
        assert_eq!(hours(at(4), at(3)).count(), 0);
    }
}
