//! Limits that come before any expensive work: before a body is read, and before the store is used.
//!
//! They protect the node, so each node counts in its own memory. The limits that a tenant pays for are in
//! `dataplane::admission`.

mod bucket_table;

use bucket_table::BucketTable;
use domain::usage::Actor;
use domain::workspace::{Limits, lower};
use domain::{Caller, KeyId, OrganizationId, SecretHash, UserId};
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};

/// A reason is logged at most once in this time.
const LOG_PERIOD_MILLIS: u64 = 60_000;
/// A client with IPv6 has at least this many bits of addresses to itself.
const IPV6_CLIENT_BITS: u32 = 64;
/// Failing calls per minute of a caller that may make no serverless calls, but calls to dedicated endpoints.
const ATTEMPTS_WITHOUT_REQUESTS: u64 = 6_000;

/// An organization may make a fifth of its changes per minute at once: they keep the node busy for a tenth of a second.
const CHANGES_BURST: u64 = 5;

/// The limit that rejects a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrottleReason {
    FailedCredentials,
    Attempts,
    SignIns,
    Management,
    Changes,
}

impl ThrottleReason {
    /// The name in metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailedCredentials => "failed_credentials",
            Self::Attempts => "attempts",
            Self::SignIns => "sign_ins",
            Self::Management => "management",
            Self::Changes => "changes",
        }
    }

    /// The things that are counted, for the client.
    const fn counted(self) -> &'static str {
        match self {
            Self::FailedCredentials => "invalid credentials from this address",
            Self::Attempts => "failing calls with this credential",
            Self::SignIns => "sign-ins from this address",
            Self::Management => "requests with this credential",
            Self::Changes => "changes by this organization or user",
        }
    }
}

/// A request that exceeds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttled {
    reason: ThrottleReason,
    limit: u64,
    wait_millis: u64,
}

impl std::error::Error for Throttled {}

impl std::fmt::Display for Throttled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { reason, limit, .. } = self;
        write!(f, "too many {}: {limit} per minute; retry in {} s", reason.counted(), self.retry_after_secs())
    }
}

impl Throttled {
    /// In whole seconds, at least one, as `Retry-After` requires.
    pub fn retry_after_secs(&self) -> u64 {
        self.wait_millis.div_ceil(1_000).max(1)
    }
}

/// The limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleLimits {
    /// Invalid credentials from one address per minute.
    pub failed_credentials: u64,
    /// Failing calls of a key or a user per minute, as a multiple of its requests per minute.
    pub attempts_factor: u64,
    /// Sign-ins from one address per minute, successful or not.
    pub sign_ins: u64,
    /// Requests of a session, and of a key to `/v1/endpoints`, per minute.
    pub management: u64,
    /// Requests of an organization, or of a user about their own sessions, that may change something, per minute.
    pub changes: u64,
    /// The limits of workspaces without limits of their own.
    pub workspace_defaults: Limits,
}

impl ThrottleLimits {
    /// Failing calls per minute.
    fn attempts(&self, caller: &Caller) -> u64 {
        let workspace = caller.workspace_limits.over(&self.workspace_defaults).requests_per_minute;
        match lower(workspace, caller.key_limits.requests) {
            0 => ATTEMPTS_WITHOUT_REQUESTS,
            requests => requests.saturating_mul(self.attempts_factor),
        }
    }
}

/// All throttles of a node.
pub struct Throttles {
    limits: ThrottleLimits,
    failed_credentials: Throttle<ClientBlock>,
    attempts: Throttle<Actor>,
    sign_ins: Throttle<ClientBlock>,
    management: Throttle<ManagementClient>,
    changes: Throttle<ChangeOwner>,
}

/// Whose changes count together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ChangeOwner {
    Organization(OrganizationId),
    /// A user, who changes their own sessions and password.
    User(UserId),
}

/// A valid credential of the management routes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ManagementClient {
    /// The hash of its token.
    Session(SecretHash),
    Key(KeyId),
}

impl Throttles {
    pub fn new(limits: ThrottleLimits) -> Self {
        Self {
            limits,
            failed_credentials: Throttle::new(ThrottleReason::FailedCredentials),
            attempts: Throttle::new(ThrottleReason::Attempts),
            sign_ins: Throttle::new(ThrottleReason::SignIns),
            management: Throttle::new(ThrottleReason::Management),
            changes: Throttle::with_burst(ThrottleReason::Changes, CHANGES_BURST),
        }
    }

    /// Counts a credential as invalid, before it is checked. A valid one is [forgiven](Self::forgive_credential).
    pub fn count_credential(&self, client: IpAddr) -> Result<(), Throttled> {
        self.failed_credentials.take(&ClientBlock::of(client), self.limits.failed_credentials)
    }

    pub fn forgive_credential(&self, client: IpAddr) {
        self.failed_credentials.buckets.give_back(&ClientBlock::of(client), self.limits.failed_credentials);
    }

    /// Rejects a call if too many earlier ones of the caller have failed. Costs one load while no call fails.
    pub fn check_attempts(&self, caller: &Caller) -> Result<(), Throttled> {
        if self.attempts.buckets.is_empty() {
            return Ok(());
        }
        self.attempts.check(&caller.actor, self.limits.attempts(caller))
    }

    /// Counts a call that failed through the fault of the caller.
    pub fn count_attempt(&self, caller: &Caller) {
        self.attempts.buckets.debit(&caller.actor, self.limits.attempts(caller));
    }

    /// Counts a sign-in, before it is checked.
    pub fn count_sign_in(&self, client: IpAddr) -> Result<(), Throttled> {
        self.sign_ins.take(&ClientBlock::of(client), self.limits.sign_ins)
    }

    /// Counts a request of a key to the management routes.
    pub fn count_management(&self, key: &KeyId) -> Result<(), Throttled> {
        self.management.take(&ManagementClient::Key(key.clone()), self.limits.management)
    }

    /// Counts a request that may change something. An organization can have many credentials, and a change costs a
    /// transaction and a round of the reconciler.
    pub fn count_change(&self, organization: &OrganizationId) -> Result<(), Throttled> {
        self.changes.take(&ChangeOwner::Organization(organization.clone()), self.limits.changes)
    }

    /// Counts a request that may change something of the user's own, such as the current organization.
    pub fn count_own_change(&self, user: &UserId) -> Result<(), Throttled> {
        self.changes.take(&ChangeOwner::User(user.clone()), self.limits.changes)
    }

    /// A session was started: its requests count for itself.
    pub fn learn_session(&self, token: SecretHash) {
        self.management.buckets.debit(&ManagementClient::Session(token), self.limits.management);
    }

    /// Counts a request with a session token, before the token is checked: against the session if it was valid before, and
    /// as an invalid credential of the address otherwise.
    pub fn count_session(&self, token: SecretHash, client: IpAddr) -> Result<CountedSession<'_>, Throttled> {
        let session = ManagementClient::Session(token);
        let is_known = self.management.buckets.contains(&session);
        if is_known {
            self.management.take(&session, self.limits.management)?;
        } else {
            self.count_credential(client)?;
        }
        Ok(CountedSession { throttles: self, token, client, is_known })
    }

    /// The rejected requests so far, by reason.
    pub fn rejected(&self) -> [(ThrottleReason, u64); 5] {
        let (credentials, attempts) = (self.failed_credentials.rejected(), self.attempts.rejected());
        [credentials, attempts, self.sign_ins.rejected(), self.management.rejected(), self.changes.rejected()]
    }
}

/// A request with a session token that is being checked.
pub struct CountedSession<'a> {
    throttles: &'a Throttles,
    token: SecretHash,
    client: IpAddr,
    is_known: bool,
}

impl CountedSession<'_> {
    /// From now on, requests count against the session.
    pub fn valid(self) {
        if !self.is_known {
            self.throttles.learn_session(self.token);
            self.throttles.forgive_credential(self.client);
        }
    }

    /// From now on, requests count as invalid credentials.
    pub fn invalid(self) {
        self.throttles.management.buckets.remove(&ManagementClient::Session(self.token));
    }

    /// The store could not be asked.
    pub fn unchecked(self) {
        if !self.is_known {
            self.throttles.forgive_credential(self.client);
        }
    }
}

/// One limit for every key.
struct Throttle<K> {
    reason: ThrottleReason,
    buckets: BucketTable<K>,
    rejected: AtomicU64,
    /// The next log line is not written before this time.
    log_at_millis: AtomicU64,
}

impl<K: Eq + Hash + Clone + std::fmt::Debug> Throttle<K> {
    fn new(reason: ThrottleReason) -> Self {
        Self::with_burst(reason, 1)
    }

    /// With buckets that hold only this part of the limit: 2 for half of it.
    fn with_burst(reason: ThrottleReason, part: u64) -> Self {
        let buckets = BucketTable::new(part);
        Self { reason, buckets, rejected: AtomicU64::new(0), log_at_millis: AtomicU64::new(0) }
    }

    fn take(&self, key: &K, limit: u64) -> Result<(), Throttled> {
        self.buckets.take(key, limit).map_err(|wait_millis| self.reject(key, limit, wait_millis))
    }

    fn check(&self, key: &K, limit: u64) -> Result<(), Throttled> {
        match self.buckets.wait(key, limit) {
            Some(wait_millis) => Err(self.reject(key, limit, wait_millis)),
            None => Ok(()),
        }
    }

    #[cold]
    fn reject(&self, key: &K, limit: u64, wait_millis: u64) -> Throttled {
        let throttled = Throttled { reason: self.reason, limit, wait_millis };
        let rejected = self.rejected.fetch_add(1, Ordering::Relaxed) + 1;
        let (now, log_at) = (self.buckets.now_millis(), self.log_at_millis.load(Ordering::Relaxed));
        let next = now + LOG_PERIOD_MILLIS;
        let is_due = now >= log_at
            && self.log_at_millis.compare_exchange(log_at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_due {
            let reason = self.reason.as_str();
            tracing::warn!(reason, client = ?key, rejected, "requests are rejected: {throttled}");
        }
        throttled
    }

    fn rejected(&self) -> (ThrottleReason, u64) {
        (self.reason, self.rejected.load(Ordering::Relaxed))
    }
}

/// The addresses of one client: an IPv4 address, or the /64 of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ClientBlock(IpAddr);

impl ClientBlock {
    fn of(client: IpAddr) -> Self {
        match client.to_canonical() {
            IpAddr::V6(address) => {
                let host_bits = Ipv6Addr::BITS - IPV6_CLIENT_BITS;
                Self(Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits).into())
            }
            address @ IpAddr::V4(_) => Self(address),
        }
    }
}

impl std::fmt::Debug for ClientBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(address) => write!(f, "{address}/{IPV6_CLIENT_BITS}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::limits::OwnPerMinute;
    use domain::{OrganizationId, Timestamp, WorkspaceId};

    const LIMITS: ThrottleLimits = ThrottleLimits {
        failed_credentials: 2,
        attempts_factor: 10,
        sign_ins: 2,
        management: 3,
        changes: 3,
        workspace_defaults: Limits { requests_per_minute: 5, tokens_per_minute: 1, monthly_tokens: 1, max_api_keys: 1 },
    };

    fn caller(key: u128, requests: Option<u64>) -> Caller {
        let now = Timestamp::from_millis(1);
        let (organization, workspace) = (OrganizationId::new(now, 1), WorkspaceId::new(now, 1));
        Caller {
            key_limits: OwnPerMinute { requests, tokens: None },
            ..Caller::new(organization, workspace, Actor::Key(KeyId::new(now, key)))
        }
    }

    #[test]
    fn failing_calls_are_limited_to_ten_times_the_requests() {
        assert_eq!([None, Some(2), Some(7), Some(0)].map(|own| LIMITS.attempts(&caller(1, own))), [50, 20, 50, 6_000]);
        let throttles = Throttles::new(LIMITS);
        let (failing, other) = (caller(1, Some(2)), caller(2, None));
        for _ in 0..20 {
            throttles.check_attempts(&failing).unwrap();
            throttles.count_attempt(&failing);
        }
        let throttled = throttles.check_attempts(&failing).unwrap_err();
        assert_eq!(throttled.limit, 20);
        assert!((1..=3).contains(&throttled.retry_after_secs()), "{throttled}");
        throttles.check_attempts(&other).unwrap();
        assert_eq!(throttles.rejected()[1], (ThrottleReason::Attempts, 1));
    }

    #[test]
    fn the_addresses_of_one_client_count_together() {
        let throttles = Throttles::new(LIMITS);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(throttles.count_credential(address("2001:db8::1")).is_ok());
        assert!(throttles.count_credential(address("2001:db8::2:1")).is_ok());
        let throttled = throttles.count_credential(address("2001:db8::3")).unwrap_err();
        assert!((1..=30).contains(&throttled.retry_after_secs()), "{throttled}");
        for other in ["2001:db8:0:1::1", "192.0.2.1", "192.0.2.2"] {
            assert!(throttles.count_credential(address(other)).is_ok(), "{other}");
        }
        assert!(throttles.count_credential(address("::ffff:192.0.2.1")).is_ok());
        assert!(throttles.count_credential(address("192.0.2.1")).is_err(), "the same address in another spelling");
        assert_eq!(throttles.rejected()[0], (ThrottleReason::FailedCredentials, 2));
    }

    #[test]
    fn a_valid_credential_is_forgiven() {
        let throttles = Throttles::new(ThrottleLimits { failed_credentials: 1, ..LIMITS });
        let client = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..10 {
            throttles.count_credential(client).unwrap();
            throttles.forgive_credential(client);
        }
    }

    #[test]
    fn changes_of_a_user_and_of_an_organization_count_apart() {
        // A fifth of them at once.
        let throttles = Throttles::new(ThrottleLimits { changes: 10, ..LIMITS });
        let now = Timestamp::from_millis(1);
        let (organization, user, other) = (OrganizationId::new(now, 1), UserId::new(now, 1), UserId::new(now, 2));
        for _ in 0..2 {
            throttles.count_change(&organization).unwrap();
            throttles.count_own_change(&user).unwrap();
        }
        assert!(throttles.count_change(&organization).is_err());
        let throttled = throttles.count_own_change(&user).unwrap_err();
        assert_eq!(throttled.reason, ThrottleReason::Changes);
        throttles.count_own_change(&other).unwrap();
    }

    #[test]
    fn a_session_counts_for_itself_once_it_was_valid() {
        let throttles = Throttles::new(LIMITS);
        let client = IpAddr::from([192, 0, 2, 1]);
        let [good, bad] = ["good", "bad"].map(SecretHash::of);
        for _ in 0..3 {
            throttles.count_session(good, client).unwrap().valid();
        }
        let throttled = throttles.count_session(good, client).err().unwrap();
        assert_eq!(throttled.reason, ThrottleReason::Management);
        for _ in 0..2 {
            throttles.count_session(bad, client).unwrap().invalid();
        }
        let throttled = throttles.count_session(bad, client).err().unwrap();
        assert_eq!(throttled.reason, ThrottleReason::FailedCredentials);
        let elsewhere = IpAddr::from([192, 0, 2, 2]);
        for _ in 0..10 {
            throttles.count_session(bad, elsewhere).unwrap().unchecked();
        }
        throttles.count_session(good, elsewhere).err().expect("a session has one limit for all addresses");
    }
}
