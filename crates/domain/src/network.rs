//! Ranges of IP addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// A range of addresses such as `10.0.0.0/8`, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
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

    pub fn contains(&self, address: IpAddr) -> bool {
        let (value, width) = value_and_width(address);
        self.is_v4 == (width == V4_WIDTH) && masked(value, self.bits, width) == self.first
    }
}

/// The first address of the range and its bits; a single address without them.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, bits, is_v4 } = self;
        let (address, width) = match u32::try_from(*first) {
            Ok(first) if *is_v4 => (IpAddr::from(Ipv4Addr::from_bits(first)), V4_WIDTH),
            Ok(_) | Err(_) => (IpAddr::from(Ipv6Addr::from_bits(*first)), V6_WIDTH),
        };
        if *bits == width { write!(f, "{address}") } else { write!(f, "{address}/{bits}") }
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        Self::parse(&text).ok_or(NetworkError)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an address or a range such as 10.0.0.0/8")]
pub struct NetworkError;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_one_text_and_its_addresses() {
        for (text, shown, inside, outside) in [
            ("10.1.2.3/8", "10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
            ("0.0.0.0/0", "0.0.0.0/0", "9.9.9.9", "::1"),
            ("2001:db8::1/32", "2001:db8::/32", "2001:db8:7::1", "2001:db9::1"),
            ("::/0", "::/0", "2001:db8::1", "127.0.0.1"),
            ("::7", "::7", "::7", "::8"),
        ] {
            let network = Network::parse(text).unwrap();
            assert_eq!(network.to_string(), shown, "{text}");
            assert_eq!(Network::parse(shown), Some(network));
            assert!(network.contains(inside.parse().unwrap()), "{text} {inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{text} {outside}");
        }
        for bad in ["", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "host", "10.0.0.0/x", "10.0.0.0/-1"] {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
    }
}
