//! Ranges of numbers.

use crate::surface::console::error::ConsoleError;

const MAX_COUNT: u64 = 1_000_000_000_000_000;

/// Checks a limit: larger than any real one, and small enough that no database or browser rounds it.
pub(crate) fn count(field: &str, value: u64) -> Result<u64, ConsoleError> {
    if value <= MAX_COUNT {
        return Ok(value);
    }
    Err(ConsoleError::invalid(field, "a limit is at most 1000000000000000"))
}
