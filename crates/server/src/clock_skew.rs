//! Measures how far this machine's clock is ahead of another one that is read over a network.

use crate::clock;
use domain::Timestamp;
use store::{Store, StoreError};

/// Milliseconds ahead, assuming that the other clock was read halfway between request and response.
pub(crate) fn ahead_of(other: Timestamp, sent: Timestamp, received: Timestamp) -> i64 {
    let here = sent.millis() + (received.millis() - sent.millis()) / 2;
    here - other.millis()
}

/// Milliseconds ahead of the store's clock, which all nodes share.
pub(crate) async fn measure(store: &Store) -> Result<i64, StoreError> {
    let sent = clock::now();
    let other = store.clock().await?;
    Ok(ahead_of(other, sent, clock::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_round_trip_is_subtracted() {
        let at = Timestamp::from_millis;
        assert_eq!(ahead_of(at(1_000), at(1_010), at(1_030)), 20);
        assert_eq!(ahead_of(at(5_000), at(1_000), at(1_000)), -4_000);
    }
}
