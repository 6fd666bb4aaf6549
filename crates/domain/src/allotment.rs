//! GPU allotments: how many GPUs of a type an organization may commit.
//!
//! The ledger is nothing but the sum of what its endpoints commit. A change is refused only if it adds and goes past the
//! cap: what shrinks passes, even when a cap was cut below what is committed already.

use crate::gpu_type::GpuType;
use std::collections::BTreeMap;

/// One organization's cap and commitment for one GPU type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    pub allotment: u64,
    pub committed: u64,
}

/// What a change adds to the commitment and takes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub released: u64,
    pub added: u64,
}

/// The numbers of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{need} more GPUs are needed than the allotment of {allotment}: {committed} are committed, {projected} would be"
)]
pub struct Exceeded {
    pub allotment: u64,
    pub committed: u64,
    /// What the commitment would have become.
    pub projected: u64,
    /// How many of these are above the cap.
    pub need: u64,
}

impl Ledger {
    /// The commitment after the change, if it may be made.
    pub fn project(&self, change: Change) -> Result<u64, Exceeded> {
        let Self { allotment, committed } = *self;
        let projected = committed.saturating_sub(change.released) + change.added;
        if change.added <= change.released || projected <= allotment {
            return Ok(projected);
        }
        Err(Exceeded { allotment, committed, projected, need: projected - allotment })
    }

    /// How many GPUs are left; below zero after a cap was cut.
    pub fn headroom(&self) -> i64 {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        signed(self.allotment) - signed(self.committed)
    }

    /// How many more replicas of so many GPUs fit.
    pub fn replicas_that_fit(&self, gpu_count: u32) -> u64 {
        u64::try_from(self.headroom()).unwrap_or(0) / u64::from(gpu_count.max(1))
    }

    pub fn committed_share(&self) -> CommittedShare {
        CommittedShare::of(*self)
    }
}

/// The part of the cap that is committed: the ledger's "utilization". It says nothing of how busy GPUs are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommittedShare(f64);

impl CommittedShare {
    fn of(ledger: Ledger) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 GPUs")]
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

/// Caps of organizations that the operator has given none of their own; types that are not here have none.
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
