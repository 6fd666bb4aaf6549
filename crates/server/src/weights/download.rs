//! One download: its files one after another, each resumed where it stopped, verified, and moved to its place.

use super::cache::HubCache;
use super::entry::Entry;
use super::fit;
use super::hub::{FileBody, Hub, HubError};
use super::machine::free_disk;
use super::record::{DownloadState, Record};
use super::repository::RepositoryFile;
use background::Backoff;
use sha2::{Digest, Sha256};
use std::io::{self, Read, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::sync::watch;

/// Attempts without a new byte.
const ATTEMPTS: u32 = 6;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
const HASH_PIECE_BYTES: usize = 1 << 20;
/// Bytes after which the free space on the disk is observed again.
const DISK_CHECK_BYTES: u64 = 64 << 20;

/// Why a download does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    Cancelled,
    Failed(String),
}

/// Why an attempt ended early.
enum Interruption {
    /// Worth another attempt.
    Lost(String),
    Stop(Stop),
}

impl From<HubError> for Interruption {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Unavailable(why) => Self::Lost(why),
            HubError::NotFound | HubError::Unauthorized | HubError::Unexpected(_) => {
                Self::Stop(Stop::Failed(error.to_string()))
            }
        }
    }
}

impl From<io::Error> for Interruption {
    fn from(error: io::Error) -> Self {
        Self::Stop(on_disk(&error))
    }
}

fn on_disk(error: &io::Error) -> Stop {
    Stop::Failed(format!("the file cannot be written: {error}"))
}

/// Runs a download to its end.
pub(super) async fn run(hub: &Hub, cache: &HubCache, entry: &Entry) -> Result<(), Stop> {
    let record = entry.record();
    let missing = record.bytes().saturating_sub(entry.measure(cache));
    let disk = fit::judge_disk(missing, free_disk(entry.folder()));
    if !disk.fits {
        return Err(Stop::Failed(format!("not enough space on the disk: {}", disk.why)));
    }
    for (index, file) in record.files.iter().enumerate() {
        if cache.has(&record.repository, &record.commit, &file.name, file.bytes) {
            continue;
        }
        let part = entry.part(index);
        entry.set_state(DownloadState::Downloading);
        fetch(hub, &record, file, &part, entry).await?;
        entry.set_state(DownloadState::Verifying);
        verify(&part, file, entry.cancelled()).await?;
        cache.place(&part, &record.repository, &record.commit, &file.name).map_err(|error| on_disk(&error))?;
    }
    cache.publish(&record.repository, &record.commit, record.is_whole).map_err(|error| on_disk(&error))
}

/// Downloads a file, in as many attempts as it takes while each of them gets further.
async fn fetch(hub: &Hub, record: &Record, file: &RepositoryFile, part: &Path, entry: &Entry) -> Result<(), Stop> {
    let (mut backoff, mut failures) = (BACKOFF, 0);
    loop {
        let before = length_of(part).await;
        let why = match fetch_once(hub, record, file, part, entry).await {
            Ok(()) => return Ok(()),
            Err(Interruption::Stop(stop)) => return Err(stop),
            Err(Interruption::Lost(why)) => why,
        };
        if length_of(part).await > before {
            failures = 0;
            backoff.reset();
        }
        failures += 1;
        if failures >= ATTEMPTS {
            return Err(Stop::Failed(format!("{why}; resume the download later")));
        }
        tracing::warn!(weights = %record.weights, "a download is interrupted and resumed: {why}");
        let mut cancelled = entry.cancelled();
        tokio::select! {
            () = tokio::time::sleep(backoff.next_delay()) => {}
            _ = cancelled.wait_for(|cancelled| *cancelled) => return Err(Stop::Cancelled),
        }
    }
}

async fn length_of(part: &Path) -> u64 {
    fs::metadata(part).await.map_or(0, |found| found.len())
}

/// One request, from the end of what is there.
async fn fetch_once(
    hub: &Hub,
    record: &Record,
    file: &RepositoryFile,
    part: &Path,
    entry: &Entry,
) -> Result<(), Interruption> {
    let mut output = OpenOptions::new().create(true).write(true).truncate(false).open(part).await?;
    let mut length = output.metadata().await?.len();
    if length > file.bytes {
        output.set_len(0).await?;
        entry.went_back(length);
        length = 0;
    }
    if length < file.bytes {
        let mut cancelled = entry.cancelled();
        let body = tokio::select! {
            body = hub.open(&record.repository, &record.commit, &file.name, length) => body?,
            _ = cancelled.wait_for(|cancelled| *cancelled) => return Err(Interruption::Stop(Stop::Cancelled)),
        };
        if body.starts_at != length {
            output.set_len(0).await?;
            entry.went_back(length);
            length = 0;
        }
        output.seek(SeekFrom::Start(length)).await?;
        let copied = copy(body, &mut output, file.bytes - length, entry).await;
        // Keeps what has arrived, however it ended.
        output.flush().await?;
        copied?;
    }
    Ok(output.sync_all().await?)
}

/// Appends exactly `missing` bytes.
async fn copy(mut body: FileBody, output: &mut File, mut missing: u64, entry: &Entry) -> Result<(), Interruption> {
    let mut cancelled = entry.cancelled();
    let mut unchecked = 0;
    loop {
        let piece = tokio::select! {
            piece = body.next() => piece?,
            _ = cancelled.wait_for(|cancelled| *cancelled) => return Err(Interruption::Stop(Stop::Cancelled)),
        };
        let Some(piece) = piece else { break };
        let length = piece.len() as u64;
        if length > missing {
            let why = "the file has more bytes than the hub said; it may have changed";
            return Err(Interruption::Stop(Stop::Failed(why.to_owned())));
        }
        output.write_all(&piece).await?;
        missing -= length;
        entry.advance(length);
        unchecked += length;
        if unchecked >= DISK_CHECK_BYTES {
            unchecked = 0;
            check_reserve(free_disk(entry.folder())).map_err(Interruption::Stop)?;
        }
    }
    if missing > 0 {
        return Err(Interruption::Lost("the connection closed before the end of the file".to_owned()));
    }
    Ok(())
}

/// Engines and the journal write to the same disk while a download runs, so what was free at its start may be gone.
fn check_reserve(free: Option<u64>) -> Result<(), Stop> {
    match free {
        Some(free) if free < fit::DISK_RESERVE => {
            let (free, reserve) = (fit::rough(free), fit::rough(fit::DISK_RESERVE));
            Err(Stop::Failed(format!("the disk is nearly full: {free} free, and {reserve} are kept; resume later")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Compares the SHA-256 with that of the hub. A file that differs is deleted.
async fn verify(part: &Path, file: &RepositoryFile, cancelled: watch::Receiver<bool>) -> Result<(), Stop> {
    let Some(expected) = &file.sha256 else { return Ok(()) };
    let (path, abandoned) = (part.to_owned(), Abandoned::default());
    let flag = Arc::clone(&abandoned.0);
    let is_over = move || *cancelled.borrow() || flag.load(Ordering::Relaxed);
    let hashed = tokio::task::spawn_blocking(move || hash(&path, is_over)).await;
    match hashed.map_err(|error| Stop::Failed(error.to_string()))?.map_err(|error| on_disk(&error))? {
        None => Err(Stop::Cancelled),
        Some(found) if found == *expected => Ok(()),
        Some(_) => {
            let _ = fs::remove_file(part).await;
            let why =
                format!("{} was damaged: its SHA-256 is not that of the hub; resume to download it again", file.name);
            Err(Stop::Failed(why))
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

    #[test]
    fn a_download_leaves_the_reserve_of_the_disk() {
        assert!(check_reserve(Some(fit::DISK_RESERVE)).is_ok() && check_reserve(None).is_ok());
        let Err(Stop::Failed(why)) = check_reserve(Some(fit::DISK_RESERVE - 1)) else { panic!("it goes on") };
        assert!(why.starts_with("the disk is nearly full: 1023.9 MiB free, and 1.0 GiB are kept"), "{why}");
    }
}
