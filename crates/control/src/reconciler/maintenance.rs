//! Periodic maintenance: sums of GPU-hours, a check of the ledger, and the pruning of old rows.

use super::round::Round;
use crate::endpoints::find_differences;
use domain::{Grain, Timestamp};
use fleet::drivers::Driver;
use store::{Fenced, StoreError, endpoint_events, endpoint_loads, gpu_usage, idempotency, replicas};

const ROLL_UP_EVERY_MILLIS: u64 = 60_000;
/// Bound of the hours that one round catches up after a long downtime.
const HOURS_PER_ROUND: usize = 48;
/// For how long sealed hours are compared with the holds again.
const LOOK_BACK_HOURS: i64 = 72;
const PRUNE_EVERY_MILLIS: u64 = 3_600_000;
/// How long ended replicas are listed; their holds are kept.
const KEEP_REPLICAS_MILLIS: i64 = 7 * 24 * 3_600_000;
/// Longer than any autoscaler window; older node reports are never read.
const KEEP_LOADS_MILLIS: i64 = 2 * 3_600_000;

#[derive(Default)]
pub(super) struct Maintenance {
    rolled_up_at: Option<Timestamp>,
    /// The first hour that is not final.
    next_hour: Option<Timestamp>,
    pruned_at: Option<Timestamp>,
}

impl Maintenance {
    pub(super) async fn tick<D: Driver + Clone>(&mut self, round: &Round<'_, D>) -> Result<(), StoreError> {
        let now = round.now;
        let due = |last: Option<Timestamp>, every| last.is_none_or(|at| now < at || now.millis_since(at) >= every);
        if due(self.rolled_up_at, ROLL_UP_EVERY_MILLIS) {
            self.rolled_up_at = Some(now);
            self.roll_up(round).await?;
        }
        if due(self.pruned_at, PRUNE_EVERY_MILLIS) {
            self.pruned_at = Some(now);
            check_and_prune(round).await?;
        }
        Ok(())
    }

    /// Sums all hours since the last sealed one. The previous hour stays open for a while.
    async fn roll_up<D: Driver + Clone>(&mut self, round: &Round<'_, D>) -> Result<(), StoreError> {
        let (store, now) = (&round.parts.store, round.now);
        let this_hour = Grain::Hour.start_of(now);
        let previous = this_hour.plus_millis(-Grain::Hour.millis());
        let first = match self.next_hour {
            Some(hour) => hour,
            None => gpu_usage::first_open_hour(store).await?.unwrap_or(this_hour),
        };
        for hour in hours(first.min(previous), this_hour).take(HOURS_PER_ROUND) {
            gpu_usage::roll_up(store, round.epoch, hour, now).await?;
            self.next_hour = Some(hour.min(previous));
        }
        Ok(())
    }
}

async fn check_and_prune<D: Driver + Clone>(round: &Round<'_, D>) -> Result<(), StoreError> {
    let (store, now) = (&round.parts.store, round.now);
    match find_differences(store).await {
        Ok(differences) => round.parts.metrics.found_differences(differences.len()),
        Err(error) => tracing::warn!(%error, "cannot check the ledger"),
    }
    let this_hour = Grain::Hour.start_of(now);
    for hour in hours(this_hour.plus_millis(-LOOK_BACK_HOURS * Grain::Hour.millis()), this_hour) {
        gpu_usage::roll_up(store, round.epoch, hour, now).await?;
    }
    endpoint_events::prune(store, now).await?;
    idempotency::prune(store, now).await?;
    let store_now = store.clock().await?;
    let mut tx = Fenced::begin(store, round.epoch).await?;
    replicas::prune(&mut tx, now.plus_millis(-KEEP_REPLICAS_MILLIS)).await?;
    endpoint_loads::prune(&mut tx, store_now.plus_millis(-KEEP_LOADS_MILLIS)).await?;
    tx.commit().await
}

/// The hours from `first` to `last`, both included.
fn hours(first: Timestamp, last: Timestamp) -> impl Iterator<Item = Timestamp> {
    let next = move |hour: &Timestamp| Some(hour.plus_millis(Grain::Hour.millis())).filter(|hour| *hour <= last);
    std::iter::successors((first <= last).then_some(first), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_include_the_first_and_the_last() {
        let at = |hour: i64| Timestamp::from_millis(hour * 3_600_000);
        assert_eq!(hours(at(1), at(3)).collect::<Vec<_>>(), [at(1), at(2), at(3)]);
        assert_eq!(hours(at(3), at(3)).count(), 1);
        assert_eq!(hours(at(4), at(3)).count(), 0);
    }
}
