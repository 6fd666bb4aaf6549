//! The scaling policy of an endpoint: bounds, metric, target and windows.
//!
//! A request sets some of these; the rest comes from defaults or from the stored policy. [`ScalingPatch::check`] checks the
//! ranges of a request on its own, [`Scaling::patched`] its combination with the stored values.

use super::field_error::{FieldError, FieldErrorCode};
use crate::named_enum;
use std::ops::RangeInclusive;

pub const DEFAULT_CONCURRENCY: u32 = 16;
pub const DEFAULT_KV_MILLI: u32 = 700;
/// Prompt tokens in flight per replica: about five seconds of work of a GPU.
pub const DEFAULT_PREFILL_TARGET: u64 = 32_768;

const REPLICAS: RangeInclusive<u32> = 1..=64;
const MIN_REPLICAS: RangeInclusive<u32> = 0..=64;
const CONCURRENCY: RangeInclusive<u32> = 1..=1_024;
const KV_MILLI: RangeInclusive<u32> = 100..=950;
const TO_ZERO_SECS: RangeInclusive<u32> = 60..=86_400;
const UP_SECS: RangeInclusive<u32> = 0..=3_600;
const DOWN_SECS: RangeInclusive<u32> = 0..=3_600;

/// Thousandths: a target of 16 is 16,000, one of 0.7 is 700.
pub type Milli = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Fixed { replicas: u32 },
    Autoscaled { min: u32, max: u32 },
}

impl Mode {
    /// The maximum number of replicas, which counts against the allotment.
    pub const fn ceiling(self) -> u32 {
        match self {
            Self::Fixed { replicas } => replicas,
            Self::Autoscaled { max, .. } => max,
        }
    }

    /// The minimum number of replicas while the endpoint serves; zero is reached only by idling.
    pub const fn floor(self) -> u32 {
        match self {
            Self::Fixed { replicas } => replicas,
            Self::Autoscaled { min: 0, .. } => 1,
            Self::Autoscaled { min, .. } => min,
        }
    }

    pub fn clamp(self, replicas: u32) -> u32 {
        replicas.clamp(self.floor(), self.ceiling())
    }

    pub const fn may_sleep(self) -> bool {
        matches!(self, Self::Autoscaled { min: 0, .. })
    }
}

named_enum! {
    pub enum Metric {
        Concurrency = "concurrency",
        KvCacheUtilization = "kv-cache-utilization",
    }
}

/// The load that each replica should carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Concurrent calls.
    Concurrency(u32),
    /// Thousandths of the KV cache.
    KvCacheUsage(u32),
}

impl Target {
    pub const fn metric(self) -> Metric {
        match self {
            Self::Concurrency(_) => Metric::Concurrency,
            Self::KvCacheUsage(_) => Metric::KvCacheUtilization,
        }
    }

    pub fn milli(self) -> Milli {
        match self {
            Self::Concurrency(calls) => u64::from(calls) * 1_000,
            Self::KvCacheUsage(milli) => u64::from(milli),
        }
    }

    /// The default target of a metric; `default_concurrency` is the flavor's.
    pub fn default_of(metric: Metric, default_concurrency: Option<u32>) -> Self {
        match metric {
            Metric::Concurrency => Self::Concurrency(default_concurrency.unwrap_or(DEFAULT_CONCURRENCY)),
            Metric::KvCacheUtilization => Self::KvCacheUsage(DEFAULT_KV_MILLI),
        }
    }

    /// Reads `value` as a target of `metric` and checks its range.
    pub fn read(metric: Metric, value: Milli) -> Result<Self, FieldError> {
        match metric {
            Metric::Concurrency => {
                if !value.is_multiple_of(1_000) {
                    return Err(bad_format("autoscalingTarget", "must be a whole number for concurrency"));
                }
                let calls = u32::try_from(value / 1_000).unwrap_or(u32::MAX);
                in_range("autoscalingTarget", Some(calls), &CONCURRENCY)?;
                Ok(Self::Concurrency(calls))
            }
            Metric::KvCacheUtilization => {
                let milli = u32::try_from(value).unwrap_or(u32::MAX);
                if !KV_MILLI.contains(&milli) {
                    let why = "must be between 0.10 and 0.95 for kv-cache-utilization";
                    return Err(FieldError::new("autoscalingTarget", FieldErrorCode::OutOfRange, why));
                }
                Ok(Self::KvCacheUsage(milli))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    pub to_zero_secs: u32,
    pub up_secs: u32,
    pub down_secs: u32,
}

impl Default for Windows {
    fn default() -> Self {
        Self { to_zero_secs: 3_600, up_secs: 30, down_secs: 600 }
    }
}

/// The scaling policy of an endpoint. A fixed one keeps its target and windows for a later change of mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scaling {
    pub mode: Mode,
    pub target: Target,
    pub windows: Windows,
}

/// The scaling fields of a request; `None` for a field that is absent or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScalingPatch {
    pub replicas: Option<u32>,
    pub min: Option<u32>,
    pub max: Option<u32>,
    pub metric: Option<Metric>,
    pub target: Option<Milli>,
    pub to_zero_secs: Option<u32>,
    pub up_secs: Option<u32>,
    pub down_secs: Option<u32>,
}

impl ScalingPatch {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what can be checked without the stored policy.
    pub fn check(&self) -> Result<(), FieldError> {
        in_range("replicas", self.replicas, &REPLICAS)?;
        in_range("minReplicas", self.min, &MIN_REPLICAS)?;
        in_range("maxReplicas", self.max, &REPLICAS)?;
        in_range("scaleToZeroWindowSeconds", self.to_zero_secs, &TO_ZERO_SECS)?;
        in_range("scaleUpWindowSeconds", self.up_secs, &UP_SECS)?;
        in_range("scaleDownWindowSeconds", self.down_secs, &DOWN_SECS)?;
        self.check_target()?;
        if self.replicas.is_some() && (self.min.is_some() || self.max.is_some()) {
            let why = "a fixed count cannot be combined with minReplicas or maxReplicas";
            return Err(FieldError::new("replicas", FieldErrorCode::InvalidCombination, why));
        }
        match (self.min, self.max) {
            (Some(min), Some(max)) => ordered(min, max),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// A target without a metric is valid if it fits either metric.
    fn check_target(&self) -> Result<(), FieldError> {
        match (self.target, self.metric) {
            (Some(value), Some(metric)) => Target::read(metric, value).map(drop),
            (Some(value), None) => Target::read(Metric::KvCacheUtilization, value)
                .or_else(|_| Target::read(Metric::Concurrency, value))
                .map(drop),
            (None, _) => Ok(()),
        }
    }
}

impl Scaling {
    /// The policy of a new endpoint.
    pub fn create(patch: &ScalingPatch, default_concurrency: Option<u32>) -> Result<Self, FieldError> {
        let start = Self {
            mode: new_autoscaled(None, None)?,
            target: Target::default_of(Metric::Concurrency, default_concurrency),
            windows: Windows::default(),
        };
        let mode = match patch.replicas {
            Some(replicas) => Mode::Fixed { replicas },
            None => new_autoscaled(patch.min, patch.max)?,
        };
        Self { mode, ..start }
            .patched(&ScalingPatch { replicas: None, min: None, max: None, ..*patch }, default_concurrency)
    }

    /// The policy after a change. A field of the other mode switches to that mode.
    pub fn patched(&self, patch: &ScalingPatch, default_concurrency: Option<u32>) -> Result<Self, FieldError> {
        let mode = match (patch.replicas, patch.min, patch.max, self.mode) {
            (Some(replicas), _, _, _) => Mode::Fixed { replicas },
            (None, None, None, mode) => mode,
            (None, min, max, Mode::Fixed { .. }) => new_autoscaled(min, max)?,
            (None, new_min, new_max, Mode::Autoscaled { min, max }) => {
                let (min, max) = (new_min.unwrap_or(min), new_max.unwrap_or(max));
                ordered(min, max)?;
                Mode::Autoscaled { min, max }
            }
        };
        let metric = patch.metric.unwrap_or(self.target.metric());
        let target = match patch.target {
            Some(value) => Target::read(metric, value)?,
            None if metric == self.target.metric() => self.target,
            None => Target::default_of(metric, default_concurrency),
        };
        let windows = Windows {
            to_zero_secs: patch.to_zero_secs.unwrap_or(self.windows.to_zero_secs),
            up_secs: patch.up_secs.unwrap_or(self.windows.up_secs),
            down_secs: patch.down_secs.unwrap_or(self.windows.down_secs),
        };
        Ok(Self { mode, target, windows })
    }
}

fn new_autoscaled(min: Option<u32>, max: Option<u32>) -> Result<Mode, FieldError> {
    let min = min.unwrap_or(1);
    let max = max.unwrap_or(min.max(1));
    ordered(min, max)?;
    Ok(Mode::Autoscaled { min, max })
}

fn ordered(min: u32, max: u32) -> Result<(), FieldError> {
    if min <= max {
        return Ok(());
    }
    let why = format!("must not be above maxReplicas ({max})");
    Err(FieldError::new("minReplicas", FieldErrorCode::InvalidCombination, why))
}

fn in_range(field: &'static str, value: Option<u32>, range: &RangeInclusive<u32>) -> Result<(), FieldError> {
    if value.is_none_or(|value| range.contains(&value)) {
        return Ok(());
    }
    let why = format!("must be between {} and {}", range.start(), range.end());
    Err(FieldError::new(field, FieldErrorCode::OutOfRange, why))
}

fn bad_format(field: &'static str, why: &'static str) -> FieldError {
    FieldError::new(field, FieldErrorCode::InvalidFormat, why)
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
