//! A budget for the memory of bodies, shared by all cores: of requests, of responses that are not streamed, and of those
//! whose clients do not keep up.
//!
//! A body takes its bytes before it is read and returns them when it is dropped, so that calls which wait for a replica or
//! for their first byte count, too. A holder may have at most as much as is free: alone it gets half of the budget, two
//! get a third each, and so on. However many holders take all they can, some room is left for the next one. Clients whose
//! caller is not known yet share a small part in the same way, by address, so that unauthenticated clients do not keep people
//! from signing in.

use crate::peers;
use domain::WorkspaceId;
use foldhash::HashMap;
use foldhash::fast::FixedState;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Locks among which holders are distributed.
const SHARDS: usize = 32;
/// All clients without a known caller get this part of what a workspace gets.
const CLIENTS_DIVISOR: u64 = 4;

#[derive(Debug)]
pub struct MemoryBudget {
    limit: u64,
    used: AtomicU64,
    /// The part of `used` that clients without a known caller have.
    used_by_clients: AtomicU64,
    /// Bytes by holder; only those that have some.
    shards: [Mutex<HashMap<Holder, u64>>; SHARDS],
}

/// Who a body belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    Workspace(WorkspaceId),
    /// The addresses of one client, whose body is read before its caller is known.
    Client(IpAddr),
}

impl Holder {
    pub fn client(address: IpAddr) -> Self {
        Self::Client(peers::client_of(address.to_canonical()))
    }

    /// Clients without a known caller share their part with others, so it is not theirs that is used up.
    const fn share_is_used_up(&self) -> NoMemoryError {
        match self {
            Self::Workspace(_) => NoMemoryError::Workspace,
            Self::Client(_) => NoMemoryError::Process,
        }
    }
}

/// There is no memory for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMemoryError {
    /// The budget of the process is used up.
    Process,
    /// The workspace has its share.
    Workspace,
}

/// Memory of one body, returned when dropped.
#[derive(Debug)]
pub struct MemoryGrant {
    budget: Arc<MemoryBudget>,
    holder: Holder,
    bytes: u64,
}

impl MemoryBudget {
    pub fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0), used_by_clients: AtomicU64::new(0), shards: Default::default() }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// A grant without memory, to be grown.
    pub fn grant(self: &Arc<Self>, holder: Holder) -> MemoryGrant {
        MemoryGrant { budget: Arc::clone(self), holder, bytes: 0 }
    }

    fn take(&self, holder: &Holder, bytes: u64) -> Result<(), NoMemoryError> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        let free = self.limit.saturating_sub(used);
        let taken = if bytes > free { Err(NoMemoryError::Process) } else { self.take_share(holder, bytes, free) };
        if taken.is_err() {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        taken
    }

    fn take_share(&self, holder: &Holder, bytes: u64, free: u64) -> Result<(), NoMemoryError> {
        match holder {
            Holder::Workspace(_) => self.take_within(holder, bytes, free),
            Holder::Client(_) => {
                // Counted before it is compared, so that clients who take at the same time see each other.
                let used = self.used_by_clients.fetch_add(bytes, Ordering::Relaxed);
                let taken = self.take_within(holder, bytes, (free / CLIENTS_DIVISOR).saturating_sub(used));
                if taken.is_err() {
                    self.used_by_clients.fetch_sub(bytes, Ordering::Relaxed);
                }
                taken
            }
        }
    }

    /// Adds to what the holder has, up to `share`.
    fn take_within(&self, holder: &Holder, bytes: u64, share: u64) -> Result<(), NoMemoryError> {
        let mut shard = self.shard(holder).lock();
        match shard.get_mut(holder) {
            Some(held) if *held + bytes <= share => *held += bytes,
            None if bytes <= share => {
                shard.insert(holder.clone(), bytes);
            }
            Some(_) | None => return Err(holder.share_is_used_up()),
        }
        Ok(())
    }

    fn give_back(&self, holder: &Holder, bytes: u64) {
        let mut shard = self.shard(holder).lock();
        if let Some(held) = shard.get_mut(holder) {
            *held -= bytes;
            if *held == 0 {
                shard.remove(holder);
            }
        }
        drop(shard);
        if let Holder::Client(_) = holder {
            self.used_by_clients.fetch_sub(bytes, Ordering::Relaxed);
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn shard(&self, holder: &Holder) -> &Mutex<HashMap<Holder, u64>> {
        let hash = FixedState::default().hash_one(holder);
        &self.shards[hash as usize % SHARDS]
    }
}

impl MemoryGrant {
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Makes sure that the grant has at least `bytes`.
    pub fn grow_to(&mut self, bytes: u64) -> Result<(), NoMemoryError> {
        let missing = bytes.saturating_sub(self.bytes);
        if missing > 0 {
            self.budget.take(&self.holder, missing)?;
            self.bytes = bytes;
        }
        Ok(())
    }

    /// Returns what the grant has beyond `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let surplus = self.bytes.saturating_sub(bytes);
        if surplus > 0 {
            self.budget.give_back(&self.holder, surplus);
            self.bytes = bytes;
        }
    }

    /// Takes over the memory of another grant of the same holder.
    pub fn absorb(&mut self, mut other: Self) {
        debug_assert_eq!(self.holder, other.holder);
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Makes sure that there is room for a buffer of `length` bytes that grows by doubling.
    pub fn grow_for(&mut self, length: usize) -> Result<(), NoMemoryError> {
        let length = length as u64;
        if length <= self.bytes { Ok(()) } else { self.grow_to(length.max(2 * self.bytes)) }
    }

    /// Gives all of it back; the grant can be grown again.
    pub fn give_back(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes > 0 {
            self.budget.give_back(&self.holder, bytes);
        }
    }
}

impl Drop for MemoryGrant {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;
    use proptest::prelude::*;

    fn workspace(number: u128) -> Holder {
        Holder::Workspace(WorkspaceId::new(Timestamp::from_millis(1), number))
    }

    fn granted(budget: &Arc<MemoryBudget>, holder: Holder, bytes: u64) -> Result<MemoryGrant, NoMemoryError> {
        let mut grant = budget.grant(holder);
        grant.grow_to(bytes).map(|()| grant)
    }

    #[test]
    fn a_workspace_gets_at_most_what_is_free() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let half = granted(&budget, workspace(1), 500).unwrap();
        assert_eq!(granted(&budget, workspace(1), 1).unwrap_err(), NoMemoryError::Workspace);
        let other = granted(&budget, workspace(2), 250).unwrap();
        assert_eq!(granted(&budget, workspace(2), 1).unwrap_err(), NoMemoryError::Workspace);
        let rest = granted(&budget, workspace(3), 250).unwrap();
        assert_eq!(granted(&budget, workspace(4), 1).unwrap_err(), NoMemoryError::Process);
        drop((half, other));
        assert_eq!(budget.used(), 250);
        assert!(granted(&budget, workspace(1), 500).is_ok());
        drop(rest);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn clients_without_a_caller_leave_most_of_it_to_the_others() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let client = |last: u8| Holder::client(IpAddr::from([192, 0, 2, last]));
        let _most = [granted(&budget, client(1), 100).unwrap(), granted(&budget, client(1), 20).unwrap()];
        assert_eq!(granted(&budget, client(1), 10).unwrap_err(), NoMemoryError::Process);
        let other = granted(&budget, client(2), 90).unwrap();
        assert_eq!(
            granted(&budget, client(3), 10).unwrap_err(),
            NoMemoryError::Process,
            "unauthenticated clients have their part"
        );
        assert!(granted(&budget, workspace(1), 700).is_ok());
        drop(other);
        assert!(granted(&budget, client(3), 90).is_ok());
    }

    #[test]
    fn clients_that_take_at_the_same_time_stay_within_their_part() {
        const CLIENTS: u8 = 8;
        let budget = Arc::new(MemoryBudget::new(1_000));
        for _ in 0..100 {
            let start = std::sync::Barrier::new(usize::from(CLIENTS));
            let taken: Vec<_> = std::thread::scope(|scope| {
                let take = |last: u8| {
                    let (budget, start) = (&budget, &start);
                    scope.spawn(move || {
                        start.wait();
                        granted(budget, Holder::client(IpAddr::from([192, 0, 2, last])), 40).ok()
                    })
                };
                let threads: Vec<_> = (0..CLIENTS).map(take).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            assert!(taken.len() as u64 * 40 <= 1_000 / CLIENTS_DIVISOR, "{} clients", taken.len());
            drop(taken);
            assert_eq!((budget.used(), budget.used_by_clients.load(Ordering::Relaxed)), (0, 0));
        }
    }

    #[test]
    fn a_client_has_one_share_in_all_spellings_of_its_addresses() {
        let client = |text: &str| Holder::client(text.parse().unwrap());
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::2:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
    }

    #[test]
    fn a_grant_can_shrink() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let mut grant = granted(&budget, workspace(1), 400).unwrap();
        grant.shrink_to(500);
        assert_eq!(budget.used(), 400);
        grant.shrink_to(100);
        assert_eq!(budget.used(), 100);
        assert!(granted(&budget, workspace(1), 400).is_ok());
        grant.shrink_to(0);
        drop(grant);
        assert_eq!(budget.used(), 0);
        assert!(budget.shards.iter().all(|shard| shard.lock().is_empty()));
    }

    #[test]
    fn a_grant_absorbs_another_one() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let mut grant = granted(&budget, workspace(1), 100).unwrap();
        grant.absorb(granted(&budget, workspace(1), 50).unwrap());
        assert_eq!((grant.bytes, budget.used()), (150, 150));
        drop(grant);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_buffer_that_grows_is_granted_by_doubling() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let mut grant = budget.grant(workspace(1));
        for (length, used) in [(10, 10), (11, 20), (20, 20), (21, 40), (400, 400)] {
            grant.grow_for(length).unwrap();
            assert_eq!(budget.used(), used);
        }
        assert_eq!(grant.grow_for(401), Err(NoMemoryError::Workspace));
        assert_eq!(budget.used(), 400, "a rejected growth takes nothing");
    }

    proptest! {
        #[test]
        fn the_budget_is_never_exceeded_and_all_of_it_returns(steps in prop::collection::vec((0..4_u128, 1..600_u64, any::<bool>()), 1..60)) {
            let budget = Arc::new(MemoryBudget::new(1_000));
            let mut held = Vec::new();
            for (holder, bytes, gives_back) in steps {
                if gives_back {
                    held.pop();
                } else {
                    held.extend(granted(&budget, workspace(holder), bytes).ok());
                }
                let sum: u64 = held.iter().map(|grant: &MemoryGrant| grant.bytes).sum();
                prop_assert_eq!(budget.used(), sum);
                prop_assert!(sum <= 1_000);
            }
            drop(held);
            prop_assert_eq!(budget.used(), 0);
            prop_assert!(budget.shards.iter().all(|shard| shard.lock().is_empty()));
        }
    }
}
