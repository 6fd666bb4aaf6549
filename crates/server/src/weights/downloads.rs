//! The downloads of this node: a bounded queue of which one runs at a time. Their state is on the disk, so that they go on
//! after a restart.

use super::WeightsError;
use super::cache::HubCache;
use super::change::ChangeError;
use super::download::{self, Stop};
use super::entry::Entry;
use super::fit;
use super::hub::Hub;
use super::machine::free_disk;
use super::record::{DownloadState, Order, Record};
use super::report::DownloadReport;
use domain::{DownloadId, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Notify;

/// Downloads that run or wait.
const MAX_ACTIVE: usize = 8;
const MAX_KEPT: usize = 100;

pub(crate) struct Downloads {
    hub: Arc<Hub>,
    cache: HubCache,
    /// With a folder for each download.
    folder: PathBuf,
    max_bytes: u64,
    entries: Mutex<BTreeMap<DownloadId, Arc<Entry>>>,
    nudge: Arc<Notify>,
    changed: Arc<Notify>,
}

/// The download of a request.
pub(crate) enum Added {
    New(Arc<Entry>),
    /// Another request has started it meanwhile.
    Known(Arc<Entry>),
}

impl Downloads {
    /// Reads the downloads of earlier runs.
    pub(super) fn open(hub: Arc<Hub>, cache_dir: &Path, max_bytes: u64) -> Self {
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
        Self { hub, cache, folder, max_bytes, entries, nudge: Arc::default(), changed }
    }

    /// Notified when there is something to download.
    pub(crate) fn nudge(&self) -> Arc<Notify> {
        Arc::clone(&self.nudge)
    }

    /// Notified when a download has another state, is new or was deleted.
    pub(crate) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// All downloads, newest first, for other nodes.
    pub(crate) fn report(&self) -> Vec<DownloadReport> {
        self.list().iter().map(|entry| DownloadReport::from(&**entry)).collect()
    }

    /// Runs the downloads that wait, one after another.
    pub(crate) async fn run_queued(&self) {
        while let Some(entry) = self.take_queued() {
            let ended = download::run(&self.hub, &self.cache, &entry).await;
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

    fn take_queued(&self) -> Option<Arc<Entry>> {
        let entries = self.entries.lock();
        let mut waiting = entries.values();
        waiting.find(|entry| entry.transition(DownloadState::Queued, DownloadState::Downloading)).cloned()
    }

    /// All downloads, newest first.
    fn list(&self) -> Vec<Arc<Entry>> {
        self.checked().values().rev().cloned().collect()
    }

    /// The downloads, with those missing whose files are. No download is deleted meanwhile.
    fn checked(&self) -> MutexGuard<'_, BTreeMap<DownloadId, Arc<Entry>>> {
        let entries = self.entries.lock();
        for entry in entries.values() {
            entry.check_files(&self.cache);
        }
        entries
    }

    pub(super) fn get(&self, id: &DownloadId) -> Result<Arc<Entry>, ChangeError> {
        self.checked().get(id).cloned().ok_or(ChangeError::Missing)
    }

    /// The download of these weights.
    pub(crate) fn find(&self, weights: &str) -> Option<(DownloadId, Arc<Entry>)> {
        let entries = self.checked();
        let found = entries.iter().find(|(_, entry)| entry.record().weights == weights);
        found.map(|(id, entry)| (id.clone(), Arc::clone(entry)))
    }

    /// The bytes of an order that are not on the disk.
    pub(super) fn missing(&self, order: &Order) -> u64 {
        let is_missing = |name: &str, bytes| !self.cache.has(&order.repository, &order.commit, name, bytes);
        order.files.iter().filter(|file| is_missing(&file.name, file.bytes)).map(|file| file.bytes).sum()
    }

    /// Whether an order may start.
    pub(crate) fn check(&self, order: &Order) -> Result<(), WeightsError> {
        let bytes: u64 = order.files.iter().map(|file| file.bytes).sum();
        if bytes > self.max_bytes {
            return Err(WeightsError::TooLarge { bytes, max: self.max_bytes });
        }
        let entries = self.entries.lock();
        check_room(&entries)?;
        let active = entries.values().filter(|entry| entry.state().is_active());
        let promised: u64 = active.map(|entry| entry.record().bytes().saturating_sub(entry.progress().0)).sum();
        drop(entries);
        let disk = fit::judge_disk(self.missing(order).saturating_add(promised), free_disk(&self.folder));
        if disk.fits { Ok(()) } else { Err(WeightsError::NoDiskSpace(disk.why)) }
    }

    /// Queues a download that was checked. Of two requests for the same weights at once, the second gets the first one's
    /// download.
    pub(crate) fn add(&self, id: &DownloadId, order: Order, now: Timestamp) -> Result<Added, WeightsError> {
        let mut entries = self.entries.lock();
        if let Some(known) = entries.values().find(|entry| entry.record().weights == order.weights) {
            return Ok(Added::Known(Arc::clone(known)));
        }
        // Others may have been added since the check.
        check_room(&entries)?;
        let (record, folder) = (Record::new(id, order, now), self.folder.join(id.as_str()));
        record.write(&folder)?;
        let entry = Arc::new(Entry::new(folder, record, self.changed()));
        entry.measure(&self.cache);
        entries.insert(id.clone(), Arc::clone(&entry));
        self.nudge.notify_one();
        self.changed.notify_one();
        Ok(Added::New(entry))
    }

    /// Queues a download again that failed, was cancelled or is missing.
    pub(super) fn resume(&self, entry: &Entry) -> Result<(), ChangeError> {
        // A download is not deleted while it is resumed.
        let entries = self.entries.lock();
        if !entries.values().any(|known| std::ptr::eq(&**known, entry)) {
            return Err(ChangeError::Missing);
        }
        let state = entry.state();
        if state.is_active() {
            return Err(ChangeError::Active);
        }
        if entries.values().filter(|entry| entry.state().is_active()).count() >= MAX_ACTIVE {
            return Err(ChangeError::TooMany);
        }
        entry.set_cancelled(false);
        if state == DownloadState::Done || !entry.transition(state, DownloadState::Queued) {
            return Err(ChangeError::Inactive(state.as_str().to_owned()));
        }
        self.nudge.notify_one();
        Ok(())
    }

    /// Deletes a download with its files.
    pub(super) fn delete(&self, id: &DownloadId) -> Result<(), ChangeError> {
        // Until its files are gone, it is neither resumed nor requested again.
        let mut entries = self.entries.lock();
        let entry = entries.get(id).ok_or(ChangeError::Missing)?;
        if entry.state().is_active() {
            return Err(ChangeError::Active);
        }
        self.delete_files(entry).map_err(|error| {
            tracing::error!(download = %id, %error, "a file of a download cannot be deleted");
            ChangeError::Files
        })?;
        entries.remove(id);
        self.changed.notify_one();
        Ok(())
    }

    fn delete_files(&self, entry: &Entry) -> io::Result<()> {
        let record = entry.record();
        self.cache.remove(&record.repository, &record.commit, record.files.iter().map(|file| file.name.as_str()))?;
        fs::remove_dir_all(entry.folder())
    }
}

/// Whether there is room for another download.
fn check_room(entries: &BTreeMap<DownloadId, Arc<Entry>>) -> Result<(), ChangeError> {
    let active = entries.values().filter(|entry| entry.state().is_active()).count();
    if active >= MAX_ACTIVE || entries.len() >= MAX_KEPT { Err(ChangeError::TooMany) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::proxy::ProxyRules;
    use crate::weights::repository::RepositoryFile;
    use fleet::Connector;

    fn order(bytes: u64) -> Order {
        Order {
            repository: "acme/tiny".to_owned(),
            commit: "abcdef0".to_owned(),
            files: vec![RepositoryFile { name: "a.gguf".to_owned(), bytes, sha256: None }],
            is_whole: false,
            weights: format!("hf://acme/tiny@abcdef0/{bytes}.gguf"),
            license: None,
        }
    }

    #[test]
    fn downloads_are_bounded_and_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let hub =
            Arc::new(Hub::new(Connector::default(), ProxyRules::default(), "http://127.0.0.1:1".to_owned(), None));
        let downloads = Downloads::open(hub, folder.path(), 1_000);
        let add = |number: u64| {
            let id = DownloadId::new(Timestamp::from_millis(1), number.into());
            downloads.check(&order(number))?;
            downloads.add(&id, order(number), Timestamp::from_millis(1))
        };
        let Ok(Added::New(first)) = add(1) else { panic!("the first is new") };
        let id = DownloadId::new(Timestamp::from_millis(1), 99);
        let again = downloads.add(&id, order(1), Timestamp::from_millis(1));
        assert!(matches!(again, Ok(Added::Known(known)) if Arc::ptr_eq(&first, &known)));
        assert_eq!(downloads.list().len(), 1);
        for number in 2..=8 {
            assert!(matches!(add(number), Ok(Added::New(_))), "{number}");
        }
        assert!(matches!(add(9), Err(WeightsError::Change(ChangeError::TooMany))));
        let unchecked = downloads.add(&id, order(9), Timestamp::from_millis(1));
        assert!(matches!(unchecked, Err(WeightsError::Change(ChangeError::TooMany))), "of two requests at once");
        assert!(matches!(downloads.check(&order(1_001)), Err(WeightsError::TooLarge { bytes: 1_001, max: 1_000 })));

        assert!(first.transition(DownloadState::Queued, DownloadState::Cancelled));
        assert!(matches!(add(9), Ok(Added::New(_))));
        assert!(matches!(downloads.resume(&first), Err(ChangeError::TooMany)));
        let deleted = DownloadId::new(Timestamp::from_millis(1), 1);
        downloads.delete(&deleted).unwrap();
        assert!(matches!(downloads.resume(&first), Err(ChangeError::Missing)), "it must not come back");
        assert!(!folder.path().join("downloads").join(deleted.as_str()).exists());
    }
}
