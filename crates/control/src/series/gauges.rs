//! Lines of gauges: values that are sampled, of which charts show the mean and the maximum.

use super::Frame;
use super::lines::{Accumulate, ChartLine, LineName, LineSums, ratio};

/// Sum, maximum and number of samples of a gauge.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Readings {
    pub(super) total: u64,
    pub(super) highest: u64,
    pub(super) samples: u64,
}

impl Accumulate for Readings {
    fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.highest = self.highest.max(other.highest);
        self.samples += other.samples;
    }

    fn weight(&self) -> u64 {
        self.samples
    }
}

/// The mean and the maximum of readings that are stored as multiples of `1 / scale`.
pub(super) fn gauge_lines(sums: LineSums<Readings>, frame: &Frame, scale: u64) -> Vec<ChartLine> {
    let mean = |readings: &Readings| ratio(readings.total, readings.samples * scale);
    let highest = |readings: &Readings| (readings.samples > 0).then(|| ratio(readings.highest, scale)).flatten();
    let line = |(name, readings, total): (LineName, Vec<Readings>, Readings)| ChartLine {
        name,
        values: vec![
            ("mean", frame.each(|index| mean(&readings[index]))),
            ("max", frame.each(|index| highest(&readings[index]))),
        ],
        total: vec![("mean", mean(&total)), ("max", highest(&total))],
    };
    sums.finish().into_iter().map(line).collect()
}
