//! How batches share the lines that a node runs.

use super::MAX_RUNNING;
use super::window::LEAST;
use domain::{OrganizationId, WorkspaceId};
use std::collections::HashSet;

/// A batch as the others see it.
pub(super) struct Sharer<'a> {
    pub(super) organization: &'a OrganizationId,
    pub(super) workspace: &'a WorkspaceId,
    /// The lines of the batch that run here.
    pub(super) running: usize,
}

/// How many lines of a batch may run here; `all` has the batch, too. Organizations share the lines of the node, of which none gets
/// more than half, so that one that comes later finds room at once. Its workspaces share what an organization gets, and its
/// batches what a workspace gets.
pub(super) fn share_of(batch: &Sharer<'_>, all: &[Sharer<'_>]) -> usize {
    let organizations: HashSet<_> = all.iter().map(|one| one.organization).collect();
    let siblings: Vec<_> = all.iter().filter(|one| one.organization == batch.organization).collect();
    let workspaces: HashSet<_> = siblings.iter().map(|one| one.workspace).collect();
    let batches = siblings.iter().filter(|one| one.workspace == batch.workspace);
    let (batches, running) = batches.fold((0_usize, 0), |(batches, running), one| (batches + 1, running + one.running));
    let of_organization = (MAX_RUNNING / organizations.len()).clamp(LEAST, MAX_RUNNING / 2);
    let of_workspace = (of_organization / workspaces.len()).max(1);
    let left_of = |share: usize, running: usize| share.saturating_sub(running) + batch.running;
    let left =
        left_of(of_workspace, running).min(left_of(of_organization, siblings.iter().map(|one| one.running).sum()));
    (of_workspace / batches).max(1).min(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    /// The share of the first of these batches, each with the numbers of its organization and workspace and its running lines.
    fn share(all: &[(u128, u128, usize)]) -> usize {
        let now = Timestamp::from_millis(0);
        let ids: Vec<_> = all
            .iter()
            .map(|(organization, workspace, _)| {
                (OrganizationId::new(now, *organization), WorkspaceId::new(now, *workspace))
            })
            .collect();
        let sharers: Vec<_> = ids
            .iter()
            .zip(all)
            .map(|((organization, workspace), (_, _, running))| Sharer { organization, workspace, running: *running })
            .collect();
        share_of(&sharers[0], &sharers)
    }

    #[test]
    fn an_organization_gets_one_share_for_all_of_its_workspaces() {
        let crowd = |running| (1..=40).map(move |workspace| (2, workspace, running));
        let beside: Vec<_> = std::iter::once((1, 100, 0)).chain(crowd(0)).collect();
        assert_eq!(share(&beside), MAX_RUNNING / 2, "however many workspaces another organization has");
        assert_eq!(share(&crowd(0).collect::<Vec<_>>()), 3);
        let mut full: Vec<_> = std::iter::once((2, 100, 0)).chain(crowd(4)).collect();
        assert_eq!(share(&full), 0, "shares do not add up to more than that of the organization");
        full.rotate_left(1);
        assert_eq!(share(&full), 3, "those that run end some of their lines, which makes room");
    }

    #[test]
    fn workspaces_share_what_their_organization_gets_and_batches_what_their_workspace_gets() {
        assert_eq!(share(&[(1, 1, 0)]), 128, "half of the lines are left for those that come later");
        assert_eq!(share(&[(1, 1, 0), (1, 2, 0)]), 64);
        assert_eq!(share(&[(1, 1, 0), (1, 1, 0), (1, 2, 0)]), 32);
        assert_eq!(share(&[(1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0)]), 64);
        assert_eq!(share(&[(1, 1, 10), (1, 1, 50), (1, 2, 0)]), 14, "as long as lines of a batch that was alone run");
    }
}
