//! Running calls per workspace, with an optional bound.

use domain::WorkspaceId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The most counts of tokens that a workspace may have running at models that it shares with others, per node. Engines
/// tokenize on few threads, beside the calls of all.
pub const MAX_COUNTS: u32 = 4;

/// The running calls of this node. Clones share their counts. Without a bound, nothing is counted.
#[derive(Clone, Default)]
pub struct RunningCalls {
    bounded: Option<Arc<Bounded>>,
}

struct Bounded {
    max: u32,
    counts: Mutex<HashMap<WorkspaceId, u32>>,
}

/// Counts a call until it is dropped.
pub(crate) struct RunningCall {
    bounded: Arc<Bounded>,
    workspace: WorkspaceId,
}

/// The workspace has too many running calls.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyCallsError {
    pub(crate) max: u32,
}

impl RunningCalls {
    /// With at most `max` calls per workspace; `None` for any number.
    pub fn new(max: Option<u32>) -> Self {
        Self { bounded: max.map(|max| Arc::new(Bounded { max, counts: Mutex::default() })) }
    }

    pub(crate) fn enter(&self, workspace: &WorkspaceId) -> Result<Option<RunningCall>, TooManyCallsError> {
        let Some(bounded) = &self.bounded else { return Ok(None) };
        let mut counts = bounded.counts.lock();
        let count = counts.entry(workspace.clone()).or_default();
        if *count >= bounded.max {
            return Err(TooManyCallsError { max: bounded.max });
        }
        *count += 1;
        Ok(Some(RunningCall { bounded: Arc::clone(bounded), workspace: workspace.clone() }))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut counts = self.bounded.counts.lock();
        if let Some(count) = counts.get_mut(&self.workspace) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.workspace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

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
}
