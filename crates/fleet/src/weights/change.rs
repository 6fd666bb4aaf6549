//! Which changes of a download are allowed.

use super::record::DownloadState;
use domain::DownloadChange;
use serde::{Deserialize, Serialize};

/// Why a download is not changed. `Display` is for the operator. Nodes send it to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ChangeError {
    #[error("there is no such download")]
    Missing,
    #[error("the download is running; cancel it first")]
    Active,
    #[error("the download is {0}")]
    Inactive(String),
    #[error("too many downloads: at most 8 run or wait, and 100 are kept; delete some")]
    TooMany,
    #[error("these models and endpoints use the weights: {0}; delete or change them first")]
    InUse(String),
    #[error("a file cannot be deleted")]
    Files,
}

/// Whether a change may be made. `is_full` if as many downloads run or wait as may.
pub fn decide(change: DownloadChange, state: DownloadState, is_full: bool) -> Result<(), ChangeError> {
    let is_active = state.is_active();
    match change {
        DownloadChange::Cancel if is_active => Ok(()),
        DownloadChange::Cancel => Err(ChangeError::Inactive(state.as_str().to_owned())),
        DownloadChange::Resume | DownloadChange::Delete if is_active => Err(ChangeError::Active),
        DownloadChange::Resume if state == DownloadState::Done => Err(ChangeError::Inactive(state.as_str().to_owned())),
        DownloadChange::Resume if is_full => Err(ChangeError::TooMany),
        DownloadChange::Resume | DownloadChange::Delete => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_changed_depends_on_the_state() {
        use DownloadChange::{Cancel, Delete, Resume};
        let inactive = |state: &str| Err(ChangeError::Inactive(state.to_owned()));
        for (change, state, is_full, expected) in [
            (Cancel, DownloadState::Queued, true, Ok(())),
            (Cancel, DownloadState::Verifying, false, Ok(())),
            (Cancel, DownloadState::Failed, false, inactive("failed")),
            (Resume, DownloadState::Downloading, true, Err(ChangeError::Active)),
            (Resume, DownloadState::Done, true, inactive("done")),
            (Resume, DownloadState::Missing, true, Err(ChangeError::TooMany)),
            (Resume, DownloadState::Cancelled, false, Ok(())),
            (Delete, DownloadState::Queued, false, Err(ChangeError::Active)),
            (Delete, DownloadState::Done, true, Ok(())),
        ] {
            assert_eq!(decide(change, state, is_full), expected, "{change:?} {state:?} {is_full}");
        }
    }
}
