//! A scaling decision with its inputs, and the sentence that explains it.

use super::{Observation, PrefillQueue, Signal};
use crate::endpoint::scaling::{Metric, Milli, Target};
use serde::Serialize;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub from: u32,
    pub to: u32,
    pub reason: Reason,
    pub target: Target,
    pub signal: Signal,
    /// The mean load of the last minute per replica.
    pub mean: Option<Milli>,
    pub ready: u32,
    pub open_calls: u64,
    pub prefill: PrefillQueue,
    pub prefill_target: u64,
    pub panic: bool,
    /// An event to record that does not change the number.
    pub notice: Option<Notice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The endpoint has a fixed number of replicas.
    Fixed,
    /// The endpoint is at zero; only a call wakes it.
    Asleep,
    MetricMissing,
    Unclear,
    Steady,
    /// The load is, or was within the last minute, at least twice what the ready replicas can take.
    Panic,
    Above {
        secs: u32,
    },
    Below {
        secs: u32,
    },
    /// More prompt tokens are in flight than the replicas should have.
    PrefillQueue {
        secs: u32,
    },
    Idle {
        secs: u32,
    },
    /// The metric is missing, and the concurrency requires more replicas.
    ByConcurrency {
        load: Milli,
        target: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    MetricsMissing,
    MetricsRecovered,
}

impl Decision {
    pub(super) const fn new(observed: &Observation, to: u32, reason: Reason) -> Self {
        Self {
            from: observed.current,
            to,
            reason,
            target: observed.scaling.target,
            signal: observed.signal,
            mean: None,
            ready: observed.ready,
            open_calls: observed.open_calls,
            prefill: observed.prefill,
            prefill_target: observed.prefill_target,
            panic: false,
            notice: None,
        }
    }

    pub const fn changes(&self) -> bool {
        self.from != self.to
    }

    /// The numbers behind the decision, for the event's `data`.
    pub fn inputs(&self) -> DecisionInputs {
        let decimal = |milli: Milli| Shown { milli, target: self.target }.to_string();
        DecisionInputs {
            metric: self.target.metric().as_str(),
            target: decimal(self.target.milli()),
            load: match self.signal {
                Signal::Seen(load) => Some(decimal(load)),
                Signal::Unclear | Signal::Missing => None,
            },
            mean_per_replica: self.mean.map(decimal),
            ready: self.ready,
            open_calls: self.open_calls,
            prefill_tokens: self.prefill.tokens,
            prefill_calls: self.prefill.calls,
            prefill_target: self.prefill_target,
            panic: self.panic,
            old_replicas: self.from,
            new_replicas: self.to,
        }
    }
}

/// The numbers behind a decision. Loads and targets are decimal texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionInputs {
    pub metric: &'static str,
    pub target: String,
    pub load: Option<String>,
    pub mean_per_replica: Option<String>,
    pub ready: u32,
    pub open_calls: u64,
    pub prefill_tokens: u64,
    pub prefill_calls: u64,
    pub prefill_target: u64,
    pub panic: bool,
    pub old_replicas: u32,
    pub new_replicas: u32,
}

/// For example `2 → 3: kv-cache 0.91 against 0.70 for 30 s`.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.changes() {
            write!(f, "{} → {}: ", self.from, self.to)?;
        } else {
            write!(f, "{}: ", self.to)?;
        }
        let measure = match self.target.metric() {
            Metric::Concurrency => "concurrency",
            Metric::KvCacheUtilization => "kv-cache",
        };
        let shown = |milli| Shown { milli, target: self.target };
        let (mean, target) = (shown(self.mean.unwrap_or_default()), shown(self.target.milli()));
        match self.reason {
            Reason::Fixed => write!(f, "a fixed count"),
            Reason::Asleep => write!(f, "at zero until a call arrives"),
            Reason::MetricMissing => write!(f, "{measure} is unknown"),
            Reason::Unclear => write!(f, "{measure} is inconclusive"),
            Reason::Steady => write!(f, "{measure} {mean} against {target}"),
            Reason::Panic => {
                let load = match self.signal {
                    Signal::Seen(load) => shown(load),
                    Signal::Unclear | Signal::Missing => shown(0),
                };
                write!(f, "{measure} {load} with {} ready, at least twice the target of {target} each", self.ready)
            }
            Reason::Above { secs: 0 } | Reason::Below { secs: 0 } => write!(f, "{measure} {mean} against {target}"),
            Reason::Above { secs } | Reason::Below { secs } => {
                write!(f, "{measure} {mean} against {target} for {secs} s")
            }
            Reason::PrefillQueue { secs } => {
                let PrefillQueue { tokens, calls } = self.prefill;
                write!(
                    f,
                    "{tokens} prompt tokens of {calls} calls in flight, at most {} per replica",
                    self.prefill_target
                )?;
                if secs > 0 { write!(f, ", for {secs} s") } else { Ok(()) }
            }
            Reason::Idle { secs } => write!(f, "no call for {secs} s"),
            Reason::ByConcurrency { load, target } => {
                let load = Shown { milli: load, target: Target::Concurrency(target) };
                write!(f, "{measure} is unknown, and {load} concurrent calls need more replicas at {target} each")
            }
        }
    }
}

/// Thousandths as a decimal: calls as short as possible, cache fractions with two digits.
struct Shown {
    milli: Milli,
    target: Target,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target.metric() {
            Metric::KvCacheUtilization => {
                let hundredths = (self.milli + 5) / 10;
                write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
            }
            Metric::Concurrency => {
                let tenths = (self.milli + 50) / 100;
                write!(f, "{}", tenths / 10)?;
                if tenths.is_multiple_of(10) { Ok(()) } else { write!(f, ".{}", tenths % 10) }
            }
        }
    }
}
