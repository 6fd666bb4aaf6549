//! The weight of a workspace among those whose calls wait for the same model.

/// How many times the tokens of a workspace of weight 1 a workspace gets while calls of both wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueWeight(u16);

/// A number is not a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a weight is a whole number from 1 to {}", QueueWeight::MAX)]
pub struct QueueWeightError;

impl QueueWeight {
    pub const MAX: u16 = 1_000;

    pub fn new(weight: u64) -> Result<Self, QueueWeightError> {
        let weight = u16::try_from(weight).map_err(|_| QueueWeightError)?;
        if (1..=Self::MAX).contains(&weight) { Ok(Self(weight)) } else { Err(QueueWeightError) }
    }

    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Default for QueueWeight {
    fn default() -> Self {
        Self(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_a_small_whole_number() {
        for (number, expected) in [(0, None), (1, Some(1)), (1_000, Some(1_000)), (1_001, None), (u64::MAX, None)] {
            assert_eq!(QueueWeight::new(number).ok().map(QueueWeight::get), expected, "{number}");
        }
        assert_eq!(QueueWeight::default().get(), 1);
    }
}
