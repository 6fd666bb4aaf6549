//! Ports for engines, in blocks of ten: an engine opens side ports beside the one where it is called.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

/// Ports that one replica gets.
pub const BLOCK: u16 = 10;

/// Below the ports that the system gives to outgoing connections.
pub const USUAL_RANGE: RangeInclusive<u16> = 20_000..=29_999;

/// The first port of the first block in the range that is neither taken nor in use.
pub(super) fn pick(range: &RangeInclusive<u16>, taken: &BTreeSet<u16>, is_free: impl Fn(u16) -> bool) -> Option<u16> {
    let last_start = range.end().checked_sub(BLOCK - 1)?;
    let starts = (*range.start()..=last_start).step_by(BLOCK.into());
    let overlaps =
        |start: u16| taken.range(start.saturating_sub(BLOCK - 1)..start.saturating_add(BLOCK)).next().is_some();
    starts.filter(|&start| !overlaps(start)).find(|&start| (start..start + BLOCK).all(&is_free))
}

/// Whether nobody listens there, on any address of the machine.
pub(super) fn nobody_listens(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_that_is_wholly_free_is_picked() {
        let range = 20_000..=20_039;
        let none = BTreeSet::new();
        assert_eq!(pick(&range, &none, |_| true), Some(20_000));
        assert_eq!(pick(&range, &BTreeSet::from([20_000]), |_| true), Some(20_010));
        // A binding from a time when the range began elsewhere overlaps two blocks.
        assert_eq!(pick(&range, &BTreeSet::from([20_005]), |_| true), Some(20_020));
        assert_eq!(pick(&range, &none, |port| port != 20_009), Some(20_010));
        assert_eq!(pick(&range, &none, |port| port == 20_000), None);
        assert_eq!(pick(&(20_000..=20_008), &none, |_| true), None);
        assert_eq!(pick(&(0..=5), &none, |_| true), None);
    }

    #[test]
    fn a_listener_is_seen_on_whatever_address_it_is() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!nobody_listens(listener.local_addr().unwrap().port()));
    }
}
