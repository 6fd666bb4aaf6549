//! Adds the GPU-hours of workspaces to what was spent of their monthly budgets.
//!
//! It is a loop of its own, so that many workspaces do not delay the rounds of the reconciler.

use crate::command_error::CommandError;
use crate::gpu_costs;
use domain::{Month, NanoUsd, Timestamp};
use std::time::Duration;
use store::holds::Owner;
use store::spend::{self, GpuCost};
use store::{Fenced, Store};

pub(super) const PERIOD: Duration = Duration::from_secs(60);
/// For how long the costs of a month are written after its end, because its last minute is not in them.
const LATE_MILLIS: i64 = 5 * 60_000;

/// One round of the leader of `epoch`: writes the costs of this month, and of one that has just ended.
pub async fn write_gpu_costs(store: &Store, epoch: u64, now: Timestamp) -> Result<(), CommandError> {
    let (current, just_ended) = (Month::of(now), Month::of(now.plus_millis(-LATE_MILLIS)));
    if just_ended != current {
        write(store, epoch, just_ended, now).await?;
    }
    write(store, epoch, current, now).await
}

/// Writes the costs of a month that have changed, in one transaction.
async fn write(store: &Store, epoch: u64, month: Month, now: Timestamp) -> Result<(), CommandError> {
    let mut changed = Vec::new();
    for written in spend::gpu_costs(store, month).await? {
        let cost = cost_of(store, &written, month, now).await?;
        if cost != written.cost {
            changed.push(GpuCost { cost, ..written });
        }
    }
    if !changed.is_empty() {
        let mut tx = Fenced::begin(store, epoch).await?;
        spend::set_gpu_costs(&mut tx, month, &changed).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn cost_of(store: &Store, of: &GpuCost, month: Month, now: Timestamp) -> Result<NanoUsd, CommandError> {
    let mut costs = gpu_costs::by_workspace(store, Owner::Workspace(&of.workspace), month, now).await?;
    Ok(costs.remove(&of.workspace).unwrap_or_default())
}
