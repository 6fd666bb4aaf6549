//! The downloads of this node: a bounded queue of which one runs at a time. Their state is on the disk, so that they go on
//! after a restart.

use super::WeightsError;
use super::change::ChangeError;
use super::disk::with_files;
use super::entry::Entry;
use super::fit;
use super::record::{DownloadState, Order, Record};
use domain::{DownloadChange, DownloadId, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard};
use weights::{DISK_RESERVE, FetchError, Hub, HubCache, HubError, Selection, Watcher, fetch, free_disk, or_gone};

/// Downloads that run or wait.
const MAX_ACTIVE: usize = 8;
const MAX_KEPT: usize = 100;

pub struct Downloads {
    hub: Arc<Hub>,
    cache: HubCache,
    /// With a folder for each download.
    folder: PathBuf,
    max_bytes: u64,
    /// Not locked while files are accessed: every heartbeat takes it.
    entries: Mutex<BTreeMap<DownloadId, Arc<Entry>>>,
    changes: Arc<AsyncMutex<()>>,
    nudge: Arc<Notify>,
    changed: Arc<Notify>,
}

/// The right to start or change downloads. One request has it at a time, from its decision until its work is done. Meanwhile
/// nothing changes what was decided on, except that a download which runs may end.
pub type Turn = OwnedMutexGuard<()>;

impl Downloads {
    /// Reads the downloads of earlier runs.
    pub fn open(hub: Arc<Hub>, cache_dir: &Path, max_bytes: u64) -> Self {
        let (cache, folder) = (HubCache::new(cache_dir), cache_dir.join("downloads"));
        let changed = Arc::<Notify>::default();
        let folders = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let read = |folder: PathBuf| {
            let record = Record::read(&folder)?;
            let id = DownloadId::parse(record.id()).ok()?;
            let entry = Entry::new(folder, record, Arc::clone(&changed));
            entry.measure(&cache);
            Some((id, Arc::new(entry)))
        };
        let entries = Mutex::new(folders.filter_map(read).collect());
        Self { hub, cache, folder, max_bytes, entries, changes: Arc::default(), nudge: Arc::default(), changed }
    }

    /// Waits until the request before has ended.
    pub async fn turn(&self) -> Turn {
        Arc::clone(&self.changes).lock_owned().await
    }

    /// Notified when there is something to download.
    pub fn nudge(&self) -> Arc<Notify> {
        Arc::clone(&self.nudge)
    }

    /// Notified when a download has another state, is new or was deleted.
    pub fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// All downloads, newest first.
    pub async fn list(&self) -> Vec<Arc<Entry>> {
        let (cache, entries) = (self.cache.clone(), self.snapshot());
        let list = move || {
            let entries: Vec<_> = entries.into_values().rev().collect();
            entries.iter().for_each(|entry| entry.check_files(&cache));
            entries
        };
        with_files(list).await
    }

    /// Runs the downloads that wait, one after another.
    pub async fn run_queued(&self) {
        while let Some(entry) = self.take_queued() {
            let ended = self.run(&entry).await;
            entry.measure(&self.cache);
            let weights = entry.record().weights;
            match ended {
                Ok(()) => {
                    tracing::info!(%weights, "weights are downloaded");
                    entry.set_state(DownloadState::Done);
                }
                Err(Stop::Cancelled) => entry.set_state(DownloadState::Cancelled),
                Err(Stop::Failed(why)) => {
                    tracing::warn!(%weights, "a download failed: {why}");
                    entry.finish(DownloadState::Failed, Some(why));
                }
            }
        }
    }

    /// Runs a download to its end.
    async fn run(&self, entry: &Entry) -> Result<(), Stop> {
        let record = entry.record();
        let missing = record.bytes().saturating_sub(entry.measure(&self.cache));
        let disk = fit::judge_disk(missing, free_disk(entry.folder()));
        if !disk.fits {
            return Err(Stop::Failed(format!("not enough space on the disk: {}", disk.why)));
        }
        let selection = Selection {
            repository: &record.repository,
            revision: &record.commit,
            commit: &record.commit,
            files: &record.files,
            is_whole: record.is_whole,
            reserve: DISK_RESERVE,
        };
        Ok(fetch(&self.hub, &self.cache, &selection, entry).await?)
    }

    fn take_queued(&self) -> Option<Arc<Entry>> {
        let mut waiting = self.snapshot().into_values();
        waiting.find(|entry| entry.transition(DownloadState::Queued, DownloadState::Downloading))
    }

    fn snapshot(&self) -> BTreeMap<DownloadId, Arc<Entry>> {
        self.entries.lock().clone()
    }

    pub async fn get(&self, id: &DownloadId) -> Result<Arc<Entry>, ChangeError> {
        let entry = self.entries.lock().get(id).cloned().ok_or(ChangeError::Missing)?;
        let cache = self.cache.clone();
        let check = move || {
            entry.check_files(&cache);
            entry
        };
        Ok(with_files(check).await)
    }

    /// The download of these weights.
    pub async fn find(&self, weights: &str) -> Option<(DownloadId, Arc<Entry>)> {
        let mut entries = self.snapshot().into_iter();
        let (id, entry) = entries.find(|(_, entry)| entry.record().weights == weights)?;
        let cache = self.cache.clone();
        let check = move || {
            entry.check_files(&cache);
            (id, entry)
        };
        Some(with_files(check).await)
    }

    /// The bytes of an order that are not on the disk.
    pub(crate) fn missing(&self, order: &Order) -> u64 {
        let is_missing = |name: &str, bytes| !self.cache.has(&order.repository, &order.commit, name, bytes);
        order.files.iter().filter(|file| is_missing(&file.name, file.bytes)).map(|file| file.bytes).sum()
    }

    /// Whether an order may start.
    pub async fn check(self: &Arc<Self>, order: &Order) -> Result<(), WeightsError> {
        let bytes: u64 = order.files.iter().map(|file| file.bytes).sum();
        if bytes > self.max_bytes {
            return Err(WeightsError::TooLarge { bytes, max: self.max_bytes });
        }
        let entries = self.snapshot();
        if self.is_full() || entries.len() >= MAX_KEPT {
            return Err(ChangeError::TooMany.into());
        }
        let active = entries.values().filter(|entry| entry.state().is_active());
        let promised: u64 = active.map(|entry| entry.record().bytes().saturating_sub(entry.progress().0)).sum();
        let (downloads, order) = (Arc::clone(self), order.clone());
        let judge =
            move || fit::judge_disk(downloads.missing(&order).saturating_add(promised), free_disk(&downloads.folder));
        let disk = with_files(judge).await;
        if disk.fits { Ok(()) } else { Err(WeightsError::NoDiskSpace(disk.why)) }
    }

    /// Whether as many downloads run or wait as may.
    pub fn is_full(&self) -> bool {
        self.snapshot().values().filter(|entry| entry.state().is_active()).count() >= MAX_ACTIVE
    }

    /// Queues a download that was checked in the same turn.
    pub async fn add(
        self: &Arc<Self>,
        turn: Turn,
        id: &DownloadId,
        order: Order,
        now: Timestamp,
    ) -> Result<Arc<Entry>, WeightsError> {
        let (downloads, id) = (Arc::clone(self), id.clone());
        let add = move || -> Result<Arc<Entry>, WeightsError> {
            let _turn = turn;
            let (record, folder) = (Record::new(&id, order, now), downloads.folder.join(id.as_str()));
            record.write(&folder)?;
            let entry = Arc::new(Entry::new(folder, record, downloads.changed()));
            entry.measure(&downloads.cache);
            downloads.entries.lock().insert(id, Arc::clone(&entry));
            downloads.nudge.notify_one();
            downloads.changed.notify_one();
            Ok(entry)
        };
        with_files(add).await
    }

    /// Makes a change that was decided in the same turn, also if the request is abandoned meanwhile.
    pub async fn make(
        self: &Arc<Self>,
        turn: Turn,
        change: DownloadChange,
        id: &DownloadId,
        entry: &Arc<Entry>,
    ) -> Result<(), ChangeError> {
        let (downloads, id, entry) = (Arc::clone(self), id.clone(), Arc::clone(entry));
        let make = move || -> Result<(), ChangeError> {
            let _turn = turn;
            match change {
                DownloadChange::Cancel => entry.cancel(),
                DownloadChange::Resume => downloads.resume(&entry),
                DownloadChange::Delete => downloads.delete(&id, &entry)?,
            }
            Ok(())
        };
        with_files(make).await
    }

    fn resume(&self, entry: &Entry) {
        entry.set_cancelled(false);
        let state = entry.state();
        // Files that were missing may be back.
        if state != DownloadState::Done && entry.transition(state, DownloadState::Queued) {
            self.nudge.notify_one();
        }
    }

    fn delete(&self, id: &DownloadId, entry: &Entry) -> Result<(), ChangeError> {
        self.delete_files(entry).map_err(|error| {
            tracing::error!(download = %id, %error, "a file of a download cannot be deleted");
            ChangeError::Files
        })?;
        self.entries.lock().remove(id);
        self.changed.notify_one();
        Ok(())
    }

    fn delete_files(&self, entry: &Entry) -> io::Result<()> {
        let record = entry.record();
        self.cache.remove(&record.repository, &record.commit, record.files.iter().map(|file| file.name.as_str()))?;
        for index in 0..record.files.len() {
            or_gone(fs::remove_file(entry.part(index)))?;
        }
        // With the record, so last: after a crash, a download with other files left is still listed and can be deleted.
        or_gone(fs::remove_dir_all(entry.folder()))
    }
}

/// Why a download does not go on.
enum Stop {
    Cancelled,
    Failed(String),
}

/// With what the operator can do.
impl From<FetchError> for Stop {
    fn from(error: FetchError) -> Self {
        Self::Failed(match error {
            FetchError::Cancelled => return Self::Cancelled,
            FetchError::Hub(HubError::Unavailable(_)) => format!("{error}; resume the download later"),
            FetchError::Damaged { .. } => format!("{error}; resume to download it again"),
            FetchError::NoSpace { .. } => format!("{error}; resume later"),
            FetchError::Hub(_) | FetchError::TooLong | FetchError::Disk(_) => error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use outbound::Connector;
    use std::task::{Context, Waker};
    use weights::{ProxyRules, RepositoryFile};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn open(folder: &Path) -> Arc<Downloads> {
        let hub = Hub::new(Connector::default(), ProxyRules::default(), "http://127.0.0.1:1".to_owned(), None);
        Arc::new(Downloads::open(Arc::new(hub), folder, 1_000))
    }

    fn order(bytes: u64) -> Order {
        Order {
            repository: "acme/tiny".to_owned(),
            commit: "abcdef0".to_owned(),
            files: vec![RepositoryFile { name: format!("{bytes}.gguf"), bytes, sha256: None }],
            is_whole: false,
            weights: format!("hf://acme/tiny@abcdef0/{bytes}.gguf"),
            license: None,
        }
    }

    #[tokio::test]
    async fn downloads_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let downloads = open(folder.path());
        let add = async |number: u64| {
            let (turn, id) = (downloads.turn().await, DownloadId::new(NOW, number.into()));
            downloads.check(&order(number)).await?;
            downloads.add(turn, &id, order(number), NOW).await
        };
        let first = add(1).await.unwrap();
        let (_, found) = downloads.find(&order(1).weights).await.unwrap();
        assert!(Arc::ptr_eq(&first, &found));
        for number in 2..=8 {
            assert!(!downloads.is_full() && add(number).await.is_ok(), "{number}");
        }
        assert!(matches!(add(9).await, Err(WeightsError::Change(ChangeError::TooMany))));
        let too_large = downloads.check(&order(1_001)).await;
        assert!(matches!(too_large, Err(WeightsError::TooLarge { bytes: 1_001, max: 1_000 })));

        first.cancel();
        assert!(!downloads.is_full() && add(9).await.is_ok());
        assert!(downloads.is_full());
    }

    #[tokio::test]
    async fn an_abandoned_deletion_goes_on_and_others_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let (downloads, id) = (open(folder.path()), DownloadId::new(NOW, 1));
        let entry = downloads.add(downloads.turn().await, &id, order(4), NOW).await.unwrap();
        entry.cancel();
        fs::write(entry.part(0), "part").unwrap();
        let part = folder.path().join("whole");
        fs::write(&part, "GGUF").unwrap();
        downloads.cache.place(&part, "acme/tiny", "abcdef0", "4.gguf").unwrap();

        let turn = downloads.turn().await;
        assert_eq!(downloads.list().await.len(), 1, "a report does not wait for requests");
        let mut deletion = Box::pin(downloads.make(turn, DownloadChange::Delete, &id, &entry));
        let _ = deletion.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(deletion);
        let _next = downloads.turn().await;
        assert!(matches!(downloads.get(&id).await, Err(ChangeError::Missing)));
        assert!(!entry.folder().exists() && !downloads.cache.has("acme/tiny", "abcdef0", "4.gguf", 4));
    }

    #[tokio::test]
    async fn files_that_are_back_are_not_downloaded_again() {
        let folder = tempfile::tempdir().unwrap();
        let (downloads, id) = (open(folder.path()), DownloadId::new(NOW, 1));
        let entry = downloads.add(downloads.turn().await, &id, order(4), NOW).await.unwrap();
        for (state, expected) in [
            (DownloadState::Done, DownloadState::Done),
            (DownloadState::Missing, DownloadState::Queued),
            (DownloadState::Failed, DownloadState::Queued),
        ] {
            entry.set_state(state);
            downloads.make(downloads.turn().await, DownloadChange::Resume, &id, &entry).await.unwrap();
            assert_eq!(entry.state(), expected, "{state:?}");
        }
    }
}
