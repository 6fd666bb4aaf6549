//! The address of a client, also behind proxies.
//!
//! `X-Forwarded-For` is trusted only as far as trusted proxies wrote it: read from its end, the first address that does
//! not belong to a trusted proxy is the client's.

use http1::Headers;
use std::net::IpAddr;

/// A range of addresses such as `10.0.0.0/8`, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: u128,
    bits: u32,
    is_v4: bool,
}

impl Network {
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (value, width) = value_and_width(address);
        let bits = bits.unwrap_or(width);
        (bits <= width).then(|| Self { first: masked(value, bits, width), bits, is_v4: width == V4_WIDTH })
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let (value, width) = value_and_width(address);
        self.is_v4 == (width == V4_WIDTH) && masked(value, self.bits, width) == self.first
    }
}

const V4_WIDTH: u32 = 32;
const V6_WIDTH: u32 = 128;

fn value_and_width(address: IpAddr) -> (u128, u32) {
    match address.to_canonical() {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), V4_WIDTH),
        IpAddr::V6(v6) => (v6.to_bits(), V6_WIDTH),
    }
}

fn masked(value: u128, bits: u32, width: u32) -> u128 {
    let free = width - bits;
    if free >= V6_WIDTH { 0 } else { value >> free << free }
}

/// The client's address, as far as it can be trusted.
pub fn of(peer: IpAddr, headers: &Headers, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.to_canonical();
    if !is_trusted(client) {
        return client;
    }
    let lines: Vec<&str> = headers.texts("x-forwarded-for").collect();
    for hop in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        // An entry that is not an address hides everything before it.
        let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
        client = address.to_canonical();
        if !is_trusted(client) {
            break;
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue};

    #[test]
    fn only_entries_of_trusted_proxies_count() {
        let trusted: Vec<Network> =
            ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].iter().map(|text| Network::parse(text).unwrap()).collect();
        for (peer, forwarded, client) in [
            ("192.0.2.1", &["203.0.113.9"][..], "192.0.2.1"),
            ("127.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("::ffff:127.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("127.0.0.1", &["1.2.3.4, 203.0.113.9, 10.1.1.1"], "203.0.113.9"),
            ("127.0.0.1", &["1.2.3.4", "203.0.113.9", "10.1.1.1"], "203.0.113.9"),
            ("127.0.0.1", &["10.1.1.1"], "10.1.1.1"),
            ("127.0.0.1", &["1.2.3.4, junk\"><script>"], "127.0.0.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("fd00::1", &["2001:db8::7"], "2001:db8::7"),
        ] {
            let mut headers = HeaderMap::new();
            for line in forwarded {
                headers.append("x-forwarded-for", HeaderValue::from_str(line).unwrap());
            }
            let headers = Headers::from(&headers);
            assert_eq!(of(peer.parse().unwrap(), &headers, &trusted).to_string(), client, "{peer} {forwarded:?}");
        }
        for bad in ["", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "host", "10.0.0.0/x", "10.0.0.0/-1"] {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
        assert!(Network::parse("0.0.0.0/0").unwrap().contains("9.9.9.9".parse().unwrap()));
        assert!(!Network::parse("0.0.0.0/0").unwrap().contains("::1".parse().unwrap()));
    }
}
