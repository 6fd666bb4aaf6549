//! How far this machine's clock is ahead of another's, which was asked over a network.

use crate::clock;
use domain::Timestamp;
use store::{Store, StoreError};

/// In milliseconds; the other clock is taken to have been read half-way between question and answer.
pub(crate) fn ahead_of(other: Timestamp, asked: Timestamp, answered: Timestamp) -> i64 {
    let here = asked.millis() + (answered.millis() - asked.millis()) / 2;
    here - other.millis()
}

/// Against the clock that all nodes share.
pub(crate) async fn measure(store: &Store) -> Result<i64, StoreError> {
    let asked = clock::now();
    let other = store.clock().await?;
    Ok(ahead_of(other, asked, clock::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_way_is_taken_off() {
        let at = Timestamp::from_millis;
        assert_eq!(ahead_of(at(1_000), at(1_010), at(1_030)), 20);
        assert_eq!(ahead_of(at(5_000), at(1_000), at(1_000)), -4_000);
    }
}
