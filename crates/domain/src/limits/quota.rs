//! The monthly quota: never above the cap.
//!
//! The store keeps an account of every workspace and month: what is used, and what nodes have leased. A node spends its
//! lease without asking: it reserves the most that a call can use, and settles what it did use. A lease is an absolute
//! amount that only its own run of a node sets, so a question whose answer was lost can be asked again.

/// Below so many tokens for each node and eight times over, leases are as small as the calls that need them.
const SMALLEST_CHUNK: u64 = 10_000;
const LARGEST_CHUNK: u64 = 1_000_000;
const SHARES_PER_NODE: u64 = 8;

/// The most that a call can use, or would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBound {
    pub prompt: u64,
    /// Of each choice.
    pub completion: u64,
    pub choices: u64,
}

impl TokenBound {
    pub fn total(&self) -> u64 {
        self.prompt.saturating_add(self.completion.saturating_mul(self.choices))
    }

    /// The least that is worth starting with: one token for every choice.
    pub fn least(&self) -> u64 {
        self.prompt.saturating_add(self.completion.min(1).saturating_mul(self.choices))
    }

    /// The same call with so many tokens in all.
    pub fn clamped(&self, tokens: u64) -> Self {
        Self { completion: tokens.saturating_sub(self.prompt) / self.choices.max(1), ..*self }
    }
}

/// What the store says of a workspace's month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub cap: u64,
    pub used: u64,
    /// What all runs have leased and not yet written as used.
    pub reserved: u64,
}

impl Account {
    pub fn left(&self) -> u64 {
        self.cap.saturating_sub(self.used).saturating_sub(self.reserved)
    }

    /// No lease that comes back unspent would make room for so much.
    pub fn is_spent_for(&self, tokens: u64) -> bool {
        self.used.saturating_add(tokens) > self.cap
    }
}

/// What a node wants to spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRequest {
    /// What waits for this very answer.
    pub wanted: u64,
    /// Less than this is of no use.
    pub least: u64,
    /// What the workspace used here in the last minute.
    pub recent: u64,
    pub nodes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub tokens: u64,
    /// What is not spent at once should come back at once.
    pub near_cap: bool,
}

/// How much a node gets, if anything.
pub fn grant(account: &Account, ask: &LeaseRequest) -> Option<Grant> {
    let left = account.left();
    if left < ask.least {
        return None;
    }
    let shares = SHARES_PER_NODE * u64::from(ask.nodes.max(1));
    let near_cap = left < shares * SMALLEST_CHUNK;
    let chunk = if near_cap {
        ask.wanted
    } else {
        // A busy workspace gets more at once, but a share all the same: what a node holds is of no use to others.
        let largest = LARGEST_CHUNK.max(ask.recent.saturating_mul(2));
        (left / shares).clamp(SMALLEST_CHUNK, largest).max(ask.wanted)
    };
    Some(Grant { tokens: chunk.min(left), near_cap })
}

/// One run's lease as the store keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lease {
    pub granted: u64,
    /// Tokens of the run's events that are in the store.
    pub written: u64,
}

impl Lease {
    /// An engine that reported more than it could use makes this zero, not less.
    pub fn reserved(&self) -> u64 {
        self.granted.saturating_sub(self.written)
    }
}

/// A node's own view of one lease: what of it is promised to calls, and what they used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeaseBook {
    granted: u64,
    promised: u64,
    settled: u64,
}

impl LeaseBook {
    pub fn granted(&self) -> u64 {
        self.granted
    }

    pub fn free(&self) -> u64 {
        self.granted.saturating_sub(self.promised).saturating_sub(self.settled)
    }

    pub fn is_quiet(&self) -> bool {
        self.promised == 0
    }

    /// The store holds so much for this run from now on.
    pub fn set_granted(&mut self, granted: u64) {
        self.granted = granted;
        self.cover();
    }

    /// Gives up what nobody needs, before the store is told.
    pub fn give_up_free(&mut self) -> u64 {
        let free = self.free();
        self.granted -= free;
        free
    }

    /// Promises so much to a call, if it is there.
    #[must_use]
    pub fn reserve(&mut self, tokens: u64) -> bool {
        let fits = tokens <= self.free();
        if fits {
            self.promised += tokens;
        }
        fits
    }

    /// A call ended; returns what it used beyond its bound.
    pub fn settle(&mut self, reserved: u64, used: u64) -> u64 {
        self.promised = self.promised.saturating_sub(reserved);
        self.settled = self.settled.saturating_add(used);
        self.cover();
        used.saturating_sub(reserved)
    }

    /// What was used beyond the lease is used all the same: the lease is as large, or the next call would have to pay.
    fn cover(&mut self) {
        self.granted = self.granted.max(self.promised.saturating_add(self.settled));
    }
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
