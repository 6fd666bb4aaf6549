//! GPU-hours: how long GPUs were held, their cost, and how busy they were.
//!
//! Intervals are stored; sums are computed from them in whole GPU-milliseconds and divided once, at the end. GPUs count from
//! binding to release: loading and draining are billed, waiting for GPUs is not.

use crate::money::NanoUsd;
use crate::span::Span;
use crate::time::{Grain, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An open hold counts until this long after it was last seen. Affects views only; the next report corrects them.
const OPEN_GRACE_MILLIS: i64 = 120_000;
const MILLIS_PER_HOUR: i64 = 3_600_000;

/// The interval during which a replica has GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub gpu_count: u32,
    pub started_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Failed starts are shown but not billed.
    pub billable: bool,
}

impl Hold {
    /// The interval as known at `now`.
    pub fn span(&self, now: Timestamp) -> Span {
        let open_until = || now.min(self.last_seen_at.plus_millis(OPEN_GRACE_MILLIS));
        let to = self.ended_at.unwrap_or_else(open_until);
        Span { from: self.started_at, to: to.max(self.started_at) }
    }

    pub fn gpu_time(&self, within: Span, now: Timestamp) -> GpuMillis {
        GpuMillis(i64::from(self.gpu_count) * overlap_millis(self.span(now), within))
    }

    /// The GPU time per hour. The parts add up to [`Hold::gpu_time`].
    pub fn by_hour(&self, within: Span, now: Timestamp) -> Vec<(Timestamp, GpuMillis)> {
        let held = self.span(now);
        let span = Span { from: held.from.max(within.from), to: held.to.min(within.to) };
        let mut hours = Vec::new();
        let mut start = Grain::Hour.start_of(span.from);
        while start < span.to {
            let hour = Span { from: start, to: start.plus_millis(MILLIS_PER_HOUR) };
            let part = i64::from(self.gpu_count) * overlap_millis(span, hour);
            if part > 0 {
                hours.push((start, GpuMillis(part)));
            }
            start = hour.to;
        }
        hours
    }
}

fn overlap_millis(one: Span, other: Span) -> i64 {
    (one.to.min(other.to).millis() - one.from.max(other.from).millis()).max(0)
}

/// GPUs × milliseconds. Corrections may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GpuMillis(i64);

impl GpuMillis {
    pub const fn new(gpu_millis: i64) -> Self {
        Self(gpu_millis)
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    /// The cost at a price per GPU-hour, rounded half up once.
    pub fn cost(self, price_per_gpu_hour: NanoUsd) -> NanoUsd {
        let per_hour = i128::from(MILLIS_PER_HOUR);
        let parts = i128::from(self.0) * i128::from(price_per_gpu_hour.nanos());
        let nanos = (parts + per_hour / 2).div_euclid(per_hour);
        NanoUsd::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl std::ops::AddAssign for GpuMillis {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl std::iter::Sum for GpuMillis {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut total, one| {
            total += one;
            total
        })
    }
}

/// GPU-hours as decimal text, with one to nine digits after the point.
impl fmt::Display for GpuMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NANO_HOURS: u128 = 1_000_000_000;
        let per_hour = u128::from(MILLIS_PER_HOUR.unsigned_abs());
        let nano_hours = (u128::from(self.0.unsigned_abs()) * NANO_HOURS + per_hour / 2) / per_hour;
        let fraction = format!("{:09}", nano_hours % NANO_HOURS);
        let needed = fraction.trim_end_matches('0').len().max(1);
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{}", nano_hours / NANO_HOURS, &fraction[..needed])
    }
}

/// The price of a GPU-hour from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceSince {
    pub valid_from: Timestamp,
    pub price_per_gpu_hour: NanoUsd,
}

/// The price versions that are effective in a span, each with its part of the span.
///
/// `prices` are ordered by time; the first one also covers the time before it.
pub fn versions(prices: &[PriceSince], within: Span) -> impl Iterator<Item = (PriceSince, Span)> + '_ {
    prices.iter().enumerate().filter_map(move |(index, version)| {
        let from = if index == 0 { within.from } else { version.valid_from.max(within.from) };
        let to = prices.get(index + 1).map_or(within.to, |next| next.valid_from.min(within.to));
        (from < to).then_some((*version, Span { from, to }))
    })
}

/// The cost of holds in a span. It is rounded once per price version, over all its time.
pub fn cost(holds: &[Hold], prices: &[PriceSince], within: Span, now: Timestamp) -> NanoUsd {
    let mut total = NanoUsd::ZERO;
    for (version, piece) in versions(prices, within) {
        let time: GpuMillis = billable(holds).map(|hold| hold.gpu_time(piece, now)).sum();
        total += time.cost(version.price_per_gpu_hour);
    }
    total
}

fn billable(holds: &[Hold]) -> impl Iterator<Item = &Hold> {
    holds.iter().filter(|hold| hold.billable)
}

/// How busy GPUs were, in millionths: the "utilization" of the cost view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GpuBusy(u64);

/// Length of a collection window.
pub const WINDOW_MILLIS: i64 = 300_000;
/// Period between two samples of a GPU.
pub const SAMPLE_MILLIS: u64 = 5_000;

impl GpuBusy {
    pub const fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    pub const fn millionths(self) -> u64 {
        self.0
    }

    pub fn fraction(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most a few digits")]
        let millionths = self.0 as f64;
        millionths / 1e6
    }

    /// The mean over windows. Every window in which a GPU was held counts once; one without measurements counts as idle.
    pub fn mean(held_windows: usize, measured: impl IntoIterator<Item = Self>) -> Self {
        Self(rounded(measured.into_iter().map(|window| window.0).sum(), held_windows))
    }
}

fn rounded(sum: u64, count: usize) -> u64 {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    (sum + count / 2).checked_div(count).unwrap_or(0)
}

/// The starts of the windows in which an endpoint held at least one GPU.
pub fn held_windows(holds: &[Hold], within: Span, now: Timestamp) -> BTreeSet<Timestamp> {
    let window_of = |moment: Timestamp| moment.millis() - moment.millis().rem_euclid(WINDOW_MILLIS);
    let mut windows = BTreeSet::new();
    for hold in holds {
        let held = hold.span(now);
        let (from, to) = (held.from.max(within.from), held.to.min(within.to));
        let mut start = window_of(from);
        while from < to && start < to.millis() {
            windows.insert(Timestamp::from_millis(start));
            start += WINDOW_MILLIS;
        }
    }
    windows
}

/// An endpoint's usage in one hour, day or span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageLine {
    pub start: Timestamp,
    pub gpu_time: GpuMillis,
    pub cost: NanoUsd,
    pub busy: GpuBusy,
    /// False if no window has a measurement, so that `busy` says nothing.
    pub is_measured: bool,
}

/// The usage of a span. Measures of different endpoints and spans can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measure {
    /// Held time, billed or not.
    pub gpu_time: GpuMillis,
    pub cost: NanoUsd,
    /// Number of windows in which GPUs were held, and the sum of their busyness in millionths.
    windows: usize,
    busy: u64,
    is_measured: bool,
}

impl Measure {
    /// The mean over windows; see [`GpuBusy::mean`].
    pub fn busy(&self) -> GpuBusy {
        GpuBusy(rounded(self.busy, self.windows))
    }

    /// False if no window has a measurement, as on hardware that reports none.
    pub const fn is_measured(&self) -> bool {
        self.is_measured
    }
}

impl std::ops::AddAssign for Measure {
    fn add_assign(&mut self, other: Self) {
        self.gpu_time += other.gpu_time;
        self.cost += other.cost;
        self.windows += other.windows;
        self.busy += other.busy;
        self.is_measured |= other.is_measured;
    }
}

/// The recorded GPU usage of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct GpuUsage<'a> {
    pub holds: &'a [Hold],
    pub prices: &'a [PriceSince],
    /// Measured windows, by start.
    pub busy: &'a BTreeMap<Timestamp, GpuBusy>,
}

impl GpuUsage<'_> {
    /// The usage of a piece of a span. The costs of all pieces add up to the cost of the span, which is rounded once per price
    /// version.
    pub fn measure(&self, piece: Span, of: Span, now: Timestamp) -> Measure {
        let cost_until = |to: Timestamp| cost(self.holds, self.prices, Span { from: of.from, to }, now).nanos();
        let windows = held_windows(self.holds, piece, now);
        let measured = || windows.iter().filter_map(|start| self.busy.get(start));
        Measure {
            gpu_time: self.holds.iter().map(|hold| hold.gpu_time(piece, now)).sum(),
            cost: NanoUsd::from_nanos(cost_until(piece.to) - cost_until(piece.from)),
            windows: windows.len(),
            busy: measured().map(|window| window.0).sum(),
            is_measured: measured().next().is_some(),
        }
    }

    /// The usage of a whole span, which must not end after `now`.
    pub fn total(&self, within: Span, now: Timestamp) -> UsageLine {
        let windows = held_windows(self.holds, within, now);
        let measured = || windows.iter().filter_map(|start| self.busy.get(start).copied());
        UsageLine {
            start: within.from,
            gpu_time: self.holds.iter().map(|hold| hold.gpu_time(within, now)).sum(),
            cost: cost(self.holds, self.prices, within, now),
            busy: GpuBusy::mean(windows.len(), measured()),
            is_measured: measured().next().is_some(),
        }
    }

    /// The hours or days of a span in which GPUs were held.
    pub fn lines(&self, within: Span, grain: Grain, now: Timestamp) -> Vec<UsageLine> {
        let mut starts = BTreeSet::new();
        for hold in self.holds {
            starts.extend(hold.by_hour(within, now).into_iter().map(|(hour, _)| grain.start_of(hour)));
        }
        let line = |start: Timestamp| {
            let piece = Span { from: start.max(within.from), to: start.plus_millis(grain.millis()).min(within.to) };
            UsageLine { start, ..self.total(piece, now) }
        };
        starts.into_iter().map(line).collect()
    }
}

#[cfg(test)]
#[path = "gpu_time_tests.rs"]
mod tests;
