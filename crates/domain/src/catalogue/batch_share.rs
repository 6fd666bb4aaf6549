//! The share of a replica that calls may take which yield to interactive ones.

use std::fmt;

/// From 0 to 1, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchShare(u16);

/// A number is not a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a share is a number from 0 to 1")]
pub struct BatchShareError;

impl BatchShare {
    const WHOLE: u16 = 1_000;
    const DEFAULT: u16 = Self::WHOLE / 2;

    pub fn from_thousandths(thousandths: u16) -> Result<Self, BatchShareError> {
        if thousandths <= Self::WHOLE { Ok(Self(thousandths)) } else { Err(BatchShareError) }
    }

    /// Rounded to thousandths.
    pub fn new(share: f64) -> Result<Self, BatchShareError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(BatchShareError);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1000")]
        Self::from_thousandths((share * f64::from(Self::WHOLE)).round() as u16)
    }

    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(Self::WHOLE)
    }

    /// The share of a replica that serves no interactive calls: yielding calls also get three quarters of what is otherwise
    /// kept free. A share below the default was lowered to keep room, and stays.
    #[must_use]
    pub const fn when_quiet(self) -> Self {
        if self.0 < Self::DEFAULT { self } else { Self(Self::WHOLE - (Self::WHOLE - self.0) / 4) }
    }

    /// The share of this many calls, but at least one, so that yielding calls are served where one call fits.
    pub fn of_calls(self, capacity: u32) -> u32 {
        let share = u64::from(capacity) * u64::from(self.0) / u64::from(Self::WHOLE);
        u32::try_from(share).unwrap_or(capacity).max(1)
    }
}

impl Default for BatchShare {
    fn default() -> Self {
        Self(Self::DEFAULT)
    }
}

impl fmt::Display for BatchShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_from_0_to_1() {
        for (number, shown, of_ten) in
            [(0.0, "0", 1), (0.5, "0.5", 5), (0.999_9, "1", 10), (1.0, "1", 10), (0.25, "0.25", 2)]
        {
            let share = BatchShare::new(number).unwrap();
            assert_eq!((share.to_string().as_str(), share.of_calls(10)), (shown, of_ten));
        }
        for bad in [-0.1, 1.001, f64::NAN, f64::INFINITY] {
            assert_eq!(BatchShare::new(bad), Err(BatchShareError), "{bad}");
        }
        assert_eq!(BatchShare::default().of_calls(u32::MAX), u32::MAX / 2);
    }

    #[test]
    fn a_quiet_replica_keeps_a_quarter_of_the_rest_free_unless_the_share_was_lowered() {
        for (share, capacity, expected) in [
            (0.5, 1, 1),
            (0.5, 2, 1),
            (0.5, 8, 7),
            (0.5, 64, 56),
            (0.8, 100, 95),
            (1.0, 8, 8),
            (0.499, 100, 49),
            (0.1, 64, 6),
            (0.0, 8, 1),
        ] {
            assert_eq!(
                BatchShare::new(share).unwrap().when_quiet().of_calls(capacity),
                expected,
                "{share} of {capacity}"
            );
        }
    }
}
