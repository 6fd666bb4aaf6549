//! Errors of commands on the catalogue.

/// The catalogue does not allow a change. `Display` is safe to show to operators.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("the configuration file is the whole catalogue: `[server] catalogue` is \"file\"")]
    ReadOnly,
    #[error("`{0}` is in the configuration file; change it there and reload")]
    FromFile(String),
    #[error("another model or alias is called `{0}`")]
    NameTaken(String),
    #[error("the record was changed by another user since it was read")]
    Stale,
    #[error("these aliases stand for the model: {0}; delete them first")]
    InUse(String),
    #[error("keys cannot be stored: the environment variable FOREBAY_CONTENT_KEY is not set")]
    NoContentKey,
}

impl CatalogueError {
    /// The stable code of the error in API responses.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly => "catalogue_read_only",
            Self::FromFile(_) => "entry_from_file",
            Self::NameTaken(_) => "name_taken",
            Self::Stale => "version_conflict",
            Self::InUse(_) => "model_in_use",
            Self::NoContentKey => "content_key_missing",
        }
    }
}
