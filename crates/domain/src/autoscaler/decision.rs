//! A decision with its inputs, and the sentence that explains it.

use super::{Sight, Signal};
use crate::endpoint::scaling::{Metric, Milli, Target};
use serde_json::{Value, json};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub from: u32,
    pub to: u32,
    pub because: Because,
    pub target: Target,
    pub signal: Signal,
    /// The load of the last minute for each of the replicas there were.
    pub mean: Option<Milli>,
    pub ready: u32,
    pub open_calls: u64,
    pub panic: bool,
    /// Something to tell that is no change.
    pub notice: Option<Notice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// The endpoint does not scale.
    Fixed,
    /// It is at zero, and only a call ends that.
    Asleep,
    MetricMissing,
    Unclear,
    Steady,
    /// Twice as much as what is ready can take, or that was so within the last minute.
    Panic,
    Above {
        secs: u32,
    },
    Below {
        secs: u32,
    },
    Idle {
        secs: u32,
    },
    /// The metric is missing, and this many calls at once need more.
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
    pub(super) const fn new(sight: &Sight, to: u32, because: Because) -> Self {
        Self {
            from: sight.current,
            to,
            because,
            target: sight.scaling.target,
            signal: sight.signal,
            mean: None,
            ready: sight.ready,
            open_calls: sight.open_calls,
            panic: false,
            notice: None,
        }
    }

    pub const fn changes(&self) -> bool {
        self.from != self.to
    }

    /// The numbers behind it, for the event.
    pub fn inputs(&self) -> Value {
        let decimal = |milli: Milli| Shown { milli, target: self.target }.to_string();
        json!({
            "metric": self.target.metric().as_str(),
            "target": decimal(self.target.milli()),
            "load": match self.signal {
                Signal::Seen(load) => Some(decimal(load)),
                Signal::Unclear | Signal::Missing => None,
            },
            "meanPerReplica": self.mean.map(decimal),
            "ready": self.ready,
            "openCalls": self.open_calls,
            "panic": self.panic,
            "oldReplicas": self.from,
            "newReplicas": self.to,
        })
    }
}

/// `2 → 3: kv-cache 0.91 against 0.70 for 30 s`.
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
        match self.because {
            Because::Fixed => write!(f, "a fixed count"),
            Because::Asleep => write!(f, "at zero until a call arrives"),
            Because::MetricMissing => write!(f, "{measure} is not known"),
            Because::Unclear => write!(f, "{measure} points both ways or nowhere"),
            Because::Steady => write!(f, "{measure} {mean} against {target}"),
            Because::Panic => {
                let load = match self.signal {
                    Signal::Seen(load) => shown(load),
                    Signal::Unclear | Signal::Missing => shown(0),
                };
                write!(f, "{measure} {load} in all with {} ready, twice what {target} each can take", self.ready)
            }
            Because::Above { secs: 0 } | Because::Below { secs: 0 } => write!(f, "{measure} {mean} against {target}"),
            Because::Above { secs } | Because::Below { secs } => {
                write!(f, "{measure} {mean} against {target} for {secs} s")
            }
            Because::Idle { secs } => write!(f, "no call for {secs} s"),
            Because::ByConcurrency { load, target } => {
                let load = Shown { milli: load, target: Target::Concurrency(target) };
                write!(f, "{measure} is not known, and {load} calls at once need more at {target} each")
            }
        }
    }
}

/// Thousandths as a decimal: calls as short as possible, fractions of the cache with two digits.
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
