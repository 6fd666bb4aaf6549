//! A token bucket: holds one minute's worth and refills evenly.
//!
//! Levels are integers in units of 1/60,000 of a request or token, so refilling is exact: with a limit of 60 per minute,
//! each millisecond adds 60 units, and 1,000 ms add 60,000 units, which is one request. A call that costs more than the
//! whole limit passes when the bucket is full and leaves it negative; later calls wait until the debt is refilled.

/// Units per request or token; also the number of milliseconds in a minute.
pub(super) const PARTS: i128 = 60_000;
/// The wait reported for a limit of zero, which never refills.
const NEVER_MILLIS: u64 = 3_600_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    level: i128,
    at_millis: u64,
}

impl Bucket {
    pub fn full(limit: u64, now_millis: u64) -> Self {
        Self { level: i128::from(limit) * PARTS, at_millis: now_millis }
    }

    pub(super) fn at_level(level: i128, now_millis: u64) -> Self {
        Self { level, at_millis: now_millis }
    }

    /// How long a call of this cost must wait; `None` if it may pass. A cost above the limit passes when the bucket is
    /// full and leaves a debt, so that large calls are delayed but not starved.
    pub fn wait(&self, limit: u64, cost: u64, now_millis: u64) -> Option<u64> {
        let missing = i128::from(cost.min(limit).max(u64::from(cost > 0))) * PARTS - self.level(limit, now_millis);
        (missing > 0).then(|| millis_for(missing, limit))
    }

    /// Adds to the bucket, up to its limit. A negative amount is taken and may leave a debt.
    pub fn give(&mut self, limit: u64, amount: i64, now_millis: u64) {
        let level = self.level(limit, now_millis) + i128::from(amount) * PARTS;
        *self = Self { level: level.min(i128::from(limit) * PARTS), at_millis: now_millis.max(self.at_millis) };
    }

    /// Takes one without a check. The debt is at most one minute's worth.
    pub fn debit(&mut self, limit: u64, now_millis: u64) {
        self.give(limit, -1, now_millis);
        self.level = self.level.max(-i128::from(limit) * PARTS);
    }

    /// Whether the bucket is full, so that it can be forgotten: a new one would be equal.
    pub fn is_full(&self, limit: u64, now_millis: u64) -> bool {
        self.level(limit, now_millis) == i128::from(limit) * PARTS
    }

    pub fn used(&self, limit: u64, now_millis: u64) -> u64 {
        let missing = (i128::from(limit) * PARTS - self.level(limit, now_millis)).max(0);
        u64::try_from((missing + PARTS - 1) / PARTS).unwrap_or(u64::MAX)
    }

    pub(super) fn status(&self, limit: u64, now_millis: u64) -> super::LimitStatus {
        let level = self.level(limit, now_millis);
        super::LimitStatus {
            limit,
            remaining: u64::try_from(level.max(0) / PARTS).unwrap_or(u64::MAX),
            reset_millis: millis_for(i128::from(limit) * PARTS - level, limit),
        }
    }

    /// The level now: refilled since the last change, capped at the current limit.
    pub(super) fn level(&self, limit: u64, now_millis: u64) -> i128 {
        let elapsed = i128::from(now_millis.saturating_sub(self.at_millis));
        (self.level + elapsed * i128::from(limit)).min(i128::from(limit) * PARTS)
    }
}

/// How long a bucket takes to refill this many units.
pub(super) fn millis_for(parts: i128, limit: u64) -> u64 {
    if parts <= 0 {
        return 0;
    }
    if limit == 0 {
        return NEVER_MILLIS;
    }
    let limit = i128::from(limit);
    u64::try_from((parts + limit - 1) / limit).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_at_most_one_minute() {
        let mut bucket = Bucket::full(60, 0);
        for _ in 0..1_000 {
            bucket.debit(60, 0);
        }
        assert_eq!(bucket.wait(60, 1, 0), Some(61_000));
        assert_eq!(bucket.wait(60, 1, 61_000), None);
        assert!(bucket.is_full(60, 120_000) && !bucket.is_full(60, 119_999));
    }
}
