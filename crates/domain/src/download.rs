//! Downloads of weights to the machine of a node.

/// A change of a download that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadChange {
    Cancel,
    Resume,
    Delete,
}

impl DownloadChange {
    pub const ALL: [Self; 3] = [Self::Cancel, Self::Resume, Self::Delete];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Resume => "resume",
            Self::Delete => "delete",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.as_str() == text)
    }
}
