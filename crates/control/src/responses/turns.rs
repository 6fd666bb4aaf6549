//! Who may read or write stored content, and when.

use crate::command_error::CommandError;
use background::{Turn, Turns};
use domain::{Caller, OrganizationId, WorkspaceId};
use std::time::Duration;
use store::StoreError;

/// Pieces of content that are read, or written, at once. Each may be large.
const MAX_AT_ONCE: usize = 4;
/// Workspaces wait for their organization, not for each other.
const MAX_WORKSPACES: usize = 1 << 20;
const TIMEOUT: Duration = Duration::from_secs(3);

/// A workspace has one place in its organization at a time, and an organization one of all places, so that neither
/// one with much content nor one with many workspaces delays others.
#[derive(Debug, Clone)]
pub(super) struct ContentTurns {
    workspaces: Turns<WorkspaceId>,
    organizations: Turns<OrganizationId>,
}

impl Default for ContentTurns {
    fn default() -> Self {
        Self { workspaces: Turns::new(MAX_WORKSPACES), organizations: Turns::new(MAX_AT_ONCE) }
    }
}

impl ContentTurns {
    pub(super) async fn turn(&self, caller: &Caller) -> Result<(Turn, Turn), CommandError> {
        let turns = async {
            let of_workspace = self.workspaces.take(&caller.workspace).await;
            (of_workspace, self.organizations.take(&caller.organization).await)
        };
        tokio::time::timeout(TIMEOUT, turns).await.map_err(|elapsed| StoreError::Unavailable(Box::new(elapsed)).into())
    }
}
