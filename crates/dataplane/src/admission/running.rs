//! Running calls per workspace, with an optional bound, and running counts of tokens.

use domain::{Caller, OrganizationId, WorkspaceId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// The most counts of tokens that a workspace, and an organization, may have running at models that they share with others,
/// per node. Engines tokenize on few threads, beside the calls of all.
const MAX_COUNTS: u32 = 4;
const MAX_COUNTS_OF_ORGANIZATION: u32 = 8;

/// The running calls of this node, by their owner. Clones share their counts. Without a bound, nothing is counted.
pub struct RunningCalls<K = WorkspaceId> {
    bounded: Option<Arc<Bounded<K>>>,
}

struct Bounded<K> {
    max: u32,
    counts: Mutex<HashMap<K, u32>>,
}

impl<K> Clone for RunningCalls<K> {
    fn clone(&self) -> Self {
        Self { bounded: self.bounded.clone() }
    }
}

impl<K> Default for RunningCalls<K> {
    fn default() -> Self {
        Self { bounded: None }
    }
}

/// Counts a call until it is dropped.
pub(crate) struct RunningCall<K: Eq + Hash = WorkspaceId> {
    bounded: Arc<Bounded<K>>,
    owner: K,
}

/// The owner has too many running calls.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyCallsError {
    pub(crate) max: u32,
}

impl<K: Eq + Hash + Clone> RunningCalls<K> {
    /// With at most `max` calls per owner; `None` for any number.
    pub fn new(max: Option<u32>) -> Self {
        Self { bounded: max.map(|max| Arc::new(Bounded { max, counts: Mutex::default() })) }
    }

    pub(crate) fn enter(&self, owner: &K) -> Result<Option<RunningCall<K>>, TooManyCallsError> {
        let Some(bounded) = &self.bounded else { return Ok(None) };
        let mut counts = bounded.counts.lock();
        let count = counts.entry(owner.clone()).or_default();
        if *count >= bounded.max {
            return Err(TooManyCallsError { max: bounded.max });
        }
        *count += 1;
        Ok(Some(RunningCall { bounded: Arc::clone(bounded), owner: owner.clone() }))
    }
}

impl<K: Eq + Hash> Drop for RunningCall<K> {
    fn drop(&mut self) {
        let mut counts = self.bounded.counts.lock();
        if let Some(count) = counts.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.owner);
            }
        }
    }
}

/// The running counts of tokens at shared models.
#[derive(Clone)]
pub struct RunningCounts {
    workspaces: RunningCalls<WorkspaceId>,
    organizations: RunningCalls<OrganizationId>,
}

impl Default for RunningCounts {
    fn default() -> Self {
        let (workspaces, organizations) = (Some(MAX_COUNTS), Some(MAX_COUNTS_OF_ORGANIZATION));
        Self { workspaces: RunningCalls::new(workspaces), organizations: RunningCalls::new(organizations) }
    }
}

/// Counts a count of tokens until it is dropped.
pub(crate) struct RunningCount {
    _of_workspace: Option<RunningCall<WorkspaceId>>,
    _of_organization: Option<RunningCall<OrganizationId>>,
}

impl RunningCounts {
    pub(crate) fn enter(&self, caller: &Caller) -> Result<RunningCount, TooManyCallsError> {
        Ok(RunningCount {
            _of_workspace: self.workspaces.enter(&caller.workspace)?,
            _of_organization: self.organizations.enter(&caller.organization)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::usage::Actor;
    use domain::{KeyId, Timestamp};

    #[test]
    fn a_workspace_has_a_bound_of_its_own() {
        let [one, other] = [1, 2].map(|number| WorkspaceId::new(Timestamp::from_millis(1), number));
        let calls = RunningCalls::new(Some(2));
        let running = [calls.enter(&one).unwrap(), calls.clone().enter(&one).unwrap()];
        assert_eq!(calls.enter(&one).err(), Some(TooManyCallsError { max: 2 }));
        assert!(calls.enter(&other).is_ok());
        drop(running);
        assert!(calls.enter(&one).is_ok());
        assert!(calls.bounded.unwrap().counts.lock().is_empty(), "nothing is left behind");
        let any = RunningCalls::default();
        assert!((0..10).all(|_| any.enter(&one).is_ok_and(|counted| counted.is_none())));
    }

    #[test]
    fn the_workspaces_of_an_organization_share_its_counts() {
        let now = Timestamp::from_millis(1);
        let caller = |organization, workspace| {
            let actor = Actor::Key(KeyId::new(now, 1));
            Caller::new(OrganizationId::new(now, organization), WorkspaceId::new(now, workspace), actor)
        };
        let counts = RunningCounts::default();
        let of_one: Vec<_> = (0..4).map(|_| counts.enter(&caller(1, 1)).ok().unwrap()).collect();
        assert_eq!(counts.enter(&caller(1, 1)).err(), Some(TooManyCallsError { max: 4 }));
        let _of_two: Vec<_> = (0..4).map(|_| counts.enter(&caller(1, 2)).ok().unwrap()).collect();
        assert_eq!(counts.enter(&caller(1, 3)).err(), Some(TooManyCallsError { max: 8 }));
        assert!(counts.enter(&caller(2, 4)).is_ok());
        drop(of_one);
        assert!(counts.enter(&caller(1, 3)).is_ok(), "and nothing was kept of the rejected ones");
    }
}
