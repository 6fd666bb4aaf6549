//! The room that interactive calls leave at a replica for calls that yield to them, such as flex calls.
//!
//! Example: a replica with `max_in_flight = 10` takes at most 5 yielding calls at a `batch_share` of 0.5, and none while it
//! has 10 calls of any class or its engine has a queue. After [`QUIET_SECS`] without interactive calls, it takes 8. The
//! capacity of a replica without `max_in_flight` is probed: it grows by a few calls as long as yielding calls use their
//! share of it and nothing gets slower, and is halved when the engine has a queue or streams begin late.

use domain::model::BatchShare;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The capacity of a replica that declares none, before it was probed.
pub(crate) const INITIAL_CAPACITY: u32 = 8;
const CAPACITY_STEP: u32 = 2;
const LEAST_CAPACITY: u32 = 2;
const MOST_CAPACITY: u32 = 4_096;
/// Streams begin late if the time to their first event is this multiple of the usual one.
const LATE: u32 = 2;
/// A replica is quiet if it has no interactive calls and none has begun for this time.
const QUIET_SECS: u64 = 5;
/// The usual time follows the observed one by this part of the difference.
const USUAL_WEIGHT: u32 = 16;

/// The calls at a replica, as far as this node knows them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occupancy {
    pub(crate) max_in_flight: Option<u32>,
    /// The capacity of a replica without `max_in_flight`.
    pub(crate) probed_capacity: u32,
    pub(crate) share: BatchShare,
    /// Seconds since an interactive call last began.
    pub(crate) quiet_secs: u64,
    /// Calls of all classes.
    pub(crate) in_flight: u32,
    /// Calls that yield.
    pub(crate) yielding: u32,
    /// Calls in the queue of the engine; `None` if it does not report them.
    pub(crate) queued: Option<u64>,
}

/// Whether another call that yields may begin.
pub(crate) fn is_left(occupancy: Occupancy) -> bool {
    let Occupancy { max_in_flight, probed_capacity, share, quiet_secs, in_flight, yielding, queued } = occupancy;
    let is_full = match (max_in_flight, queued) {
        (Some(max), _) => in_flight >= max,
        (None, None) => in_flight >= probed_capacity,
        // An engine without a queue runs all of its calls.
        (None, Some(_)) => false,
    };
    let capacity = max_in_flight.unwrap_or(probed_capacity);
    let is_quiet = quiet_secs >= QUIET_SECS && in_flight <= yielding;
    let share = if is_quiet { share.when_quiet() } else { share };
    !is_full && queued.unwrap_or(0) == 0 && yielding < share.of_calls(capacity)
}

/// The probe of a replica that declares no capacity. Calls only add to it; rounds decide.
#[derive(Debug)]
pub(crate) struct CapacityProbe {
    pub(crate) capacity: AtomicU32,
    usual: Mutex<Duration>,
    /// Times until the first events of streams since the last round.
    micros: AtomicU64,
    streams: AtomicU32,
    is_used_up: AtomicBool,
}

impl Default for CapacityProbe {
    fn default() -> Self {
        Self {
            capacity: AtomicU32::new(INITIAL_CAPACITY),
            usual: Mutex::default(),
            micros: AtomicU64::default(),
            streams: AtomicU32::default(),
            is_used_up: AtomicBool::default(),
        }
    }
}

impl CapacityProbe {
    pub(crate) fn first_event_after(&self, time: Duration) {
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(0), Ordering::Relaxed);
        self.streams.fetch_add(1, Ordering::Relaxed);
    }

    /// A yielding call has used the last of the share, or found it used up.
    pub(crate) fn used_up(&self) {
        self.is_used_up.store(true, Ordering::Relaxed);
    }

    pub(crate) fn end_round(&self, queued: Option<u64>) {
        let (micros, streams) = (self.micros.swap(0, Ordering::Relaxed), self.streams.swap(0, Ordering::Relaxed));
        let first_event = micros.checked_div(streams.into()).map(Duration::from_micros);
        let mut usual = self.usual.lock();
        let probed = Probed { capacity: self.capacity.load(Ordering::Relaxed), usual: *usual };
        let is_used_up = self.is_used_up.swap(false, Ordering::Relaxed);
        let probed = probed.after(Observed { is_used_up, queued, first_event });
        *usual = probed.usual;
        self.capacity.store(probed.capacity, Ordering::Relaxed);
    }
}

/// What is known of a replica that declares no capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probed {
    pub(crate) capacity: u32,
    /// Until the first event of a stream; zero if unknown.
    pub(crate) usual: Duration,
}

/// What was seen of it since the last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Yielding calls used all of their share.
    pub(crate) is_used_up: bool,
    pub(crate) queued: Option<u64>,
    /// The mean time to the first event of streams, if there were any.
    pub(crate) first_event: Option<Duration>,
}

impl Probed {
    /// After another round. Without a sign that the engine copes, the capacity does not grow.
    pub(crate) fn after(self, observed: Observed) -> Self {
        let Observed { is_used_up, queued, first_event } = observed;
        let usual = match first_event {
            Some(seen) if self.usual.is_zero() => seen,
            Some(seen) if seen < self.usual => seen,
            Some(seen) => self.usual + (seen - self.usual) / USUAL_WEIGHT,
            None => self.usual,
        };
        let is_late = first_event.is_some_and(|seen| !self.usual.is_zero() && seen > self.usual * LATE);
        let copes = queued.is_some() || first_event.is_some();
        let capacity = if is_late || queued.is_some_and(|queued| queued > 0) {
            (self.capacity / 2).max(LEAST_CAPACITY)
        } else if is_used_up && copes {
            (self.capacity + CAPACITY_STEP).min(MOST_CAPACITY)
        } else {
            self.capacity
        };
        Self { capacity, usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yielding_calls_take_a_share_where_no_call_waits() {
        for (max_in_flight, in_flight, yielding, queued, expected) in [
            (Some(10), 0, 0, None, true),
            (Some(10), 9, 4, None, true),
            (Some(10), 9, 5, None, false),
            (Some(10), 10, 0, None, false),
            (Some(10), 3, 0, Some(0), true),
            (Some(10), 3, 0, Some(1), false),
            (Some(1), 0, 0, None, true),
            (Some(1), 1, 0, None, false),
            (Some(3), 1, 1, None, false),
            (None, 7, 3, None, true),
            (None, 7, 4, None, false),
            (None, 8, 0, None, false),
            (None, 80, 3, Some(0), true),
            (None, 80, 4, Some(0), false),
            (None, 0, 0, Some(1), false),
        ] {
            let (probed_capacity, share) = (INITIAL_CAPACITY, BatchShare::default());
            let quiet_secs = 0;
            let occupancy =
                Occupancy { max_in_flight, probed_capacity, share, quiet_secs, in_flight, yielding, queued };
            assert_eq!(is_left(occupancy), expected, "{occupancy:?}");
        }
    }

    #[test]
    fn yielding_calls_take_more_while_there_are_no_interactive_calls() {
        for (max_in_flight, quiet_secs, in_flight, yielding, expected) in [
            (Some(10), QUIET_SECS, 7, 7, true),
            (Some(10), QUIET_SECS, 8, 8, false),
            (Some(10), QUIET_SECS - 1, 7, 7, false),
            (Some(10), QUIET_SECS, 6, 5, false),
            (Some(2), QUIET_SECS, 1, 1, false),
            (None, QUIET_SECS, 6, 6, true),
            (None, QUIET_SECS, 7, 7, false),
        ] {
            let (probed_capacity, share, queued) = (INITIAL_CAPACITY, BatchShare::default(), Some(0));
            let occupancy =
                Occupancy { max_in_flight, probed_capacity, share, quiet_secs, in_flight, yielding, queued };
            assert_eq!(is_left(occupancy), expected, "{occupancy:?}");
        }
    }

    #[test]
    fn the_share_is_that_of_the_model() {
        for (share, yielding, expected) in
            [(0, 0, true), (0, 1, false), (200, 1, true), (200, 2, false), (1_000, 9, true)]
        {
            let share = BatchShare::from_thousandths(share).unwrap();
            let (max_in_flight, in_flight) = (Some(10), yielding);
            let (probed_capacity, quiet_secs, queued) = (1, 0, None);
            let occupancy =
                Occupancy { max_in_flight, probed_capacity, share, quiet_secs, in_flight, yielding, queued };
            assert_eq!(is_left(occupancy), expected, "{occupancy:?}");
        }
    }

    #[test]
    fn a_capacity_grows_slowly_and_is_halved_at_the_first_sign_of_trouble() {
        let millis = Duration::from_millis;
        let quiet = Observed { is_used_up: true, queued: Some(0), first_event: None };
        let start = Probed { capacity: 8, usual: Duration::ZERO };
        let mut probed = start;
        (0..10).for_each(|_| probed = probed.after(quiet));
        assert_eq!(probed.capacity, 28);
        assert_eq!(probed.after(Observed { is_used_up: false, ..quiet }), probed);
        assert_eq!(probed.after(Observed { queued: None, ..quiet }), probed, "nothing says that the engine copes");
        assert_eq!(probed.after(Observed { queued: Some(1), ..quiet }).capacity, 14);
        let timed = |first_event| Observed { is_used_up: true, queued: None, first_event: Some(millis(first_event)) };
        let probed = start.after(timed(100));
        assert_eq!(probed, Probed { capacity: 10, usual: millis(100) });
        assert_eq!(probed.after(timed(180)), Probed { capacity: 12, usual: millis(105) });
        assert_eq!(probed.after(timed(260)), Probed { capacity: 5, usual: millis(110) });
        let least = (0..10).fold(start, |probed, _| probed.after(Observed { queued: Some(9), ..quiet }));
        assert_eq!(least.capacity, LEAST_CAPACITY);
    }
}
