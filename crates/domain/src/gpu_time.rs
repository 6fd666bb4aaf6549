//! GPU-hours: how long GPUs were held, what that costs, and how busy they were meanwhile.
//!
//! What is remembered are intervals; sums are computed from them in whole GPU-milliseconds and divided once, at the end.
//! GPUs count from the moment they are bound until they are released: loading and draining are paid for, waiting is not.

use crate::money::NanoUsd;
use crate::span::Span;
use crate::time::{Grain, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An open hold is believed in for so long after it was last seen. For the view only: it catches up.
const BELIEVED_MILLIS: i64 = 120_000;
const MILLIS_PER_HOUR: i64 = 3_600_000;

/// A replica's GPUs, from when to when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub gpu_count: u32,
    pub started_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Starts that failed are shown and not billed.
    pub billable: bool,
}

impl Hold {
    /// The interval as it is known at `now`.
    pub fn span(&self, now: Timestamp) -> Span {
        let open_until = || now.min(self.last_seen_at.plus_millis(BELIEVED_MILLIS));
        let to = self.ended_at.unwrap_or_else(open_until);
        Span { from: self.started_at, to: to.max(self.started_at) }
    }

    pub fn gpu_time(&self, within: Span, now: Timestamp) -> GpuMillis {
        GpuMillis(i64::from(self.gpu_count) * overlap_millis(self.span(now), within))
    }

    /// Its hours, each with the part of the time that fell into it. The parts add up to the whole.
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

/// When a node is lost, its holds end when they were last seen; never before they started.
pub fn end_of_lost(hold: &Hold) -> Timestamp {
    hold.last_seen_at.max(hold.started_at)
}

fn overlap_millis(one: Span, other: Span) -> i64 {
    (one.to.min(other.to).millis() - one.from.max(other.from).millis()).max(0)
}

/// GPUs times milliseconds. Corrections may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GpuMillis(i64);

impl GpuMillis {
    pub const fn new(gpu_millis: i64) -> Self {
        Self(gpu_millis)
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    /// What it costs at so much per GPU-hour, rounded half up once.
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

/// In GPU-hours as decimal text: one to nine digits after the point.
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

impl serde::Serialize for GpuMillis {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a GPU-hour costs from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceSince {
    pub valid_from: Timestamp,
    pub price_per_gpu_hour: NanoUsd,
}

/// The versions of a price that are in force in a span, each with its part of it.
///
/// `prices` are in the order of their moments; the first one also covers what was before it.
pub fn versions(prices: &[PriceSince], within: Span) -> impl Iterator<Item = (PriceSince, Span)> + '_ {
    prices.iter().enumerate().filter_map(move |(index, version)| {
        let from = if index == 0 { within.from } else { version.valid_from.max(within.from) };
        let to = prices.get(index + 1).map_or(within.to, |next| next.valid_from.min(within.to));
        (from < to).then_some((*version, Span { from, to }))
    })
}

/// What holds cost in a span: each version of the price is rounded once, over all its time.
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

/// How long a collection window is.
pub const WINDOW_MILLIS: i64 = 300_000;
/// How far samples of a GPU are apart.
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

    /// One window of an endpoint: the plain mean over its GPUs, each the mean of its samples in percent. A GPU without a
    /// sample counts as idle.
    pub fn of_window(samples_by_gpu: &[Vec<u32>]) -> Self {
        let of_gpu = |samples: &Vec<u32>| {
            let percent: u64 = samples.iter().copied().map(u64::from).sum();
            rounded(percent * 10_000, samples.len())
        };
        Self(rounded(samples_by_gpu.iter().map(of_gpu).sum(), samples_by_gpu.len()))
    }

    /// The view: every window in which a GPU was held counts once, whatever it held and whether it was measured.
    pub fn mean(held_windows: usize, measured: impl IntoIterator<Item = Self>) -> Self {
        Self(rounded(measured.into_iter().map(|window| window.0).sum(), held_windows))
    }
}

fn rounded(sum: u64, count: usize) -> u64 {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    (sum + count / 2).checked_div(count).unwrap_or(0)
}

/// The windows of one endpoint in which it held at least one GPU, by their first moment.
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

/// One line of an endpoint's usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageLine {
    pub start: Timestamp,
    pub gpu_time: GpuMillis,
    pub cost: NanoUsd,
    pub busy: GpuBusy,
}

/// What was held in a span: it can be added to that of other endpoints and other spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measure {
    /// Held, billed or not.
    pub gpu_time: GpuMillis,
    pub cost: NanoUsd,
    /// Windows of endpoints in which something was held, and the sum of how busy they were.
    windows: usize,
    busy: u64,
}

impl Measure {
    /// Every window counts once, whatever it held, whoever held it and whether it was measured.
    pub fn busy(&self) -> GpuBusy {
        GpuBusy(rounded(self.busy, self.windows))
    }
}

impl std::ops::AddAssign for Measure {
    fn add_assign(&mut self, other: Self) {
        self.gpu_time += other.gpu_time;
        self.cost += other.cost;
        self.windows += other.windows;
        self.busy += other.busy;
    }
}

/// What is known of an endpoint's use of GPUs.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub holds: &'a [Hold],
    pub prices: &'a [PriceSince],
    /// Measured windows, by their first moment.
    pub busy: &'a BTreeMap<Timestamp, GpuBusy>,
}

impl Known<'_> {
    /// A piece of a span. The costs of all pieces of a span add up to the cost of the span, which is rounded once for each
    /// version of the price.
    pub fn measure(&self, piece: Span, of: Span, now: Timestamp) -> Measure {
        let cost_until = |to: Timestamp| cost(self.holds, self.prices, Span { from: of.from, to }, now).nanos();
        let windows = held_windows(self.holds, piece, now);
        let measured = windows.iter().filter_map(|start| self.busy.get(start));
        Measure {
            gpu_time: self.holds.iter().map(|hold| hold.gpu_time(piece, now)).sum(),
            cost: NanoUsd::from_nanos(cost_until(piece.to) - cost_until(piece.from)),
            windows: windows.len(),
            busy: measured.map(|window| window.0).sum(),
        }
    }

    /// All of a span in one line. Of the future nothing is known: give it a span that ends by `now`.
    pub fn total(&self, within: Span, now: Timestamp) -> UsageLine {
        let windows = held_windows(self.holds, within, now);
        let measured = windows.iter().filter_map(|start| self.busy.get(start).copied());
        UsageLine {
            start: within.from,
            gpu_time: self.holds.iter().map(|hold| hold.gpu_time(within, now)).sum(),
            cost: cost(self.holds, self.prices, within, now),
            busy: GpuBusy::mean(windows.len(), measured),
        }
    }

    /// The hours or days of a span in which something was held.
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
