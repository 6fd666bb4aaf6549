//! Downloads the files of a model, one after another: each resumed where it stopped, verified, and moved to its place.

use crate::cache::HubCache;
use crate::disk::{free_disk, rough};
use crate::hub::{FileBody, Hub, HubError};
use crate::repository::RepositoryFile;
use background::Backoff;
use sha2::{Digest, Sha256};
use std::io::{self, Read, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::sync::watch;

/// Attempts without a new byte.
const ATTEMPTS: u32 = 6;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
const HASH_PIECE_BYTES: usize = 1 << 20;
/// Bytes after which the free space on the disk is observed again.
const DISK_CHECK_BYTES: u64 = 64 << 20;

/// The files to download. Names and commit are those of a [`crate::Repository`], which has checked them.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// `owner/name`.
    pub repository: &'a str,
    /// What engines call the commit: a branch, a tag, or the commit itself.
    pub revision: &'a str,
    pub commit: &'a str,
    pub files: &'a [RepositoryFile],
    /// Whether engines may look for the repository as a whole.
    pub is_whole: bool,
    /// Bytes of the disk that stay free.
    pub reserve: u64,
}

/// What happens with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Downloading,
    /// The SHA-256 is being computed.
    Verifying,
}

/// Follows a download, and may end it.
pub trait Watcher: Sync {
    /// The incomplete file with this number.
    fn part(&self, index: usize) -> PathBuf;

    fn enter(&self, phase: Phase);

    /// This many bytes have arrived.
    fn advance(&self, bytes: u64);

    /// A part of this length was discarded.
    fn went_back(&self, bytes: u64);

    /// Turns true if the download is to end.
    fn cancelled(&self) -> watch::Receiver<bool>;
}

/// Why a download ended early. What has arrived is kept, unless it was damaged.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("it was cancelled")]
    Cancelled,
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("{file} was damaged: its SHA-256 is not that of the hub")]
    Damaged { file: String },
    #[error("the file has more bytes than the hub said; it may have changed")]
    TooLong,
    #[error("the disk is nearly full: {} free, and {} are kept", rough(*free), rough(*reserve))]
    NoSpace { free: u64, reserve: u64 },
    #[error("the file cannot be written: {0}")]
    Disk(#[from] io::Error),
}

/// Downloads what the cache does not have, and lets engines find it.
pub async fn fetch(
    hub: &Hub,
    cache: &HubCache,
    selection: &Selection<'_>,
    watcher: &impl Watcher,
) -> Result<(), FetchError> {
    let Selection { repository, revision, commit, files, is_whole, .. } = *selection;
    for (index, file) in files.iter().enumerate() {
        if cache.has(repository, commit, &file.name, file.bytes) {
            continue;
        }
        let part = watcher.part(index);
        watcher.enter(Phase::Downloading);
        Transfer { hub, selection, file, part: &part, watcher }.run().await?;
        watcher.enter(Phase::Verifying);
        verify(&part, file, watcher.cancelled()).await?;
        cache.place(&part, repository, commit, &file.name)?;
    }
    Ok(cache.publish(repository, revision, commit, is_whole)?)
}

/// The transfer of one file.
struct Transfer<'a, W> {
    hub: &'a Hub,
    selection: &'a Selection<'a>,
    file: &'a RepositoryFile,
    part: &'a Path,
    watcher: &'a W,
}

impl<W: Watcher> Transfer<'_, W> {
    /// Downloads the file, in as many attempts as it takes while each of them gets further.
    async fn run(&self) -> Result<(), FetchError> {
        let (mut backoff, mut failures) = (BACKOFF, 0);
        loop {
            let before = length_of(self.part).await;
            let why = match self.attempt().await {
                Err(FetchError::Hub(HubError::Unavailable(why))) => why,
                done => return done,
            };
            if length_of(self.part).await > before {
                failures = 0;
                backoff.reset();
            }
            failures += 1;
            if failures >= ATTEMPTS {
                return Err(HubError::Unavailable(why).into());
            }
            let file = format!("{}/{}", self.selection.repository, self.file.name);
            tracing::warn!(%file, "a download is interrupted and resumed: {why}");
            self.unless_cancelled(tokio::time::sleep(backoff.next_delay())).await?;
        }
    }

    /// One request, from the end of what is there.
    async fn attempt(&self) -> Result<(), FetchError> {
        let mut output = OpenOptions::new().create(true).write(true).truncate(false).open(self.part).await?;
        let mut length = output.metadata().await?.len();
        if length > self.file.bytes {
            length = self.discard(&mut output, length).await?;
        }
        if length < self.file.bytes {
            let Selection { repository, commit, .. } = *self.selection;
            let body = self.unless_cancelled(self.hub.open(repository, commit, &self.file.name, length)).await??;
            if body.starts_at != length {
                length = self.discard(&mut output, length).await?;
            }
            output.seek(SeekFrom::Start(length)).await?;
            let copied = self.copy(body, &mut output, self.file.bytes - length).await;
            // Keeps what has arrived, however it ended.
            output.flush().await?;
            copied?;
        }
        Ok(output.sync_all().await?)
    }

    async fn discard(&self, output: &mut File, length: u64) -> io::Result<u64> {
        output.set_len(0).await?;
        self.watcher.went_back(length);
        Ok(0)
    }

    /// Appends exactly `missing` bytes.
    async fn copy(&self, mut body: FileBody, output: &mut File, mut missing: u64) -> Result<(), FetchError> {
        let mut unchecked = 0;
        while let Some(piece) = self.unless_cancelled(body.next()).await?? {
            let length = piece.len() as u64;
            missing = missing.checked_sub(length).ok_or(FetchError::TooLong)?;
            output.write_all(&piece).await?;
            self.watcher.advance(length);
            unchecked += length;
            if unchecked >= DISK_CHECK_BYTES {
                unchecked = 0;
                let free = self.part.parent().and_then(free_disk);
                check_reserve(free, self.selection.reserve)?;
            }
        }
        if missing > 0 {
            return Err(HubError::Unavailable("the connection closed before the end of the file".to_owned()).into());
        }
        Ok(())
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, FetchError> {
        let mut cancelled = self.watcher.cancelled();
        tokio::select! {
            done = work => Ok(done),
            _ = cancelled.wait_for(|cancelled| *cancelled) => Err(FetchError::Cancelled),
        }
    }
}

async fn length_of(part: &Path) -> u64 {
    fs::metadata(part).await.map_or(0, |found| found.len())
}

/// Others write to the same disk while a download runs, so what was free at its start may be gone.
fn check_reserve(free: Option<u64>, reserve: u64) -> Result<(), FetchError> {
    match free {
        Some(free) if free < reserve => Err(FetchError::NoSpace { free, reserve }),
        Some(_) | None => Ok(()),
    }
}

/// Compares the SHA-256 with that of the hub. A file that differs is deleted.
async fn verify(part: &Path, file: &RepositoryFile, cancelled: watch::Receiver<bool>) -> Result<(), FetchError> {
    let Some(expected) = &file.sha256 else { return Ok(()) };
    let (path, abandoned) = (part.to_owned(), Abandoned::default());
    let flag = Arc::clone(&abandoned.0);
    let is_over = move || *cancelled.borrow() || flag.load(Ordering::Relaxed);
    let hashed = tokio::task::spawn_blocking(move || hash(&path, is_over)).await;
    match hashed.map_err(io::Error::other)?? {
        None => Err(FetchError::Cancelled),
        Some(found) if found == *expected => Ok(()),
        Some(_) => {
            let _ = fs::remove_file(part).await;
            Err(FetchError::Damaged { file: file.name.clone() })
        }
    }
}

/// Set when the task that waits for a hash is gone: shutdown must not wait for the end of a large file.
#[derive(Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// SHA-256 in hexadecimal; `None` if `is_over` before.
fn hash(path: &Path, is_over: impl Fn() -> bool) -> io::Result<Option<String>> {
    let (mut hash, mut piece) = (Sha256::new(), vec![0; HASH_PIECE_BYTES]);
    let mut input = std::fs::File::open(path)?;
    loop {
        if is_over() {
            return Ok(None);
        }
        match input.read(&mut piece)? {
            0 => break,
            length => hash.update(&piece[..length]),
        }
    }
    Ok(Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::DISK_RESERVE;

    #[test]
    fn a_download_leaves_the_reserve_of_the_disk() {
        assert!(check_reserve(Some(DISK_RESERVE), DISK_RESERVE).is_ok() && check_reserve(None, DISK_RESERVE).is_ok());
        let full = check_reserve(Some(DISK_RESERVE - 1), DISK_RESERVE).unwrap_err().to_string();
        assert_eq!(full, "the disk is nearly full: 1023.9 MiB free, and 1.0 GiB are kept");
    }
}
