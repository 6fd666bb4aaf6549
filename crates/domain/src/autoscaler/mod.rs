//! Decides how many replicas an endpoint should have, and why.
//!
//! Each endpoint is looked at once per tick. [`signal`] turns reports into a load, [`Memory`] keeps what is needed from
//! earlier ticks, and [`decide`] is a pure function of both. Loads are whole thousandths, so that a load exactly ten per cent
//! off its target is inside the tolerance on every machine.

mod decision;
mod memory;
pub mod signal;

pub use decision::{Decision, DecisionInputs, Notice, Reason};
pub use memory::Memory;
pub use signal::{PrefillQueue, Signal};

use crate::endpoint::scaling::{Metric, Milli, Mode, Scaling, Target};
use crate::time::Timestamp;

pub const TICK_MILLIS: u64 = 10_000;
const PANIC_MILLIS: i64 = 60_000;
const MISSING_TOO_LONG_MILLIS: u64 = 60_000;
/// Upper bound of the replicas that a wake starts.
const MAX_WAKE: u64 = 4;

/// The state of an endpoint at a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    pub scaling: Scaling,
    /// The desired number of replicas until now.
    pub current: u32,
    pub ready: u32,
    /// The load of the metric that the endpoint scales by.
    pub signal: Signal,
    /// Calls in flight and held, whatever the metric.
    pub open_calls: u64,
    /// The later of the end of the last call and the moment a replica became ready.
    pub last_activity: Timestamp,
    /// Set while part of the load is unknown: no scale-down before this.
    pub no_shrink_until: Option<Timestamp>,
    /// The concurrency, and the flavor's target for it: the fallback while the metric is missing.
    pub concurrency: Option<(Milli, u32)>,
    /// Prompts in flight, whatever the metric.
    pub prefill: PrefillQueue,
    /// The prompt tokens in flight that a replica should have at most; 0 if they are not considered.
    pub prefill_target: u64,
}

/// Decides the number of replicas, and updates the memory.
///
/// 1. Two needs follow from the load: `by_load` from this tick alone, `by_mean` from the mean of the last minute (a mean
///    within 10 % of the target keeps the current number).
/// 2. If `by_load` is at least twice what is ready, the endpoint panics for a minute: it scales up at once, never down.
/// 3. Otherwise it scales up to the *lowest* need of the scale-up window (both `by_load` and `by_mean` must ask for it), and
///    down to the *highest* need of the scale-down window.
/// 4. The prompts in flight ask for replicas of their own, and the larger need counts. They scale up after the scale-up window
///    only, and prevent a scale-down that the queue does not allow.
/// 5. One step at most doubles (or adds four) and at most halves, within `minReplicas` and `maxReplicas`. Zero is reached
///    only from one idle replica.
///
/// Example: 2 replicas, target 10, scale-up window 30 s. A load of 30 needs 3, and after three ticks of it the lowest need of
/// the window is 3: `2 → 3`. A load of 45 with one ready replica needs 5, at least twice 1: `1 → 5` at once.
pub fn decide(memory: &mut Memory, observed: &Observation, now: Timestamp) -> Decision {
    let current = observed.current;
    let hold = |reason| Decision::new(observed, current, reason);
    let Mode::Autoscaled { min, max } = observed.scaling.mode else {
        return Decision::new(observed, observed.scaling.mode.ceiling(), Reason::Fixed);
    };
    if current == 0 {
        return hold(Reason::Asleep);
    }
    let load = match observed.signal {
        Signal::Seen(load) => load,
        Signal::Unclear => return hold(Reason::Unclear),
        Signal::Missing => return without_metric(memory, observed, max, now),
    };
    let notice = memory.metric_is_back();
    let mean = memory.sample(load, now);
    let target = observed.scaling.target.milli();
    let windows = observed.scaling.windows;
    let clamp = |replicas: u64| u32::try_from(replicas).unwrap_or(u32::MAX).clamp(min.max(1), max);

    let by_load = load.div_ceil(target);
    let by_mean = if mean.is_within_tolerance_of(target, current) { u64::from(current) } else { mean.replicas(target) };
    if by_load >= 2 * u64::from(observed.ready.max(1)) {
        memory.panic_until(now.plus_millis(PANIC_MILLIS));
    }
    let panic = memory.is_panicking(now);
    // A lagging mean alone never scales up.
    let sustained = by_mean.min(by_load);
    let by_queue = observed.prefill.replicas(observed.prefill_target);
    memory.recommend_up(clamp(sustained.max(by_queue)), now);
    // A queue of one moment keeps the replicas that are there, and asks for no others.
    let kept = by_queue.min(u64::from(current));
    let recommended = clamp(kept.max(if panic { by_mean.max(by_load) } else { by_mean }));
    memory.recommend(recommended, now);

    let idle = observed.open_calls == 0;
    let down_secs = if idle && min == 0 { windows.down_secs.min(windows.to_zero_secs) } else { windows.down_secs };
    let (desired, reason) = if panic {
        (current.max(recommended), Reason::Panic)
    } else {
        let up = memory.least_up(windows.up_secs, now);
        let down = memory.most_recommended(down_secs, now);
        if up > current && by_queue > sustained {
            (up, Reason::PrefillQueue { secs: windows.up_secs })
        } else if up > current {
            (up, Reason::Above { secs: windows.up_secs })
        } else if down < current {
            (down, Reason::Below { secs: down_secs })
        } else {
            (current, Reason::Steady)
        }
    };
    let may_shrink = observed.no_shrink_until.is_none_or(|until| until <= now);
    let desired = if may_shrink { desired } else { desired.max(current) };
    let desired = limit_step(desired, current).clamp(min.max(1), max);
    let idle_millis = now.millis_since(observed.last_activity);
    let falls_asleep = may_shrink
        && min == 0
        && (current, desired) == (1, 1)
        && idle
        && idle_millis >= u64::from(windows.to_zero_secs) * 1_000;
    let (desired, reason) =
        if falls_asleep { (0, Reason::Idle { secs: windows.to_zero_secs }) } else { (desired, reason) };
    let reason = match reason {
        Reason::Panic | Reason::Above { .. } | Reason::PrefillQueue { .. } | Reason::Below { .. }
            if desired == current =>
        {
            Reason::Steady
        }
        other => other,
    };
    Decision { mean: Some(mean.per_replica(current)), panic, notice, ..Decision::new(observed, desired, reason) }
}

/// Without its metric an endpoint never shrinks. If the metric stays missing, the concurrency may still scale it up.
fn without_metric(memory: &mut Memory, observed: &Observation, max: u32, now: Timestamp) -> Decision {
    let current = observed.current;
    let missing = memory.metric_is_missing(now);
    if missing.millis <= MISSING_TOO_LONG_MILLIS {
        return Decision::new(observed, current, Reason::MetricMissing);
    }
    let notice = missing.notice;
    let Some((load, target)) = observed.concurrency else {
        return Decision { notice, ..Decision::new(observed, current, Reason::MetricMissing) };
    };
    let needed = load.div_ceil(Target::Concurrency(target.max(1)).milli());
    memory.recommend_up(u32::try_from(needed).unwrap_or(u32::MAX).clamp(1, max), now);
    let desired = memory.least_up(observed.scaling.windows.up_secs, now).max(current);
    let desired = limit_step(desired, current).min(max).max(current);
    let reason = if desired > current { Reason::ByConcurrency { load, target } } else { Reason::MetricMissing };
    Decision { notice, ..Decision::new(observed, desired, reason) }
}

/// At most double or add four in one step; at most halve.
fn limit_step(desired: u32, current: u32) -> u32 {
    desired.min((2 * current).max(current + 4)).max(current.div_ceil(2))
}

/// How many replicas to start for `held` calls to an endpoint at zero.
pub fn wake_size(target: Target, max: u32, held: u64) -> u32 {
    let needed = match target.metric() {
        Metric::Concurrency => (held * 1_000).div_ceil(target.milli()).max(1),
        Metric::KvCacheUtilization => 1,
    };
    u32::try_from(needed.min(MAX_WAKE)).unwrap_or(1).min(max)
}

#[cfg(test)]
mod tests;
