//! Limits on attempts to guess a secret.
//!
//! An attempt is counted before its outcome is known, so that concurrent attempts cannot exceed the limit. A successful
//! one is uncounted again.

use crate::time::Timestamp;

/// At most `max` attempts within a span that begins with the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub max: u64,
    pub span_millis: i64,
}

const SPAN_MILLIS: i64 = 15 * 60 * 1_000;
/// Wrong passwords for one account from one address or browser. A user who is elsewhere is not locked out.
pub const PER_ACCOUNT_AND_ORIGIN: Policy = Policy { max: 10, span_millis: SPAN_MILLIS };
/// Wrong passwords for one account from all addresses and browsers that have never signed in to it. Bounds guesses from
/// many addresses; those that have signed in before are not affected.
pub const PER_ACCOUNT: Policy = Policy { max: 100, span_millis: SPAN_MILLIS };
/// Wrong passwords from one address, for any account.
pub const PER_ADDRESS: Policy = Policy { max: 100, span_millis: SPAN_MILLIS };
/// Changes of the password of one account. Each one costs two hashes.
pub const PASSWORD_CHANGES: Policy = Policy { max: 5, span_millis: LONGEST_SPAN_MILLIS };
/// No policy has a longer span.
pub const LONGEST_SPAN_MILLIS: i64 = 60 * 60 * 1_000;

/// The attempts of one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts {
    pub count: u64,
    pub since: Timestamp,
}

/// No attempt is accepted before this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lockout {
    pub until: Timestamp,
}

impl Lockout {
    /// Whole seconds until the next attempt is accepted, at least one.
    pub const fn retry_after_secs(&self, now: Timestamp) -> u64 {
        let seconds = self.until.millis_since(now).div_ceil(1_000);
        if seconds == 0 { 1 } else { seconds }
    }
}

/// Counts one more attempt, or returns the lockout if there were too many.
pub fn count(policy: &Policy, seen: Attempts, now: Timestamp) -> Result<Attempts, Lockout> {
    let until = seen.since.plus_millis(policy.span_millis);
    if seen.count == 0 || now >= until {
        return Ok(Attempts { count: 1, since: now });
    }
    if seen.count >= policy.max {
        return Err(Lockout { until });
    }
    Ok(Attempts { count: seen.count + 1, ..seen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lockout_ends_exactly_when_it_says() {
        let policy = Policy { max: 2, span_millis: 10_000 };
        let at = Timestamp::from_millis;
        let mut seen = Attempts { count: 0, since: at(0) };
        for now in [1_000, 1_500] {
            seen = count(&policy, seen, at(now)).unwrap();
        }
        assert_eq!(seen, Attempts { count: 2, since: at(1_000) });
        for (now, secs) in [(1_500, 10), (2_000, 9), (10_999, 1)] {
            let wait = count(&policy, seen, at(now)).unwrap_err();
            assert_eq!(wait.retry_after_secs(at(now)), secs);
            assert!(count(&policy, seen, at(now).plus_millis(secs.cast_signed() * 1_000)).is_ok());
        }
        assert_eq!(count(&policy, seen, at(11_000)).unwrap().count, 1);
    }
}
