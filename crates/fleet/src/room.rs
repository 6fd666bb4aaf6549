//! The room that interactive calls leave at a replica for calls that yield to them, such as flex calls.
//!
//! Example: a replica with `max_in_flight = 10` takes at most 5 yielding calls, and none while it has 10 calls of any class or
//! its engine has a queue.

/// The share of the capacity of a replica that yielding calls may take.
const BATCH_SHARE: f64 = 0.5;
/// The capacity of a replica without `max_in_flight`, because engines do not report theirs.
const ASSUMED_CAPACITY: u32 = 8;

/// The calls at a replica, as far as this node knows them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occupancy {
    pub(crate) max_in_flight: Option<u32>,
    /// Calls of all classes.
    pub(crate) in_flight: u32,
    /// Those of them that yield.
    pub(crate) yielding: u32,
    /// Calls in the queue of the engine; `None` if it does not report them.
    pub(crate) queued: Option<u64>,
}

/// Whether another call that yields may begin.
pub(crate) fn is_left(Occupancy { max_in_flight, in_flight, yielding, queued }: Occupancy) -> bool {
    let is_full = match (max_in_flight, queued) {
        (Some(max), _) => in_flight >= max,
        (None, None) => in_flight >= ASSUMED_CAPACITY,
        // An engine without a queue runs all of its calls.
        (None, Some(_)) => false,
    };
    !is_full && queued.unwrap_or(0) == 0 && yielding < share_of(max_in_flight.unwrap_or(ASSUMED_CAPACITY))
}

/// At least one, so that yielding calls are served where one call fits.
fn share_of(capacity: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is at most the whole")]
    let share = (f64::from(capacity) * BATCH_SHARE) as u32;
    share.max(1)
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
            let occupancy = Occupancy { max_in_flight, in_flight, yielding, queued };
            assert_eq!(is_left(occupancy), expected, "{occupancy:?}");
        }
    }
}
