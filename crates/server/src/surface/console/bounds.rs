//! What numbers may be.

use super::error::Refused;

const MAX_COUNT: u64 = 1_000_000_000_000_000;

/// A limit: more than anybody needs, and less than any database or browser would round.
pub(super) fn count(field: &str, value: u64) -> Result<u64, Refused> {
    if value <= MAX_COUNT {
        return Ok(value);
    }
    Err(Refused::invalid(field, "a limit is at most 1000000000000000"))
}
