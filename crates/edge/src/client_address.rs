//! The address of a client, also behind proxies.
//!
//! `X-Forwarded-For` is trusted only as far as trusted proxies wrote it: read from its end, the first address that does
//! not belong to a trusted proxy is the client's.

use domain::Network;
use http1::Headers;
use std::net::IpAddr;

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
    }
}
