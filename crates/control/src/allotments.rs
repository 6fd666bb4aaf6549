//! GPU allotments of organizations: their commitments, and the operator's caps.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use domain::allotment::{Defaults, Ledger};
use domain::{GpuType, OrganizationId};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use store::{Store, allotments, organizations};

/// The configuration has the same bound.
const MAX_GPUS: u64 = 1_000_000;

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllotmentLine {
    pub gpu_type: GpuType,
    pub allotment: u64,
    pub committed: u64,
    /// Negative after the cap was lowered.
    pub headroom: i64,
    /// The committed share of the cap.
    pub utilization: f64,
}

impl AllotmentLine {
    fn new(gpu_type: GpuType, ledger: Ledger) -> Self {
        Self {
            gpu_type,
            allotment: ledger.allotment,
            committed: ledger.committed,
            headroom: ledger.headroom(),
            utilization: ledger.committed_share().fraction(),
        }
    }
}

/// The ledger of an organization, by GPU type.
pub async fn list(
    store: &Store,
    organization: &OrganizationId,
    defaults: &Defaults,
) -> Result<Vec<AllotmentLine>, CommandError> {
    Ok(lines(allotments::list(store, organization, defaults).await?))
}

/// [`list`] of several organizations.
pub async fn list_of(
    store: &Store,
    organizations: &[&OrganizationId],
    defaults: &Defaults,
) -> Result<HashMap<OrganizationId, Vec<AllotmentLine>>, CommandError> {
    let found = allotments::list_of(store, organizations, defaults).await?;
    Ok(found.into_iter().map(|(id, ledgers)| (id, lines(ledgers))).collect())
}

fn lines(ledgers: BTreeMap<GpuType, Ledger>) -> Vec<AllotmentLine> {
    ledgers.into_iter().map(|(gpu_type, ledger)| AllotmentLine::new(gpu_type, ledger)).collect()
}

/// Sets an organization's cap, or resets it to the default. Lowering it stops nothing that runs.
pub async fn set(
    command: Command<'_>,
    organization: &OrganizationId,
    gpu_type: &GpuType,
    allotment: Option<u64>,
    defaults: &Defaults,
) -> Result<AllotmentLine, CommandError> {
    if allotment.is_some_and(|gpus| gpus > MAX_GPUS) {
        return Err(CommandError::BadValue { field: "allotment", why: "an allotment is at most 1000000 GPUs" });
    }
    let known = organizations::by_id(command.store, organization).await?;
    known.ok_or_else(|| CommandError::missing("organization", organization.as_str()))?;
    let mut tx = command.store.begin().await?;
    let before = allotments::lock(&mut tx, organization, gpu_type, defaults).await?;
    allotments::set(&mut tx, organization, gpu_type, allotment).await?;
    let after = Ledger { allotment: allotment.unwrap_or_else(|| defaults.of(gpu_type)), ..before };
    let detail = format!("{gpu_type}: {} → {}", before.allotment, after.allotment);
    let change = AuditedChange::new("allotment.set", Some(organization), organization.as_str()).detail(detail);
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(AllotmentLine::new(gpu_type.clone(), after))
}
