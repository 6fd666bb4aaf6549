//! Limits that come before any expensive work: before a body is read, and before the store is used.
//!
//! They protect the node, so each node counts in its own memory. The limits that a tenant pays for are in
//! `dataplane::admission`.

mod bucket_table;

use bucket_table::BucketTable;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};

/// A reason is logged at most once in this time.
const LOG_PERIOD_MILLIS: u64 = 60_000;
/// A client with IPv6 has at least this many bits of addresses to itself.
const IPV6_CLIENT_BITS: u32 = 64;

/// The limit that rejects a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThrottleReason {
    FailedCredentials,
}

impl ThrottleReason {
    /// The name in metrics and logs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::FailedCredentials => "failed_credentials",
        }
    }

    /// The things that are counted, for the client.
    const fn counted(self) -> &'static str {
        match self {
            Self::FailedCredentials => "invalid credentials from this address",
        }
    }
}

/// A request that exceeds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Throttled {
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
    pub(crate) fn retry_after_secs(&self) -> u64 {
        self.wait_millis.div_ceil(1_000).max(1)
    }
}

/// The limits per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThrottleLimits {
    /// Invalid credentials from one address.
    pub failed_credentials: u64,
}

/// All throttles of a node.
pub(crate) struct Throttles {
    limits: ThrottleLimits,
    failed_credentials: Throttle<ClientBlock>,
}

impl Throttles {
    pub(crate) fn new(limits: ThrottleLimits) -> Self {
        Self { limits, failed_credentials: Throttle::new(ThrottleReason::FailedCredentials) }
    }

    /// Counts a credential as invalid, before it is checked. A valid one is [forgiven](Self::forgive_credential).
    pub(crate) fn count_credential(&self, client: IpAddr) -> Result<(), Throttled> {
        self.failed_credentials.take(&ClientBlock::of(client), self.limits.failed_credentials)
    }

    pub(crate) fn forgive_credential(&self, client: IpAddr) {
        self.failed_credentials.buckets.give_back(&ClientBlock::of(client), self.limits.failed_credentials);
    }

    /// The rejected requests so far, by reason.
    pub(crate) fn rejected(&self) -> [(ThrottleReason, u64); 1] {
        [self.failed_credentials.rejected()]
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
        let buckets = BucketTable::new();
        Self { reason, buckets, rejected: AtomicU64::new(0), log_at_millis: AtomicU64::new(0) }
    }

    fn take(&self, key: &K, limit: u64) -> Result<(), Throttled> {
        self.buckets.take(key, limit).map_err(|wait_millis| self.reject(key, limit, wait_millis))
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

    #[test]
    fn the_addresses_of_one_client_count_together() {
        let throttles = Throttles::new(ThrottleLimits { failed_credentials: 2 });
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(throttles.count_credential(address("2001:db8::1")).is_ok());
        assert!(throttles.count_credential(address("2001:db8::2:1")).is_ok());
        let throttled = throttles.count_credential(address("2001:db8::3")).unwrap_err();
        assert!((29..=30).contains(&throttled.retry_after_secs()), "{throttled}");
        for other in ["2001:db8:0:1::1", "192.0.2.1", "192.0.2.2"] {
            assert!(throttles.count_credential(address(other)).is_ok(), "{other}");
        }
        assert!(throttles.count_credential(address("::ffff:192.0.2.1")).is_ok());
        assert!(throttles.count_credential(address("192.0.2.1")).is_err(), "the same address in another spelling");
        assert_eq!(throttles.rejected(), [(ThrottleReason::FailedCredentials, 2)]);
    }

    #[test]
    fn a_valid_credential_is_forgiven() {
        let throttles = Throttles::new(ThrottleLimits { failed_credentials: 1 });
        let client = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..10 {
            throttles.count_credential(client).unwrap();
            throttles.forgive_credential(client);
        }
    }
}
