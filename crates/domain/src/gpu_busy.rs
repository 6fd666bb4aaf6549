//! Collects samples of how busy GPUs are into windows of five minutes.

use crate::gpu_time::{GpuBusy, WINDOW_MILLIS};
use crate::ids::{EndpointId, ReplicaId};
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// Bound of the sums that wait for the store; the oldest are dropped first.
const MAX_WAITING: usize = 10_000;

/// One GPU of a replica in one window.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GpuWindow {
    pub window: Timestamp,
    pub endpoint: EndpointId,
    pub replica: ReplicaId,
    pub gpu: String,
}

/// A sum of samples, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    pub busy: u64,
    pub samples: u64,
}

impl Sum {
    /// Zero without samples.
    pub fn mean(self) -> GpuBusy {
        GpuBusy::from_millionths((self.busy + self.samples / 2).checked_div(self.samples).unwrap_or(0))
    }
}

/// Samples not yet stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples(BTreeMap<GpuWindow, Sum>);

impl Samples {
    pub fn add(&mut self, at: Timestamp, endpoint: &EndpointId, replica: &ReplicaId, gpu: &str, busy: GpuBusy) {
        let key = GpuWindow {
            window: window_of(at),
            endpoint: endpoint.clone(),
            replica: replica.clone(),
            gpu: gpu.to_owned(),
        };
        self.put_back(vec![(key, Sum { busy: busy.millionths(), samples: 1 })]);
    }

    /// Takes all sums, to store them.
    pub fn take(&mut self) -> Vec<(GpuWindow, Sum)> {
        std::mem::take(&mut self.0).into_iter().collect()
    }

    /// Returns sums that could not be stored.
    pub fn put_back(&mut self, taken: Vec<(GpuWindow, Sum)>) {
        for (key, sum) in taken {
            let waiting = self.0.entry(key).or_default();
            waiting.busy += sum.busy;
            waiting.samples += sum.samples;
        }
        while self.0.len() > MAX_WAITING {
            self.0.pop_first();
        }
    }
}

/// The start of the window that contains `at`.
pub const fn window_of(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.millis() - at.millis().rem_euclid(WINDOW_MILLIS))
}

/// How busy a replica's CPU slots were. One slot is one processor; the result is at most 100 %.
pub fn of_cpu_time(taken: Duration, elapsed: Duration, slots: u32) -> GpuBusy {
    let available = elapsed.as_micros().saturating_mul(u128::from(slots));
    let millionths = (taken.as_micros() * 1_000_000).checked_div(available).unwrap_or(0).min(1_000_000);
    GpuBusy::from_millionths(u64::try_from(millionths).unwrap_or(1_000_000))
}

/// One window of an endpoint: the mean over the GPUs held in it. GPUs without samples count as idle.
pub fn of_window(measured: impl IntoIterator<Item = Sum>, held_gpus: usize) -> GpuBusy {
    let means: Vec<GpuBusy> = measured.into_iter().map(Sum::mean).collect();
    let held_gpus = held_gpus.max(means.len());
    GpuBusy::mean(held_gpus, means)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(samples: &[u64]) -> Sum {
        Sum { busy: samples.iter().map(|percent| percent * 10_000).sum(), samples: samples.len() as u64 }
    }

    #[test]
    fn the_worked_windows_of_the_contract() {
        let percents = |tenths: u64| GpuBusy::from_millionths(tenths * 1_000);
        let w1 = of_window([sum(&[80])], 1);
        let w2 = of_window([sum(&[40]), sum(&[0]), sum(&[20]), sum(&[20])], 4);
        let w3 = of_window([], 4);
        let w4 = of_window([sum(&[0]), sum(&[0]), sum(&[0]), sum(&[0])], 4);
        assert_eq!([w1, w2, w3, w4], [800, 200, 0, 0].map(percents));
        assert_eq!(GpuBusy::mean(4, [w1, w2, w3, w4]), percents(250));
        assert_eq!(of_window([sum(&[100, 50])], 2), percents(375), "a GPU without samples is idle");
    }

    #[test]
    fn cpu_slots_are_busy_up_to_100_percent() {
        let second = Duration::from_secs(1);
        for (taken_millis, slots, percent) in [(500, 1, 50), (500, 2, 25), (0, 4, 0), (3_000, 2, 100), (10, 0, 0)] {
            let busy = of_cpu_time(Duration::from_millis(taken_millis), second, slots);
            assert_eq!(busy, GpuBusy::from_millionths(percent * 10_000), "{taken_millis} ms over {slots}");
        }
        assert_eq!(of_cpu_time(second, Duration::ZERO, 1), GpuBusy::default());
    }

    #[test]
    fn samples_are_summed_per_window_and_bounded() {
        let (endpoint, replica) = (EndpointId::new(Timestamp::default(), 1), ReplicaId::new(Timestamp::default(), 1));
        let mut samples = Samples::default();
        for second in [0, 5, 299, 300] {
            let at = Timestamp::from_millis(second * 1_000);
            samples.add(at, &endpoint, &replica, "GPU-1", GpuBusy::from_millionths(500_000));
        }
        let taken = samples.take();
        let counts: Vec<_> = taken.iter().map(|(key, sum)| (key.window.millis(), sum.samples)).collect();
        assert_eq!(counts, [(0, 3), (300_000, 1)]);
        samples.put_back(taken);
        for window in 0..20_000 {
            samples.add(Timestamp::from_millis(window * 300_000), &endpoint, &replica, "GPU-1", GpuBusy::default());
        }
        let left = samples.take();
        assert_eq!((left.len(), left[0].0.window.millis()), (10_000, 10_000 * 300_000));
    }
}
