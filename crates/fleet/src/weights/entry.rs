//! A download in memory: its record, its progress, and the switch that cancels it.

use super::record::{DownloadState, Record};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use weights::{HubCache, Phase, Watcher};

/// How long bytes are counted before the rate is computed again.
const RATE_WINDOW: Duration = Duration::from_secs(1);
/// How long a command waits for a download that it cancels.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Entry {
    folder: PathBuf,
    record: watch::Sender<Record>,
    cancel: watch::Sender<bool>,
    /// Bytes on the disk.
    bytes: AtomicU64,
    rate: Mutex<RateMeter>,
    /// Notified when the state has changed.
    changed: Arc<Notify>,
}

#[derive(Default)]
struct RateMeter {
    /// The start of the window, and the bytes since then.
    window: Option<(Instant, u64)>,
    bytes_per_second: u64,
}

impl RateMeter {
    fn add(&mut self, bytes: u64, now: Instant) {
        let (start, so_far) = self.window.unwrap_or((now, 0));
        let (so_far, elapsed) = (so_far + bytes, now.saturating_duration_since(start));
        if elapsed < RATE_WINDOW {
            self.window = Some((start, so_far));
            return;
        }
        let rate = u128::from(so_far) * 1_000 / elapsed.as_millis().max(1);
        self.bytes_per_second = u64::try_from(rate).unwrap_or(u64::MAX);
        self.window = Some((now, 0));
    }
}

impl Entry {
    pub(crate) fn new(folder: PathBuf, record: Record, changed: Arc<Notify>) -> Self {
        Self {
            folder,
            record: watch::Sender::new(record),
            cancel: watch::Sender::new(false),
            bytes: AtomicU64::new(0),
            rate: Mutex::default(),
            changed,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn record(&self) -> Record {
        self.record.borrow().clone()
    }

    pub fn state(&self) -> DownloadState {
        self.record.borrow().state
    }

    /// Whether there is nothing to resume.
    pub fn is_done_or_active(&self) -> bool {
        let state = self.state();
        state.is_active() || state == DownloadState::Done
    }

    /// Bytes on the disk, and per second while it runs.
    pub fn progress(&self) -> (u64, u64) {
        let rate = if self.state() == DownloadState::Downloading { self.rate.lock().bytes_per_second } else { 0 };
        (self.bytes.load(Ordering::Relaxed), rate)
    }

    /// Asks it to stop, which keeps what has arrived.
    pub(crate) fn cancel(&self) {
        if !self.transition(DownloadState::Queued, DownloadState::Cancelled) {
            self.set_cancelled(true);
        }
    }

    /// Asks a running download to stop, or takes the request back.
    pub(crate) fn set_cancelled(&self, cancelled: bool) {
        self.cancel.send_replace(cancelled);
    }

    /// Waits until a cancelled download has stopped, which takes a moment at most.
    pub async fn until_inactive(&self) {
        let mut record = self.record.subscribe();
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, record.wait_for(|record| !record.state.is_active())).await;
    }

    pub(crate) fn set_state(&self, state: DownloadState) {
        self.finish(state, None);
    }

    pub(crate) fn finish(&self, state: DownloadState, error: Option<String>) {
        self.record.send_modify(|record| {
            (record.state, record.error) = (state, error);
            self.keep(record);
        });
        self.changed.notify_one();
    }

    /// Changes the state if it is `from`.
    pub(crate) fn transition(&self, from: DownloadState, to: DownloadState) -> bool {
        self.change(from, to, |record| self.keep(record))
    }

    /// `keep` is called before others see the new state.
    fn change(&self, from: DownloadState, to: DownloadState, keep: impl FnOnce(&Record)) -> bool {
        let changed = self.record.send_if_modified(|record| {
            let is_expected = record.state == from;
            if is_expected {
                (record.state, record.error) = (to, None);
                keep(record);
            }
            is_expected
        });
        if changed {
            self.changed.notify_one();
        }
        changed
    }

    /// Writes the record of the new state before others see it: a download that has stopped may be deleted at once, and must
    /// not be written after that. A record that cannot be written only matters after a restart, which then repeats more.
    fn keep(&self, record: &Record) {
        if let Err(error) = record.write(&self.folder) {
            tracing::warn!(weights = %record.weights, %error, "the state of a download cannot be written");
        }
    }

    /// A download that is done is missing while its files are. This is not written: the files are checked again after a
    /// restart, and the folder of a download that is deleted meanwhile must not come back.
    pub(crate) fn check_files(&self, cache: &HubCache) {
        let (from, to) = match self.state() {
            DownloadState::Done => (DownloadState::Done, DownloadState::Missing),
            DownloadState::Missing => (DownloadState::Missing, DownloadState::Done),
            DownloadState::Queued
            | DownloadState::Downloading
            | DownloadState::Verifying
            | DownloadState::Failed
            | DownloadState::Cancelled => return,
        };
        let on_disk = self.on_disk(cache);
        let is_complete = on_disk == self.record().bytes();
        if is_complete == (to == DownloadState::Done) {
            self.change(from, to, |_| self.bytes.store(on_disk, Ordering::Relaxed));
        }
    }

    /// Counts the bytes on the disk again.
    pub(crate) fn measure(&self, cache: &HubCache) -> u64 {
        let bytes = self.on_disk(cache);
        self.bytes.store(bytes, Ordering::Relaxed);
        bytes
    }

    fn on_disk(&self, cache: &HubCache) -> u64 {
        let record = self.record();
        let on_disk = record.files.iter().enumerate().map(|(index, file)| {
            if cache.has(&record.repository, &record.commit, &file.name, file.bytes) {
                return file.bytes;
            }
            self.part(index).metadata().map_or(0, |found| found.len().min(file.bytes))
        });
        on_disk.sum()
    }
}

impl Watcher for Entry {
    fn part(&self, index: usize) -> PathBuf {
        self.folder.join(format!("{index}.part"))
    }

    fn enter(&self, phase: Phase) {
        self.set_state(match phase {
            Phase::Downloading => DownloadState::Downloading,
            Phase::Verifying => DownloadState::Verifying,
        });
    }

    fn advance(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.rate.lock().add(bytes, Instant::now());
    }

    fn went_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes.min(self.bytes.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancel.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::record::Order;
    use domain::{DownloadId, Timestamp};
    use weights::RepositoryFile;

    #[tokio::test]
    async fn a_state_is_on_the_disk_when_it_is_seen() {
        let scratch = tempfile::tempdir().unwrap();
        for number in 0..50 {
            let (id, now) = (DownloadId::new(Timestamp::from_millis(7), number), Timestamp::from_millis(7));
            let order = Order {
                repository: "acme/tiny".to_owned(),
                commit: "abcdef0".to_owned(),
                files: Vec::new(),
                is_whole: false,
                weights: "hf://acme/tiny@abcdef0/a.gguf".to_owned(),
                license: None,
            };
            let folder = scratch.path().join(id.as_str());
            let entry = Arc::new(Entry::new(folder.clone(), Record::new(&id, order, now), Arc::default()));
            let stopping = Arc::clone(&entry);
            let stopped = std::thread::spawn(move || stopping.set_state(DownloadState::Cancelled));
            entry.until_inactive().await;
            assert_eq!(Record::read(&folder).map(|record| record.state), Some(DownloadState::Cancelled));
            stopped.join().unwrap();
        }
    }

    #[test]
    fn a_check_does_not_write_what_is_being_deleted() {
        let scratch = tempfile::tempdir().unwrap();
        let (id, now) = (DownloadId::new(Timestamp::from_millis(7), 1), Timestamp::from_millis(7));
        let order = Order {
            repository: "acme/tiny".to_owned(),
            commit: "abcdef0".to_owned(),
            files: vec![RepositoryFile { name: "a.gguf".to_owned(), bytes: 3, sha256: None }],
            is_whole: false,
            weights: "hf://acme/tiny@abcdef0/a.gguf".to_owned(),
            license: None,
        };
        let folder = scratch.path().join(id.as_str());
        let entry = Entry::new(folder.clone(), Record::new(&id, order, now), Arc::default());
        entry.set_state(DownloadState::Done);
        std::fs::remove_dir_all(&folder).unwrap();
        entry.check_files(&HubCache::new(scratch.path()));
        assert_eq!((entry.state(), folder.exists()), (DownloadState::Missing, false));
    }

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let (mut meter, start) = (RateMeter::default(), Instant::now());
        let at = |millis: u64| start + Duration::from_millis(millis);
        for millis in [0, 400, 800] {
            meter.add(100, at(millis));
            assert_eq!(meter.bytes_per_second, 0, "too early");
        }
        meter.add(100, at(2_000));
        assert_eq!(meter.bytes_per_second, 200);
        meter.add(500, at(3_000));
        assert_eq!(meter.bytes_per_second, 500);
    }
}
