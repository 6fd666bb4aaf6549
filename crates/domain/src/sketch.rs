//! Mergeable percentiles: a histogram with logarithmic bins, so that the sketch of a day is the sum of its hours' sketches.
//!
//! Percentiles themselves cannot be averaged. Values are seconds; a percentile is within 2 % of the true one.

use sketches_ddsketch::{Config, DDSketch};
use std::time::Duration;

/// The largest relative error of a percentile.
pub const ACCURACY: f64 = 0.02;
/// The values that the crate assumes when it reads a sketch; sketches with other ones could not be merged.
const MAX_BINS: u32 = 2048;
const SMALLEST_VALUE: f64 = 1e-9;

/// The sketch of the values of one span.
#[derive(Clone, Default)]
pub struct Sketch(Option<Box<DDSketch>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid sketch")]
pub struct SketchError;

impl Sketch {
    pub fn add(&mut self, value: Duration) {
        self.0.get_or_insert_with(|| Box::new(DDSketch::new(config()))).add(value.as_secs_f64());
    }

    pub fn merge(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (_, None) => {}
            (empty @ None, Some(_)) => empty.clone_from(&other.0),
            (Some(sketch), Some(other)) => sketch.merge(other).expect("all sketches have one configuration"),
        }
    }

    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |sketch| sketch.count() as u64)
    }

    /// In seconds; `None` if there are no values. `quantile` is from 0 to 1: the smallest value that at least this share of the
    /// values does not exceed, so that the 95th percentile of two calls is the longer one.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let sketch = self.0.as_ref()?;
        #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
        let count = sketch.count() as f64;
        let rank = (quantile * count).ceil() - 1.0;
        // The crate rounds its rank down; half a rank keeps it from the one below.
        let share = if rank + 1.0 >= count { 1.0 } else { (rank + 0.5) / (count - 1.0) };
        sketch.quantile(share.max(0.0)).ok().flatten()
    }

    /// In seconds, exact; `None` if there are no values.
    pub fn mean(&self) -> Option<f64> {
        let sketch = self.0.as_ref()?;
        #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
        let count = sketch.count() as f64;
        Some(sketch.sum()? / count)
    }

    /// Empty if there are no values.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.as_ref().map_or_else(Vec::new, |sketch| sketch.to_java_bytes())
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SketchError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut sketch = DDSketch::from_java_bytes(bytes).map_err(|_| SketchError)?;
        // A sketch with another accuracy cannot be merged with an empty one.
        sketch.merge(&DDSketch::new(config())).map_err(|_| SketchError)?;
        Ok(Self(Some(Box::new(sketch))))
    }
}

impl std::fmt::Debug for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sketch({} values, median {:?})", self.count(), self.quantile(0.5))
    }
}

fn config() -> Config {
    Config::new(ACCURACY, MAX_BINS, SMALLEST_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sketch(micros: &[u64]) -> Sketch {
        let mut sketch = Sketch::default();
        micros.iter().for_each(|value| sketch.add(Duration::from_micros(*value)));
        sketch
    }

    /// The exact value at the rank that the sketch approximates.
    fn true_quantile(micros: &[u64], quantile: f64) -> f64 {
        let mut sorted = micros.to_vec();
        sorted.sort_unstable();
        let rank = (quantile * sorted.len() as f64).ceil() as usize - 1;
        Duration::from_micros(sorted[rank]).as_secs_f64()
    }

    #[test]
    fn an_empty_sketch_has_no_percentile_and_no_bytes() {
        let empty = Sketch::default();
        assert_eq!((empty.count(), empty.quantile(0.5), empty.mean()), (0, None, None));
        assert!(empty.to_bytes().is_empty());
        assert_eq!(Sketch::from_bytes(&[]).unwrap().count(), 0);
        assert!(Sketch::from_bytes(b"garbage").is_err());
        let coarse = DDSketch::new(Config::new(0.3, MAX_BINS, SMALLEST_VALUE));
        assert!(Sketch::from_bytes(&coarse.to_java_bytes()).is_err());
    }

    /// SPEC 1, Observability dashboards: what they show of few calls is true, too.
    #[test]
    fn high_percentiles_of_few_calls_are_those_of_the_longest_and_not_below_the_mean() {
        let two = sketch(&[1_460_000, 1_920_000]);
        let (high, mean) = (two.quantile(0.95), two.mean().unwrap());
        assert_eq!((high, two.quantile(0.99)), (Some(1.92), Some(1.92)));
        assert!(two.quantile(0.5).unwrap() < mean && mean < high.unwrap(), "{two:?}");
        assert_eq!(sketch(&[7_000]).quantile(0.5), Some(0.007));
    }

    proptest! {
        #[test]
        fn a_merged_sketch_has_all_values_and_its_percentiles_are_accurate(
            one in prop::collection::vec(1_u64..600_000_000, 1..200),
            other in prop::collection::vec(1_u64..600_000_000, 0..200),
        ) {
            let mut merged = Sketch::from_bytes(&sketch(&one).to_bytes()).unwrap();
            merged.merge(&Sketch::from_bytes(&sketch(&other).to_bytes()).unwrap());
            let all = [one, other].concat();
            prop_assert_eq!(merged.count(), all.len() as u64);
            for quantile in [0.5, 0.95, 0.99] {
                let (found, exact) = (merged.quantile(quantile).unwrap(), true_quantile(&all, quantile));
                prop_assert!((found - exact).abs() <= exact * ACCURACY * 1.001, "{} instead of {}", found, exact);
            }
            let mean = all.iter().sum::<u64>() as f64 / all.len() as f64 / 1e6;
            prop_assert!((merged.mean().unwrap() - mean).abs() <= mean * 1e-9);
        }
    }
}
