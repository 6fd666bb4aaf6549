//! What is wrong with a member of a key.

/// An invalid member of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct RestrictionError {
    pub field: &'static str,
    pub(crate) why: String,
}

impl RestrictionError {
    pub(crate) fn new(field: &'static str, why: &str) -> Self {
        Self { field, why: why.to_owned() }
    }
}
