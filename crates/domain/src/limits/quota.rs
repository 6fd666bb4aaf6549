//! The monthly quota, which is never exceeded.
//!
//! The store keeps an account per workspace and month: tokens used, and tokens leased to nodes. A node spends its lease
//! locally: it reserves the upper bound of a call, and replaces that with the real usage when the call ends. A lease is
//! an absolute amount that only one run of a node sets, so a request whose response was lost can simply be repeated.
//!
//! Example: cap 100,000, node A leases 10,000. A call with an upper bound of 4,000 reserves 4,000 of them and uses 1,500:
//! 8,500 are free again. When the events of the call reach the store, 1,500 move from leased to used.

const SHARES_PER_NODE: u64 = 8;

/// What an account counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccountUnit {
    #[default]
    Tokens,
    NanoUsd,
}

impl AccountUnit {
    /// The smallest lease, as long as every node could get eight of them; closer to the cap, leases are as small as the calls
    /// that need them.
    const fn smallest_chunk(self) -> u64 {
        match self {
            Self::Tokens => 10_000,
            Self::NanoUsd => 10_000_000,
        }
    }

    const fn largest_chunk(self) -> u64 {
        match self {
            Self::Tokens => 1_000_000,
            Self::NanoUsd => 1_000_000_000,
        }
    }
}

/// What a call needs of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The most that it can use.
    pub total: u64,
    /// The minimum to start the call with.
    pub least: u64,
}

/// Upper bound of the tokens that a call can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBound {
    pub prompt: u64,
    /// Per choice.
    pub completion: u64,
    pub choices: u64,
}

impl TokenBound {
    /// The most tokens in total.
    pub fn total(&self) -> u64 {
        self.prompt.saturating_add(self.all_completions())
    }

    /// The most generated tokens of all choices.
    pub fn all_completions(&self) -> u64 {
        self.completion.saturating_mul(self.choices)
    }

    /// The minimum to start the call with: the prompt and one token per choice.
    pub fn least(&self) -> u64 {
        self.prompt.saturating_add(self.completion.min(1).saturating_mul(self.choices))
    }

    /// The tokens that the call needs.
    pub fn need(&self) -> Need {
        Need { total: self.total(), least: self.least() }
    }

    /// The same call limited to this many tokens in total.
    pub fn clamped(&self, tokens: u64) -> Self {
        Self { completion: tokens.saturating_sub(self.prompt) / self.choices.max(1), ..*self }
    }
}

/// Whose tokens an account of the quota has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccountOwner {
    #[default]
    Workspace,
    /// All workspaces of an organization.
    Organization,
}

/// The account of one month or period in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    pub owner: AccountOwner,
    pub unit: AccountUnit,
    pub cap: u64,
    pub used: u64,
    /// Leased by all runs and not yet written as used.
    pub reserved: u64,
    /// The part of it that nodes without a heartbeat hold. Set only in the response to a request for a lease; 0
    /// elsewhere.
    pub lost: u64,
}

impl Account {
    /// Tokens that are neither used nor leased.
    pub fn left(&self) -> u64 {
        self.cap.saturating_sub(self.used).saturating_sub(self.reserved)
    }

    /// The same account once the store has the events of calls that have ended, which used `ended` of what is leased.
    #[must_use]
    pub fn after(self, ended: u64) -> Self {
        let ended = ended.min(self.reserved);
        Self { used: self.used.saturating_add(ended), reserved: self.reserved - ended, ..self }
    }

    /// Whether this many tokens do not fit even if all leases come back unspent.
    pub fn is_spent_for(&self, tokens: u64) -> bool {
        self.used.saturating_add(tokens) > self.cap
    }

    /// Whether they do not fit even if all leases come back unspent but those of lost nodes, which may never come back.
    pub fn is_gone_for(&self, tokens: u64) -> bool {
        self.is_spent_for(self.lost.saturating_add(tokens))
    }
}

/// A node's request for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRequest {
    /// Tokens that the waiting call needs.
    pub wanted: u64,
    /// Less than this is useless.
    pub least: u64,
    /// Tokens that the workspace used on this node in the last minute.
    pub recent: u64,
    pub nodes: u32,
}

/// The response to a [`LeaseRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub tokens: u64,
    /// Unspent tokens should be returned at once.
    pub near_cap: bool,
}

/// How many tokens a node gets; `None` if fewer than the least are left.
pub fn grant(account: &Account, request: &LeaseRequest) -> Option<Grant> {
    let left = account.left();
    if left < request.least {
        return None;
    }
    let shares = SHARES_PER_NODE * u64::from(request.nodes.max(1));
    let smallest = account.unit.smallest_chunk();
    let near_cap = left < shares * smallest;
    let chunk = if near_cap {
        request.wanted
    } else {
        // A busy workspace gets larger leases, but only a share: tokens leased to one node are unavailable to others.
        let largest = account.unit.largest_chunk().max(request.recent.saturating_mul(2));
        (left / shares).clamp(smallest, largest).max(request.wanted)
    };
    Some(Grant { tokens: chunk.min(left), near_cap })
}

/// How many tokens a node gets for a workspace whose organization, which `workspaces` share, has an account, too. If fewer than
/// the least are left in one of them, it is the error.
pub fn grant_within(
    account: &Account,
    shared: Option<(&Account, u32)>,
    request: &LeaseRequest,
) -> Result<Grant, Account> {
    let own = grant(account, request).ok_or(*account)?;
    let Some((shared, workspaces)) = shared else { return Ok(own) };
    // A workspace on a node is one of as many that may hold a lease.
    let request = LeaseRequest { nodes: request.nodes.max(1).saturating_mul(workspaces.max(1)), ..*request };
    let of_all = grant(shared, &request).ok_or(*shared)?;
    Ok(Grant { tokens: own.tokens.min(of_all.tokens), near_cap: own.near_cap || of_all.near_cap })
}

/// The lease of one run, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lease {
    pub granted: u64,
    /// Tokens of the run's events that the store already has.
    pub written: u64,
}

impl Lease {
    /// Saturates at zero: an engine may report more than the upper bound.
    pub fn reserved(&self) -> u64 {
        self.granted.saturating_sub(self.written)
    }
}

/// A node's own view of its lease: tokens promised to running calls, and tokens used by ended ones.
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

    /// Tokens used by ended calls of which the store has `written`.
    pub fn unwritten(&self, written: u64) -> u64 {
        self.settled.saturating_sub(written)
    }

    /// Whether no call holds a reservation.
    pub fn is_quiet(&self) -> bool {
        self.promised == 0
    }

    /// Sets the amount that the store holds for this run.
    pub fn set_granted(&mut self, granted: u64) {
        self.granted = granted;
        self.cover();
    }

    /// Releases free tokens and returns their number. Done locally before the store is updated, so that a lost write can
    /// only strand tokens, never grant them twice.
    pub fn give_up_free(&mut self) -> u64 {
        let free = self.free();
        self.granted -= free;
        free
    }

    /// Reserves tokens for a call; `false` if there are not enough.
    #[must_use]
    pub fn reserve(&mut self, tokens: u64) -> bool {
        let fits = tokens <= self.free();
        if fits {
            self.promised += tokens;
        }
        fits
    }

    /// Ends a reservation with the real usage. Returns the overrun: tokens used above the upper bound.
    pub fn settle(&mut self, reserved: u64, used: u64) -> u64 {
        self.promised = self.promised.saturating_sub(reserved);
        self.settled = self.settled.saturating_add(used);
        self.cover();
        used.saturating_sub(reserved)
    }

    /// Grows the lease to cover an overrun, so that it is not taken from the next call.
    fn cover(&mut self) {
        self.granted = self.granted.max(self.promised.saturating_add(self.settled));
    }
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
