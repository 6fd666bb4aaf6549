//! Token counts of calls.

/// Tokens of one call. `cached` is a part of `prompt`, not an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
}

impl Tokens {
    pub const fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}
