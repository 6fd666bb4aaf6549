//! Memory of responses whose clients do not keep up.
//!
//! The process itself keeps little of such a response. The kernel keeps more: what the client has not taken, and what the
//! model server has already sent. Both count in the memory limit of a control group of version 2, so they come from the
//! budget of the node, by organization.

use crate::memory_budget::MemoryGrant;
use http1::server::Backlog;

/// About what a response takes while its client does not read: 130 KB of the socket from the model server, 60 KB of the
/// one to the client, and 60 KB of the process.
const BACKLOG_BYTES: u64 = 256 << 10;

/// The memory of one response.
#[derive(Debug, Default)]
pub struct ResponseBacklog {
    /// `None` for responses without a bound: small ones, before the node has started.
    grant: Option<MemoryGrant>,
}

impl ResponseBacklog {
    /// `grant` has no memory yet.
    pub const fn new(grant: MemoryGrant) -> Self {
        Self { grant: Some(grant) }
    }

    /// This one, or else another one if it has no bound.
    #[must_use]
    pub fn or_else(self, grant: impl FnOnce() -> MemoryGrant) -> Self {
        Self { grant: Some(self.grant.unwrap_or_else(grant)) }
    }
}

impl Backlog for ResponseBacklog {
    fn take(&mut self) -> bool {
        self.grant.as_mut().is_none_or(|grant| grant.grow_to(BACKLOG_BYTES).is_ok())
    }

    fn give_back(&mut self) {
        if let Some(grant) = &mut self.grant {
            grant.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_budget::{Holder, MemoryBudget};
    use std::net::IpAddr;
    use std::sync::Arc;

    #[test]
    fn a_backlog_takes_memory_until_it_is_given_back_or_dropped() {
        let budget = Arc::new(MemoryBudget::new(16 * BACKLOG_BYTES));
        let backlog = || ResponseBacklog::new(budget.grant(Holder::client(IpAddr::from([192, 0, 2, 1]))));
        let (mut first, mut second) = (backlog(), backlog());
        assert!(first.take() && first.take());
        assert_eq!(budget.used(), BACKLOG_BYTES);
        first.give_back();
        assert_eq!(budget.used(), 0);
        assert!(first.take() && second.take());
        let mut more: Vec<_> = std::iter::repeat_with(backlog).take(16).collect();
        assert!(more.iter_mut().any(|backlog| !backlog.take()), "a client has a share");
        drop((first, second, more));
        assert_eq!(budget.used(), 0);
        assert!(ResponseBacklog::default().take(), "without a bound");
    }
}
