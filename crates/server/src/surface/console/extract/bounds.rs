//! What numbers may be.

use crate::surface::console::error::ConsoleError;

const MAX_COUNT: u64 = 1_000_000_000_000_000;

/// A limit: more than anybody needs, and less than any database or browser would round.
pub(crate) fn count(field: &str, value: u64) -> Result<u64, ConsoleError> {
    if value <= MAX_COUNT {
        return Ok(value);
    }
    Err(ConsoleError::invalid(field, "a limit is at most 1000000000000000"))
}
