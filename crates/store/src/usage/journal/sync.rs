//! The thread that syncs the journal to disk.
//!
//! A failed sync may have lost lines that were written before, and a second try would not bring them back. So the journal
//! is treated as failing: it continues in a new file as soon as a trial file can be synced, and admits new calls again
//! when the store has all lines from before.

use super::{Doubt, Shared, sync_folder};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

const SYNC_EVERY: Duration = Duration::from_millis(50);
/// Not the name of a journal file, so no reader takes it for one.
const TRIAL_FILE: &str = "sync-trial";

/// Starts the thread, which ends when the journal is dropped.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let journal = Arc::downgrade(shared);
    std::thread::Builder::new().name("journal".into()).spawn(move || sync_loop(&journal)).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "runs on its own thread")]
fn sync_loop(journal: &Weak<Shared>) {
    loop {
        std::thread::sleep(SYNC_EVERY);
        let Some(shared) = journal.upgrade() else { return };
        shared.sync_round();
    }
}

impl Shared {
    fn sync_round(&self) {
        let in_doubt = self.state.lock().doubt.as_ref().is_some_and(|doubt| !doubt.renewed);
        let can_renew = in_doubt && try_disk(&self.folder).is_ok();
        let (files, rotated) = {
            let mut state = self.state.lock();
            let _ = self.recover(&mut state);
            if can_renew && self.next_file(&mut state).is_ok() {
                state.doubt = state.doubt.take().map(|doubt| Doubt { renewed: true, ..doubt });
            }
            let current = std::mem::take(&mut state.unsynced).then(|| Arc::clone(&state.file));
            let mut files = std::mem::take(&mut state.rotated);
            let rotated = !files.is_empty() || can_renew;
            files.extend(current);
            (files, rotated)
        };
        let synced = sync(&self.folder, &files, rotated);
        let mut state = self.state.lock();
        match synced {
            Ok(()) => {
                let moved = self.moved.load(Ordering::Relaxed);
                if state.doubt.as_ref().is_some_and(|doubt| doubt.renewed && doubt.until <= moved) {
                    state.doubt = None;
                    self.works_again(&state);
                }
            }
            Err(error) => {
                state.doubt = Some(Doubt { until: self.appended.load(Ordering::Relaxed), renewed: false });
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(%error, "cannot sync the journal: new calls are rejected until it works again");
                }
            }
        }
    }
}

fn sync(folder: &Path, files: &[Arc<File>], rotated: bool) -> io::Result<()> {
    // Every file is tried, because an error of one says nothing about the others.
    let outcomes: Vec<io::Result<()>> = files.iter().map(|file| file.sync_data()).collect();
    outcomes.into_iter().collect::<io::Result<()>>()?;
    if rotated { sync_folder(folder) } else { Ok(()) }
}

/// Whether the disk takes and syncs a small file. Tried first, so that a failing disk collects no journal files.
fn try_disk(folder: &Path) -> io::Result<()> {
    let path = folder.join(TRIAL_FILE);
    let mut file = File::create(&path)?;
    let synced = file.write_all(b"trial").and_then(|()| file.sync_data());
    std::fs::remove_file(path)?;
    synced
}
