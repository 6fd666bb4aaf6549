//! The thread that syncs the journal to disk, and its way back after a failure.
//!
//! A line that could not be written is tried again. A failed sync may have lost lines that were written before, and a
//! second try would not bring them back: the system reports lost data once. So the file is abandoned where its last
//! successful sync ended, and the lines after that point, which are still in memory, are written to another file. A trial
//! file is synced first, so that a failing disk does not use up the allocated files. New calls are admitted when all
//! lines are synced.
//!
//! Example: bytes 0 to 900 of file 1 are synced, the sync of bytes 900 to 1,500 fails. Bytes 900 to 1,500 are written to
//! the start of file 2. The reader leaves file 1 at byte 900; if it was further already, it reads the lines again, and
//! the store recognizes their request ids.

use super::Shared;
use super::disk::Disk;
use super::state::{PendingSync, State};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

const SYNC_EVERY: Duration = Duration::from_millis(50);
/// How often the thread looks whether the journal was dropped.
const IDLE_PERIOD: Duration = Duration::from_secs(5);
/// Lines that were not written are written in batches of about this size, because calls that end wait for the lock.
const BATCH_BYTES: usize = 256 << 10;
/// Not the name of a journal file, so no reader takes it for one.
const TRIAL_FILE: &str = "sync-trial";

/// Starts the thread, which ends when the journal is dropped.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let journal = Arc::downgrade(shared);
    let thread = std::thread::Builder::new().name("journal".into()).spawn(move || sync_loop(&journal))?;
    shared.syncer.is(thread.thread());
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "runs on its own thread")]
fn sync_loop(journal: &Weak<Shared>) {
    loop {
        std::thread::sleep(SYNC_EVERY);
        let Some(shared) = journal.upgrade() else { return };
        shared.sync_round();
        let may_rest = shared.may_rest();
        drop(shared);
        if may_rest {
            std::thread::park_timeout(IDLE_PERIOD);
        }
    }
}

impl Shared {
    /// Whether there is nothing to sync or to repair. If so, the next line wakes the thread: it is added under the same lock.
    fn may_rest(&self) -> bool {
        let state = self.state.lock();
        let is_idle = state.unsynced_bytes() == 0 && !self.failing.load(Ordering::Relaxed);
        if is_idle {
            self.syncer.rest();
        }
        is_idle
    }

    pub(super) fn sync_round(&self) {
        if self.failing.load(Ordering::Relaxed) {
            self.repair();
        }
        let files = {
            let mut state = self.state.lock();
            if state.sync_failed {
                return;
            }
            state.begin_sync()
        };
        let synced = sync_all(&files);
        let mut state = self.state.lock();
        match synced {
            Ok(()) => {
                state.sync_succeeded(&files);
                if state.unwritten == 0 && self.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("the journal works again");
                }
            }
            Err(error) => {
                state.sync_failed = true;
                self.fail(&error, "cannot sync the journal");
            }
        }
        self.update_room(&state);
    }

    /// Writes the lines that are not safe: where they belong, or else to another file.
    fn repair(&self) {
        if self.write_unwritten() || try_disk(&self.disk).is_err() {
            return;
        }
        {
            let mut state = self.state.lock();
            if self.next_segment(&mut state).is_ok() {
                let again = state.abandon_unsynced();
                self.appended.fetch_add(again, Ordering::Relaxed);
                state.sync_failed = false;
            }
            self.update_room(&state);
        }
        self.write_unwritten();
    }

    /// Writes the lines that are only in memory. Returns whether all of them are where they belong.
    fn write_unwritten(&self) -> bool {
        loop {
            let mut state = self.state.lock();
            if state.sync_failed || self.write_batch(&mut state).is_err() {
                self.update_room(&state);
                return false;
            }
            if state.unwritten == 0 {
                return true;
            }
        }
    }

    fn write_batch(&self, state: &mut State) -> io::Result<()> {
        let mut batch = Vec::with_capacity(BATCH_BYTES.min(state.unwritten));
        for line in state.unwritten_lines() {
            if batch.len() >= BATCH_BYTES {
                break;
            }
            batch.extend_from_slice(line);
        }
        for line in batch.split_inclusive(|byte| *byte == b'\n') {
            self.write(state, line)?;
            state.unwritten -= line.len();
            state.rewrites += 1;
        }
        Ok(())
    }
}

fn sync_all(files: &[PendingSync]) -> io::Result<()> {
    // Every file is tried, because an error of one says nothing about the others.
    let outcomes: Vec<io::Result<()>> = files.iter().map(|pending| pending.file.sync()).collect();
    outcomes.into_iter().collect()
}

/// Whether the disk takes and syncs a small file.
fn try_disk(disk: &Disk) -> io::Result<()> {
    let file = disk.create(TRIAL_FILE)?;
    let synced = file.write_at(b"trial", 0).and_then(|()| file.sync());
    disk.remove(TRIAL_FILE)?;
    synced
}
