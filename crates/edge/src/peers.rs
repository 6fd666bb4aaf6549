//! Connections per client address.
//!
//! Without a bound, one client could take all connections of a node. Connections of trusted proxies are not counted: they
//! carry the requests of many clients.

use domain::Network;
use foldhash::HashMap;
use parking_lot::Mutex;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One customer usually has a whole network of this length.
const V6_PREFIX_BITS: u32 = 64;

#[derive(Debug)]
pub struct PeerTable {
    /// `None` for any number.
    max: Option<u32>,
    trusted: Vec<Network>,
    open: Mutex<HashMap<IpAddr, OpenConnections>>,
    rejected: AtomicU64,
}

#[derive(Debug, Default)]
struct OpenConnections {
    count: u32,
    /// It was logged that the address has reached the bound.
    is_reported: bool,
}

/// A connection that counts for its address until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedConnection {
    /// `None` if it is not counted.
    counted: Option<(Arc<PeerTable>, IpAddr)>,
}

impl PeerTable {
    pub fn new(max: Option<u32>, trusted: Vec<Network>) -> Self {
        Self { max, trusted, open: Mutex::default(), rejected: AtomicU64::new(0) }
    }

    /// Connections that were rejected.
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Counts a new connection; `None` if its address has too many.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<CountedConnection> {
        let peer = peer.to_canonical();
        let Some(max) = self.max.filter(|_| !self.trusted.iter().any(|network| network.contains(peer))) else {
            return Some(CountedConnection { counted: None });
        };
        let client = client_of(peer);
        let mut open = self.open.lock();
        let connections = open.entry(client).or_default();
        if connections.count < max {
            connections.count += 1;
            return Some(CountedConnection { counted: Some((Arc::clone(self), client)) });
        }
        self.rejected.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut connections.is_reported, true) {
            tracing::warn!(
                %client,
                max,
                "{client} has {max} connections, more are rejected; if it is a proxy, add it to server.trusted_proxies"
            );
        }
        None
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        if let Some((table, client)) = &self.counted {
            let mut open = table.open.lock();
            if let Some(connections) = open.get_mut(client) {
                connections.count -= 1;
                if connections.count == 0 {
                    open.remove(client);
                }
            }
        }
    }
}

/// Addresses of one client: an IPv4 address, or an IPv6 network.
pub(crate) fn client_of(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> V6_PREFIX_BITS << V6_PREFIX_BITS).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_bound_and_proxies_have_none() {
        let table = Arc::new(PeerTable::new(Some(2), vec![Network::parse("10.0.0.0/8").unwrap()]));
        let admit = |peer: &str| table.admit(peer.parse().unwrap());
        let mut first = vec![admit("192.0.2.1").unwrap(), admit("::ffff:192.0.2.1").unwrap()];
        assert!(admit("192.0.2.1").is_none());
        assert!(admit("192.0.2.2").is_some());
        let _network = [admit("2001:db8::1").unwrap(), admit("2001:db8::ffff:2").unwrap()];
        assert!(admit("2001:db8::3").is_none(), "the same network");
        assert!(admit("2001:db8:0:1::3").is_some());
        let proxied: Vec<_> = (0..10).map(|_| admit("10.1.1.1").unwrap()).collect();
        assert_eq!((proxied.len(), table.rejected()), (10, 2));
        first.pop();
        assert!(admit("192.0.2.1").is_some());
        drop(first);
        assert!(!table.open.lock().contains_key(&"192.0.2.1".parse::<IpAddr>().unwrap()), "nothing is left behind");
        let any = Arc::new(PeerTable::new(None, Vec::new()));
        assert!((0..10).map(|_| any.admit("192.0.2.1".parse().unwrap())).all(|admitted| admitted.is_some()));
    }
}
