//! How many replicas an endpoint should have, and why.
//!
//! One decider looks at each endpoint once in a tick. What it sees of the load is in [`signal`], what it remembers from
//! tick to tick in [`Memory`]; [`decide`] is a plain function of both. Loads are whole thousandths, so that a load exactly
//! ten per cent off its target is inside the tolerance on every machine.

mod decision;
mod memory;
pub mod signal;

pub use decision::{Because, Decision, Notice};
pub use memory::Memory;
pub use signal::Signal;

use crate::endpoint::scaling::{Metric, Milli, Mode, Scaling, Target};
use crate::time::Timestamp;

pub const TICK_MILLIS: u64 = 10_000;
const PANIC_MILLIS: i64 = 60_000;
const MISSING_TOO_LONG_MILLIS: u64 = 60_000;
/// A sleeping endpoint is not woken with more replicas than this.
const MOST_TO_WAKE: u64 = 4;

/// What is known of an endpoint at a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    pub scaling: Scaling,
    /// How many replicas it should have had until now.
    pub current: u32,
    pub ready: u32,
    /// The load of the metric that it scales by.
    pub signal: Signal,
    /// Calls in flight and held, whatever the metric.
    pub open_calls: u64,
    /// The later of the end of the last call and of the moment it began to serve.
    pub last_activity: Timestamp,
    /// Part of the load is not known: nothing shrinks before this.
    pub no_shrink_until: Option<Timestamp>,
    /// The load in calls at once, and how many a replica of this flavor should have: for when the metric is missing.
    pub concurrency: Option<(Milli, u32)>,
}

/// Decides, and remembers what it saw.
pub fn decide(memory: &mut Memory, sight: &Sight, now: Timestamp) -> Decision {
    let current = sight.current;
    let hold = |because| Decision::new(sight, current, because);
    let Mode::Autoscaled { min, max } = sight.scaling.mode else {
        return Decision::new(sight, sight.scaling.mode.ceiling(), Because::Fixed);
    };
    if current == 0 {
        return hold(Because::Asleep);
    }
    let load = match sight.signal {
        Signal::Seen(load) => load,
        Signal::Unclear => return hold(Because::Unclear),
        Signal::Missing => return without_metric(memory, sight, max, now),
    };
    let notice = memory.metric_is_back();
    let seen = memory.sample(load, now);
    let target = sight.scaling.target.milli();
    let windows = sight.scaling.windows;
    let clamp = |replicas: u64| u32::try_from(replicas).unwrap_or(u32::MAX).clamp(min.max(1), max);

    let by_load = load.div_ceil(target);
    let by_mean = if seen.is_within_tolerance_of(target, current) { u64::from(current) } else { seen.replicas(target) };
    if by_load >= 2 * u64::from(sight.ready.max(1)) {
        memory.panic_until(now.plus_millis(PANIC_MILLIS));
    }
    let panic = memory.is_panicking(now);
    // A lagging mean alone never scales up.
    memory.recommend_up(clamp(by_mean.min(by_load)), now);
    let recommended = clamp(if panic { by_mean.max(by_load) } else { by_mean });
    memory.recommend(recommended, now);

    let idle = sight.open_calls == 0;
    let down_secs = if idle && min == 0 { windows.down_secs.min(windows.to_zero_secs) } else { windows.down_secs };
    let (want, because) = if panic {
        (current.max(recommended), Because::Panic)
    } else {
        let up = memory.least_up(windows.up_secs, now);
        let down = memory.most_recommended(down_secs, now);
        if up > current {
            (up, Because::Above { secs: windows.up_secs })
        } else if down < current {
            (down, Because::Below { secs: down_secs })
        } else {
            (current, Because::Steady)
        }
    };
    let may_shrink = sight.no_shrink_until.is_none_or(|until| until <= now);
    let want = if may_shrink { want } else { want.max(current) };
    let want = limit_the_step(want, current).clamp(min.max(1), max);
    let quiet_since = now.millis_since(sight.last_activity);
    let asleep = may_shrink
        && min == 0
        && (current, want) == (1, 1)
        && idle
        && quiet_since >= u64::from(windows.to_zero_secs) * 1_000;
    let (want, because) = if asleep { (0, Because::Idle { secs: windows.to_zero_secs }) } else { (want, because) };
    let because = match because {
        Because::Panic | Because::Above { .. } | Because::Below { .. } if want == current => Because::Steady,
        other => other,
    };
    Decision { mean: Some(seen.per_replica(current)), panic, notice, ..Decision::new(sight, want, because) }
}

/// Nothing changes without the metric; when it stays away, calls at once may still make the endpoint grow.
fn without_metric(memory: &mut Memory, sight: &Sight, max: u32, now: Timestamp) -> Decision {
    let current = sight.current;
    let missing = memory.metric_is_missing(now);
    if missing.millis <= MISSING_TOO_LONG_MILLIS {
        return Decision::new(sight, current, Because::MetricMissing);
    }
    let notice = missing.notice;
    let Some((load, target)) = sight.concurrency else {
        return Decision { notice, ..Decision::new(sight, current, Because::MetricMissing) };
    };
    let wanted = load.div_ceil(Target::Concurrency(target.max(1)).milli());
    memory.recommend_up(u32::try_from(wanted).unwrap_or(u32::MAX).clamp(1, max), now);
    let want = memory.least_up(sight.scaling.windows.up_secs, now).max(current);
    let want = limit_the_step(want, current).min(max).max(current);
    let because = if want > current { Because::ByConcurrency { load, target } } else { Because::MetricMissing };
    Decision { notice, ..Decision::new(sight, want, because) }
}

/// At most double or four more at once; at most half of them fewer.
fn limit_the_step(want: u32, current: u32) -> u32 {
    want.min((2 * current).max(current + 4)).max(current.div_ceil(2))
}

/// How many replicas the calls that wait at zero need.
pub fn wake_size(target: Target, max: u32, held: u64) -> u32 {
    let wanted = match target.metric() {
        Metric::Concurrency => (held * 1_000).div_ceil(target.milli()).max(1),
        Metric::KvCacheUtilization => 1,
    };
    u32::try_from(wanted.min(MOST_TO_WAKE)).unwrap_or(1).min(max)
}

#[cfg(test)]
mod tests;
