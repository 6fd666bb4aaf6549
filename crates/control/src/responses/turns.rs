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

#[cfg(test)]
mod tests {
    use super::*;
    use domain::usage::Actor;
    use domain::{KeyId, Timestamp};
    use tokio::task::JoinSet;
    use tokio::time::Instant;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    /// More than there are places.
    const WORKSPACES: u128 = 5 * MAX_AT_ONCE as u128;

    fn caller(organization: u128, workspace: u128) -> Caller {
        let (organization, workspace) = (OrganizationId::new(NOW, organization), WorkspaceId::new(NOW, workspace));
        Caller::new(organization, workspace, Actor::Key(KeyId::new(NOW, 1)))
    }

    #[tokio::test(start_paused = true)]
    async fn an_organization_with_many_workspaces_does_not_delay_another_one() {
        let turns = ContentTurns::default();
        let held = turns.turn(&caller(1, 0)).await.unwrap();
        let mut waiting = JoinSet::new();
        for workspace in 1..WORKSPACES {
            let turns = turns.clone();
            waiting.spawn(async move { turns.turn(&caller(1, workspace)).await.is_ok() });
        }
        tokio::task::yield_now().await;
        let since = Instant::now();
        drop(turns.turn(&caller(2, 1_000)).await.unwrap());
        assert_eq!(since.elapsed(), Duration::ZERO, "another organization does not wait");
        assert!(waiting.join_all().await.iter().all(|is_admitted| !is_admitted), "they wait for their own");
        assert!(since.elapsed() >= TIMEOUT);
        drop(held);
        assert!(turns.turn(&caller(1, 1)).await.is_ok());
    }
}
