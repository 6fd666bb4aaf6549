//! Ports of engines, in blocks of ten: an engine opens more ports than the one it is called at.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

/// Size of a block.
pub const PORTS_PER_REPLICA: u16 = 10;

/// Below the ports that the kernel uses for outgoing connections.
pub const DEFAULT_RANGE: RangeInclusive<u16> = 20_000..=29_999;

/// First port of the first block in the range that is neither taken nor in use.
pub(super) fn pick(range: &RangeInclusive<u16>, taken: &BTreeSet<u16>, is_free: impl Fn(u16) -> bool) -> Option<u16> {
    let last_start = range.end().checked_sub(PORTS_PER_REPLICA - 1)?;
    let starts = (*range.start()..=last_start).step_by(PORTS_PER_REPLICA.into());
    let overlaps = |start: u16| {
        taken
            .range(start.saturating_sub(PORTS_PER_REPLICA - 1)..start.saturating_add(PORTS_PER_REPLICA))
            .next()
            .is_some()
    };
    starts.filter(|&start| !overlaps(start)).find(|&start| (start..start + PORTS_PER_REPLICA).all(&is_free))
}

/// Whether no program listens on the port, at any address of the machine.
pub(super) fn is_unused(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_that_is_entirely_free_is_picked() {
        let range = 20_000..=20_039;
        let none = BTreeSet::new();
        assert_eq!(pick(&range, &none, |_| true), Some(20_000));
        assert_eq!(pick(&range, &BTreeSet::from([20_000]), |_| true), Some(20_010));
        // A binding from before the range was changed overlaps two blocks.
        assert_eq!(pick(&range, &BTreeSet::from([20_005]), |_| true), Some(20_020));
        assert_eq!(pick(&range, &none, |port| port != 20_009), Some(20_010));
        assert_eq!(pick(&range, &none, |port| port == 20_000), None);
        assert_eq!(pick(&(20_000..=20_008), &none, |_| true), None);
        assert_eq!(pick(&(0..=5), &none, |_| true), None);
    }

    #[test]
    fn a_listener_is_detected_at_any_address() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_unused(listener.local_addr().unwrap().port()));
    }
}
