//! The latest changes of keys and workspaces.
//!
//! A lookup remembers the position at which it began to read the store. If a later change concerns the key, the rows that
//! were read may be outdated and are not cached. Changes of other keys and workspaces do not matter: a tenant who changes
//! something all the time does not keep the keys of others out of the cache.

use domain::{Segment, WorkspaceId};
use std::collections::VecDeque;
use store::Change;

/// A lookup during which more changes arrive than this is not cached.
const MAX_KEPT: usize = 1_024;

#[derive(Default)]
pub(super) struct RecentChanges {
    /// The number of changes so far.
    position: u64,
    kept: VecDeque<Change>,
}

impl RecentChanges {
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn push(&mut self, change: Change) {
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(change);
        self.position += 1;
    }

    /// Whether a key may have changed since `position`. `workspace` is `None` if there is no such key.
    pub(super) fn concern(&self, position: u64, segment: Segment, workspace: Option<&WorkspaceId>) -> bool {
        let missed = usize::try_from(self.position - position).unwrap_or(usize::MAX);
        let Some(first) = self.kept.len().checked_sub(missed) else { return true };
        self.kept.range(first..).any(|change| match change {
            Change::Key(changed) => *changed == segment,
            Change::Workspace(changed) => workspace == Some(changed),
            Change::Organization(_) | Change::User(_) | Change::Endpoint(_) | Change::Catalogue => false,
            Change::Everything => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    fn workspace(number: u128) -> WorkspaceId {
        WorkspaceId::new(Timestamp::from_millis(1), number)
    }

    #[test]
    fn only_later_changes_of_the_same_key_or_workspace_concern_a_lookup() {
        let [own, other] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb"].map(|text| Segment::parse(text).unwrap());
        let mut recent = RecentChanges::default();
        recent.push(Change::Key(own));
        let position = recent.position();
        recent.push(Change::Key(other));
        recent.push(Change::Workspace(workspace(2)));
        assert!(!recent.concern(position, own, Some(&workspace(1))));
        assert!(!recent.concern(position, own, None));
        assert!(recent.concern(position, own, Some(&workspace(2))));
        assert!(recent.concern(position, other, None));
        assert!(recent.concern(0, own, None), "its own change came after an earlier position");
        recent.push(Change::Everything);
        assert!(recent.concern(position, own, None));
    }

    #[test]
    fn a_lookup_that_missed_changes_counts_as_outdated() {
        let own = Segment::parse("aaaaaaaaaaaa").unwrap();
        let mut recent = RecentChanges::default();
        for number in 0..MAX_KEPT as u128 {
            recent.push(Change::Workspace(workspace(number)));
        }
        assert!(!recent.concern(0, own, None));
        recent.push(Change::Workspace(workspace(0)));
        assert!(recent.concern(0, own, None));
        assert!(!recent.concern(1, own, None));
    }
}
