//! A download as it is kept on the disk, so that it goes on after a restart.

use domain::{DownloadId, Timestamp};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;
use weights::{HubReference, RepositoryFile, pinned};

const FILE: &str = "download.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    id: String,
    /// `owner/name`.
    pub repository: String,
    pub commit: String,
    pub files: Vec<RepositoryFile>,
    /// Whether the files make up a model only together, without one that names it.
    pub is_whole: bool,
    /// The text for `weights` of an engine.
    pub weights: String,
    pub license: Option<String>,
    created_at_millis: i64,
    pub state: DownloadState,
    /// Why it failed.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DownloadState {
    Queued,
    Downloading,
    /// The SHA-256 is being computed.
    Verifying,
    Done,
    Failed,
    Cancelled,
    /// Its files were deleted or changed after it was done.
    Missing,
}

impl DownloadState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Downloading => "downloading",
            Self::Verifying => "verifying",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Missing => "missing",
        }
    }

    /// Whether it still has work to do without another command.
    pub const fn is_active(self) -> bool {
        match self {
            Self::Queued | Self::Downloading | Self::Verifying => true,
            Self::Done | Self::Failed | Self::Cancelled | Self::Missing => false,
        }
    }
}

/// What to download.
#[derive(Debug, Clone)]
pub struct Order {
    pub repository: String,
    pub commit: String,
    pub files: Vec<RepositoryFile>,
    pub is_whole: bool,
    pub weights: String,
    pub license: Option<String>,
}

impl Record {
    pub(crate) fn new(id: &DownloadId, order: Order, now: Timestamp) -> Self {
        let Order { repository, commit, files, is_whole, weights, license } = order;
        Self {
            id: id.to_string(),
            repository,
            commit,
            files,
            is_whole,
            weights,
            license,
            created_at_millis: now.millis(),
            state: DownloadState::Queued,
            error: None,
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn created_at(&self) -> Timestamp {
        Timestamp::from_millis(self.created_at_millis)
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    fn has_safe_names(&self) -> bool {
        let is_safe = |file: Option<&str>| {
            // A slash in one of them would be read as part of the next.
            HubReference::parse(&pinned(&self.repository, &self.commit, file)).is_some_and(|read| {
                read.repository == self.repository && read.revision == self.commit && read.file.as_deref() == file
            })
        };
        is_safe(None) && self.files.iter().all(|file| is_safe(Some(&file.name)))
    }

    /// Replaces the record in the folder of the download.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let new = folder.join(format!("{FILE}.new"));
        fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        fs::rename(new, folder.join(FILE))
    }

    /// The record in a folder; one that was interrupted is queued again. Engines can write to the folder, so names that
    /// become paths are checked again.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read(folder.join(FILE)).ok()?;
        let mut record: Self = serde_json::from_slice(&text).ok()?;
        let is_own = folder.file_name().is_some_and(|name| *name == *record.id) && record.has_safe_names();
        if record.state.is_active() {
            record.state = DownloadState::Queued;
        }
        is_own.then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_whose_names_lead_elsewhere_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let id = DownloadId::new(Timestamp::from_millis(7), 1);
        let own = folder.path().join(id.as_str());
        for (repository, commit, file, is_read) in [
            ("acme/tiny", "abcdef0", "a.gguf", true),
            ("acme/tiny", "abcdef0", "../../a.gguf", false),
            ("acme/tiny", "../abcdef0", "a.gguf", false),
            ("acme/../..", "abcdef0", "a.gguf", false),
        ] {
            let order = Order {
                repository: repository.to_owned(),
                commit: commit.to_owned(),
                files: vec![RepositoryFile { name: file.to_owned(), bytes: 3, sha256: None }],
                is_whole: false,
                weights: "hf://acme/tiny@abcdef0/a.gguf".to_owned(),
                license: None,
            };
            Record::new(&id, order, Timestamp::from_millis(7)).write(&own).unwrap();
            assert_eq!(Record::read(&own).is_some(), is_read, "{repository} {commit} {file}");
        }
    }

    #[test]
    fn an_interrupted_download_is_queued_again() {
        let folder = tempfile::tempdir().unwrap();
        let id = DownloadId::new(Timestamp::from_millis(7), 1);
        let file = RepositoryFile { name: "a.gguf".to_owned(), bytes: 3, sha256: None };
        let order = Order {
            repository: "acme/tiny".to_owned(),
            commit: "abcdef0".to_owned(),
            files: vec![file],
            is_whole: false,
            weights: "hf://acme/tiny@abcdef0/a.gguf".to_owned(),
            license: None,
        };
        let mut record = Record::new(&id, order, Timestamp::from_millis(7));
        let own = folder.path().join(id.as_str());
        for (state, expected) in [
            (DownloadState::Verifying, DownloadState::Queued),
            (DownloadState::Downloading, DownloadState::Queued),
            (DownloadState::Cancelled, DownloadState::Cancelled),
            (DownloadState::Done, DownloadState::Done),
        ] {
            record.state = state;
            record.write(&own).unwrap();
            let read = Record::read(&own).unwrap();
            assert_eq!((read.state, read.bytes(), read.created_at()), (expected, 3, Timestamp::from_millis(7)));
        }
        assert!(Record::read(folder.path()).is_none());
    }
}
