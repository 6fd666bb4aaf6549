//! A budget for the memory of bodies, shared by all cores: of requests, of responses that are not streamed, and of those
//! whose clients do not keep up.
//!
//! A body takes its bytes as it arrives and returns them when it is dropped, so that calls which wait for a replica or for
//! their first byte count, too. A holder may have at most as much as is free: alone it gets half of the budget, two get a
//! third each, and so on. However many holders take all they can, some room is left for the next one. The holder of a call
//! is its organization, because an organization can have many workspaces. Its people have a share of their own, so that
//! they can act while its programs take all they can. Users who act in no organization have a small part together, however
//! many they are, which they share in the same way. Clients whose caller is not known yet have another one, by address, so
//! that unauthenticated clients do not keep people from signing in.
//!
//! What is announced and has not arrived takes nothing, but a holder may not announce more than the whole budget.

use crate::peers;
use domain::{OrganizationId, UserId};
use foldhash::HashMap;
use foldhash::fast::FixedState;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Locks among which holders are distributed.
const SHARDS: usize = 32;
/// People of an organization, all users without one together, and all clients without a known caller together, get this part
/// of what the programs of an organization get. They send small bodies.
const PEOPLE_DIVISOR: u64 = 4;

#[derive(Debug)]
pub struct MemoryBudget {
    limit: u64,
    used: AtomicU64,
    /// The part of `used` that users without an organization have.
    used_by_users: AtomicU64,
    /// The part of `used` that clients without a known caller have.
    used_by_clients: AtomicU64,
    /// Only holders that have something.
    shards: [Mutex<HashMap<Holder, Held>>; SHARDS],
}

/// Bytes of one holder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Held {
    taken: u64,
    /// The lengths of bodies that have not arrived completely.
    announced: u64,
}

/// Who a body belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    /// Calls with the keys of an organization, of all its workspaces.
    Organization(OrganizationId),
    /// Signed-in people who act in an organization.
    People(OrganizationId),
    /// A signed-in user who acts in no organization.
    User(UserId),
    /// The addresses of one client, whose body is read before its caller is known.
    Client(IpAddr),
}

impl Holder {
    pub fn client(address: IpAddr) -> Self {
        Self::Client(peers::client_of(address.to_canonical()))
    }

    /// Holders of a common part share it with others, so it is not theirs that is used up.
    const fn share_is_used_up(&self) -> NoMemoryError {
        match self {
            Self::Organization(_) | Self::People(_) => NoMemoryError::Organization,
            Self::User(_) | Self::Client(_) => NoMemoryError::Process,
        }
    }
}

/// There is no memory for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMemoryError {
    /// The budget of the process is used up.
    Process,
    /// The holder has its share.
    Organization,
}

/// Memory of one body, returned when dropped.
#[derive(Debug)]
pub struct MemoryGrant {
    budget: Arc<MemoryBudget>,
    holder: Holder,
    bytes: u64,
}

/// The length of a body that is arriving, no longer counted when dropped.
#[derive(Debug)]
pub(crate) struct Announcement {
    budget: Arc<MemoryBudget>,
    holder: Holder,
    bytes: u64,
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.budget.reduce(&self.holder, |held| held.announced -= self.bytes);
    }
}

impl MemoryBudget {
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
            used_by_users: AtomicU64::new(0),
            used_by_clients: AtomicU64::new(0),
            shards: Default::default(),
        }
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

    /// `own` is what counts as nothing if the holder has no more than that.
    fn take(&self, holder: &Holder, bytes: u64, own: u64) -> Result<(), NoMemoryError> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        let free = self.limit.saturating_sub(used);
        let taken = if bytes > free { Err(NoMemoryError::Process) } else { self.take_share(holder, bytes, own, free) };
        if taken.is_err() {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        taken
    }

    fn take_share(&self, holder: &Holder, bytes: u64, own: u64, free: u64) -> Result<(), NoMemoryError> {
        let part = match holder {
            Holder::Organization(_) => free,
            Holder::People(_) | Holder::User(_) | Holder::Client(_) => free / PEOPLE_DIVISOR,
        };
        let Some(used_together) = self.used_together(holder) else { return self.take_within(holder, bytes, own, part) };
        // Counted before it is compared, so that holders who take at the same time see each other.
        let used = used_together.fetch_add(bytes, Ordering::Relaxed);
        let taken = self.take_within(holder, bytes, own, part.saturating_sub(used));
        if taken.is_err() {
            used_together.fetch_sub(bytes, Ordering::Relaxed);
        }
        taken
    }

    /// What all holders of this kind have, if they share one part.
    fn used_together(&self, holder: &Holder) -> Option<&AtomicU64> {
        match holder {
            Holder::Organization(_) | Holder::People(_) => None,
            Holder::User(_) => Some(&self.used_by_users),
            Holder::Client(_) => Some(&self.used_by_clients),
        }
    }

    /// Adds to what the holder has, up to `share`.
    fn take_within(&self, holder: &Holder, bytes: u64, own: u64, share: u64) -> Result<(), NoMemoryError> {
        let mut shard = self.shard(holder).lock();
        match shard.get_mut(holder) {
            Some(held) if held.taken + bytes <= share || (held.taken <= own && bytes <= share) => held.taken += bytes,
            None if bytes <= share => {
                shard.insert(holder.clone(), Held { taken: bytes, announced: 0 });
            }
            Some(_) | None => return Err(holder.share_is_used_up()),
        }
        Ok(())
    }

    fn give_back(&self, holder: &Holder, bytes: u64) {
        self.reduce(holder, |held| held.taken -= bytes);
        if let Some(used_together) = self.used_together(holder) {
            used_together.fetch_sub(bytes, Ordering::Relaxed);
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Forgets a holder that has nothing left.
    fn reduce(&self, holder: &Holder, reduce: impl FnOnce(&mut Held)) {
        let mut shard = self.shard(holder).lock();
        if let Some(held) = shard.get_mut(holder) {
            reduce(held);
            if *held == Held::default() {
                shard.remove(holder);
            }
        }
    }

    /// Counts the length of a body that has not arrived, until it has. Each one that is expected has a buffer, which takes
    /// memory only as it is filled, but addresses at once. A holder cannot have more than its share anyway, so it has no
    /// use for more than the whole budget.
    pub(crate) fn announce(self: &Arc<Self>, holder: &Holder, bytes: u64) -> Result<Announcement, NoMemoryError> {
        let most = match holder {
            Holder::Organization(_) => self.limit,
            Holder::People(_) | Holder::User(_) | Holder::Client(_) => self.limit / PEOPLE_DIVISOR,
        };
        let mut shard = self.shard(holder).lock();
        let held = shard.entry(holder.clone()).or_default();
        // One at a time is always possible.
        if held.announced > 0 && held.announced + bytes > most {
            return Err(holder.share_is_used_up());
        }
        held.announced += bytes;
        Ok(Announcement { budget: Arc::clone(self), holder: holder.clone(), bytes })
    }

    fn shard(&self, holder: &Holder) -> &Mutex<HashMap<Holder, Held>> {
        let hash = FixedState::default().hash_one(holder);
        &self.shards[hash as usize % SHARDS]
    }
}

impl MemoryGrant {
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes sure that the grant has at least `bytes`.
    pub fn grow_to(&mut self, bytes: u64) -> Result<(), NoMemoryError> {
        self.grow(bytes, 0)
    }

    /// [`Self::grow_to`] for a body whose length is known. The only body of a holder may take all that is free: otherwise
    /// one of more than half the budget could never be sent.
    pub fn grow_body_to(&mut self, bytes: u64) -> Result<(), NoMemoryError> {
        self.grow(bytes, self.bytes)
    }

    fn grow(&mut self, bytes: u64, own: u64) -> Result<(), NoMemoryError> {
        let missing = bytes.saturating_sub(self.bytes);
        if missing > 0 {
            self.budget.take(&self.holder, missing, own)?;
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

    fn organization(number: u128) -> Holder {
        Holder::Organization(OrganizationId::new(Timestamp::from_millis(1), number))
    }

    fn granted(budget: &Arc<MemoryBudget>, holder: Holder, bytes: u64) -> Result<MemoryGrant, NoMemoryError> {
        let mut grant = budget.grant(holder);
        grant.grow_to(bytes).map(|()| grant)
    }

    #[test]
    fn an_organization_gets_at_most_what_is_free() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let half = granted(&budget, organization(1), 500).unwrap();
        assert_eq!(granted(&budget, organization(1), 1).unwrap_err(), NoMemoryError::Organization);
        let other = granted(&budget, organization(2), 250).unwrap();
        assert_eq!(granted(&budget, organization(2), 1).unwrap_err(), NoMemoryError::Organization);
        let rest = granted(&budget, organization(3), 250).unwrap();
        assert_eq!(granted(&budget, organization(4), 1).unwrap_err(), NoMemoryError::Process);
        drop((half, other));
        assert_eq!(budget.used(), 250);
        assert!(granted(&budget, organization(1), 500).is_ok());
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
        assert!(granted(&budget, organization(1), 700).is_ok());
        drop(other);
        assert!(granted(&budget, client(3), 90).is_ok());
    }

    #[test]
    fn users_without_an_organization_have_one_part_together() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let user = |number: u128| Holder::User(UserId::new(Timestamp::from_millis(1), number));
        let users: Vec<_> = (0..100).filter_map(|number| granted(&budget, user(number), 10).ok()).collect();
        assert!((100..=250).contains(&budget.used()), "{}", budget.used());
        assert_eq!(granted(&budget, user(100), 100).unwrap_err(), NoMemoryError::Process);
        let sign_in = granted(&budget, Holder::client(IpAddr::from([192, 0, 2, 1])), 100);
        assert!(sign_in.is_ok(), "clients have a part of their own");
        assert!(granted(&budget, organization(1), 600).is_ok());
        drop((users, sign_in));
        assert_eq!((budget.used(), budget.used_by_users.load(Ordering::Relaxed)), (0, 0));
        assert!(granted(&budget, user(100), 250).is_ok());
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
            assert!(taken.len() as u64 * 40 <= 1_000 / PEOPLE_DIVISOR, "{} clients", taken.len());
            drop(taken);
            assert_eq!((budget.used(), budget.used_by_clients.load(Ordering::Relaxed)), (0, 0));
        }
    }

    #[test]
    fn people_can_act_while_the_programs_of_their_organization_take_all_they_can() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let id = OrganizationId::new(Timestamp::from_millis(1), 1);
        let _programs = granted(&budget, Holder::Organization(id.clone()), 500).unwrap();
        let _people = granted(&budget, Holder::People(id.clone()), 100).unwrap();
        assert_eq!(granted(&budget, Holder::People(id), 1).unwrap_err(), NoMemoryError::Organization);
    }

    #[test]
    fn the_only_body_of_a_holder_may_take_all_that_is_free() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let mut only = budget.grant(organization(1));
        for bytes in [100, 200, 400, 800, 1_000] {
            only.grow_body_to(bytes).unwrap();
        }
        only.shrink_to(300);
        let mut second = budget.grant(organization(1));
        second.grow_body_to(100).unwrap();
        second.grow_body_to(301).unwrap_err();
        only.grow_body_to(600).unwrap_err();
    }

    #[test]
    fn announcements_take_no_memory_and_are_bounded_by_holder() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let first = budget.announce(&organization(1), 600).unwrap();
        let second = budget.announce(&organization(1), 400).unwrap();
        assert_eq!(budget.announce(&organization(1), 1).unwrap_err(), NoMemoryError::Organization);
        assert!(budget.announce(&organization(2), 2_000).is_ok(), "one at a time is possible");
        let client = Holder::client(IpAddr::from([192, 0, 2, 1]));
        let clients = budget.announce(&client, 250).unwrap();
        assert_eq!(budget.announce(&client, 1).unwrap_err(), NoMemoryError::Process);
        assert!(granted(&budget, organization(2), 500).is_ok(), "others have all of the memory");
        assert_eq!(budget.used(), 0);
        drop(first);
        let grant = granted(&budget, organization(1), 500).unwrap();
        let third = budget.announce(&organization(1), 600).unwrap();
        drop((grant, third, second, clients));
        assert!(budget.shards.iter().all(|shard| shard.lock().is_empty()));
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
        let mut grant = granted(&budget, organization(1), 400).unwrap();
        grant.shrink_to(500);
        assert_eq!(budget.used(), 400);
        grant.shrink_to(100);
        assert_eq!(budget.used(), 100);
        assert!(granted(&budget, organization(1), 400).is_ok());
        grant.shrink_to(0);
        drop(grant);
        assert_eq!(budget.used(), 0);
        assert!(budget.shards.iter().all(|shard| shard.lock().is_empty()));
    }

    #[test]
    fn a_grant_absorbs_another_one() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let mut grant = granted(&budget, organization(1), 100).unwrap();
        grant.absorb(granted(&budget, organization(1), 50).unwrap());
        assert_eq!((grant.bytes, budget.used()), (150, 150));
        drop(grant);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_buffer_that_grows_is_granted_by_doubling() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let mut grant = budget.grant(organization(1));
        for (length, used) in [(10, 10), (11, 20), (20, 20), (21, 40), (400, 400)] {
            grant.grow_for(length).unwrap();
            assert_eq!(budget.used(), used);
        }
        assert_eq!(grant.grow_for(401), Err(NoMemoryError::Organization));
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
                    held.extend(granted(&budget, organization(holder), bytes).ok());
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
