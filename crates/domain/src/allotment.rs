//! GPU allotments: how many GPUs of a type an organization may commit.
//!
//! The ledger is the sum of what the organization's endpoints commit. A change is rejected only if it adds GPUs and exceeds
//! the cap: one that shrinks always passes, even if the cap was lowered below the commitment.

use crate::gpu_type::GpuType;
use std::collections::BTreeMap;

/// One organization's cap and commitment for one GPU type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    pub allotment: u64,
    pub committed: u64,
}

/// GPUs that a change releases from the commitment and adds to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub released: u64,
    pub added: u64,
}

/// A change that exceeds the allotment, with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{need} more GPUs are needed than the allotment of {allotment}: {committed} are committed, {projected} would be"
)]
pub struct AllotmentError {
    pub allotment: u64,
    pub committed: u64,
    /// The commitment after the change.
    pub projected: u64,
    /// How far that is above the cap.
    pub need: u64,
}

impl Ledger {
    /// The commitment after the change, or an error if it exceeds the allotment.
    pub fn project(&self, change: Change) -> Result<u64, AllotmentError> {
        let Self { allotment, committed } = *self;
        let projected = committed.saturating_sub(change.released) + change.added;
        if change.added <= change.released || projected <= allotment {
            return Ok(projected);
        }
        Err(AllotmentError { allotment, committed, projected, need: projected - allotment })
    }

    /// GPUs that are left; negative after the cap was lowered.
    pub fn headroom(&self) -> i64 {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        signed(self.allotment) - signed(self.committed)
    }

    /// How many more replicas of `gpu_count` GPUs each fit.
    pub fn replicas_that_fit(&self, gpu_count: u32) -> u64 {
        u64::try_from(self.headroom()).unwrap_or(0) / u64::from(gpu_count.max(1))
    }

    pub fn committed_share(&self) -> CommittedShare {
        CommittedShare::of(*self)
    }
}

/// The committed part of the cap: the ledger's "utilization". Unrelated to how busy the GPUs are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommittedShare(f64);

impl CommittedShare {
    fn of(ledger: Ledger) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "GPU counts are far below 2^52")]
        let share = match ledger {
            Ledger { allotment: 0, committed: 0 } => 0.0,
            Ledger { allotment: 0, .. } => 1.0,
            Ledger { allotment, committed } => committed as f64 / allotment as f64,
        };
        Self(share)
    }

    pub const fn fraction(self) -> f64 {
        self.0
    }
}

/// Caps of organizations without caps of their own. The cap of a GPU type that is not listed is 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Defaults(BTreeMap<GpuType, u32>);

impl Defaults {
    pub fn of(&self, gpu_type: &GpuType) -> u64 {
        self.0.get(gpu_type).copied().map_or(0, u64::from)
    }

    pub fn types(&self) -> impl Iterator<Item = &GpuType> {
        self.0.keys()
    }
}

impl FromIterator<(GpuType, u32)> for Defaults {
    fn from_iter<I: IntoIterator<Item = (GpuType, u32)>>(counts: I) -> Self {
        Self(counts.into_iter().collect())
    }
}

#[cfg(test)]
#[path = "allotment_tests.rs"]
mod tests;
