//! The journal: usage events on disk before the response of their call ends.
//!
//! An event is appended with one write(2) into space that was allocated before its call was admitted (`room`), so neither
//! a crash of the process nor a full disk loses any. While there is something to sync, a thread syncs the file every 50 ms,
//! so a power failure loses at most a tenth of a second; while the disk cannot keep that promise, no new calls are admitted.
//! The reader moves events to the store,
//! from memory as long as it keeps up, and removes files that are stored. Files of earlier runs are read first; damaged
//! parts and an incomplete last line are dropped.
//!
//! Lines that are not synced are kept in memory as well. If the disk fails, they are written to another file (`sync`) or
//! go to the store from memory.
//!
//! Long calls write marks of their usage so far. If a run dies, a call with a mark but no end is charged at its last mark.

mod disk;
mod fresh;
#[cfg(test)]
mod fuzz_tests;
mod inspect;
mod line;
#[cfg(test)]
mod model_disk;
#[cfg(test)]
mod power_tests;
mod reader;
mod room;
mod sleeper;
mod state;
mod sync;

pub use inspect::{Inspection, inspect};
pub use reader::{Batch, JournalReader};
pub use room::JournalRoom;

use disk::Disk;
use domain::{RunId, UsageEvent};
use line::{MAX_LINE_BYTES, Stage};
use parking_lot::Mutex;
use room::Room;
use sleeper::Sleeper;
use state::{Segment, State};
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The size of a file.
const MAX_FILE_BYTES: u64 = 8 << 20;
const MIN_FILE_BYTES: u64 = 64 << 10;
/// A full journal has at least this number of files, so that space becomes free step by step.
const MIN_FILES_WHEN_FULL: u64 = 8;

thread_local! {
    /// The last line that this thread has written; its memory is reused for the next one.
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The writing side of the journal. Clones write to the same files.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

/// The fill level of a journal, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillLevel {
    /// Not stored yet.
    pub waiting: u64,
    /// Allocated on disk and not reserved by a running call.
    pub room: u64,
    /// Kept in memory because they are not synced.
    pub unsynced: u64,
    /// The part of the unsynced ones that could not be written either.
    pub unwritten: u64,
}

struct Shared {
    disk: Disk,
    run: RunId,
    max_bytes: u64,
    segment_bytes: u64,
    state: Mutex<State>,
    room: Room,
    /// The thread that syncs; asleep while there is nothing to sync.
    syncer: Sleeper,
    /// Bytes that were written in total, and the part of them that is stored.
    appended: AtomicU64,
    moved: AtomicU64,
    /// The last write or sync failed.
    failing: AtomicBool,
}

impl Journal {
    /// Opens the folder for a new run, with a reader of its events and of those that earlier runs left. On a full disk it
    /// has no room until there is space, so that what earlier runs left can be stored.
    pub fn open(folder: &Path, run: RunId, max_bytes: u64) -> io::Result<(Self, JournalReader)> {
        let segment_bytes = (max_bytes / MIN_FILES_WHEN_FULL).clamp(MIN_FILE_BYTES, MAX_FILE_BYTES);
        let (journal, reader) = Self::open_on(Disk::folder(folder)?, run, max_bytes, segment_bytes)?;
        room::start(&journal.shared)?;
        sync::start(&journal.shared)?;
        Ok((journal, reader))
    }

    /// Opens a journal without its threads.
    fn open_on(disk: Disk, run: RunId, max_bytes: u64, segment_bytes: u64) -> io::Result<(Self, JournalReader)> {
        let earlier = reader::find_earlier_files(&disk, &run)?;
        let found: u64 = earlier.iter().map(|file| file.bytes).sum();
        let shared = Arc::new(Shared {
            disk,
            run,
            max_bytes,
            segment_bytes,
            state: Mutex::default(),
            room: Room::default(),
            syncer: Sleeper::default(),
            appended: AtomicU64::new(found),
            moved: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        });
        match shared.allocate_segment() {
            Err(error) if lacks_space(&error) => {
                tracing::error!(%error, "no space for the journal: calls are rejected until there is");
            }
            allocated => allocated?,
        }
        let reader = JournalReader::new(Arc::clone(&shared), earlier);
        Ok((Self { shared }, reader))
    }

    pub fn run(&self) -> &RunId {
        &self.shared.run
    }

    /// Reserves room for the event of a call, which may be admitted then. `None` if the journal is full or failing.
    pub fn reserve(&self) -> Option<JournalRoom> {
        if self.shared.accepts_calls() { self.shared.reserve() } else { None }
    }

    /// Whether new calls may be admitted.
    pub fn has_room(&self) -> bool {
        self.shared.accepts_calls() && self.shared.has_unreserved_room()
    }

    /// Bytes that are not stored yet.
    pub fn waiting_bytes(&self) -> u64 {
        self.shared.waiting_bytes()
    }

    pub fn fill_level(&self) -> FillLevel {
        let state = self.shared.state.lock();
        FillLevel {
            waiting: self.shared.waiting_bytes(),
            room: self.shared.room.unreserved(),
            unsynced: state.unsynced_bytes() as u64,
            unwritten: state.unwritten as u64,
        }
    }

    /// The events that are only in memory, because the disk fails: they are lost with the process.
    pub fn unwritten_events(&self) -> Vec<UsageEvent> {
        let state = self.shared.state.lock();
        let lines = state.unwritten_lines().filter_map(line::read_with_break);
        lines.filter(|(_, stage)| *stage == Stage::Ended).map(|(event, _)| event).collect()
    }

    /// Records the end of a call, which has reserved room.
    pub fn append(&self, event: UsageEvent) {
        let mut line = LINE.take();
        line::write(&event, Stage::Ended, &mut line);
        let mut state = self.shared.state.lock();
        state.forget_mark(&event.request);
        self.shared.put(&mut state, &line, Some(event));
        drop(state);
        LINE.set(line);
    }

    /// Records what a running call has used so far. Without room for it, the call keeps its last mark.
    pub fn mark(&self, event: &UsageEvent) {
        // The ends of calls are kept in memory then, marks are not.
        if self.shared.failing.load(Ordering::Relaxed) {
            return;
        }
        let line = line::encode(event, Stage::Running);
        let mut state = self.shared.state.lock();
        let grown = state.marks_bytes_with(&event.request, &line);
        if self.shared.reserve_mark(&state, line.len() as u64, grown) {
            self.shared.put(&mut state, &line, None);
            if state.unwritten == 0 {
                state.remember_mark(&event.request, line);
            } else {
                state.drop_last_unwritten(line.len());
                self.shared.moved.fetch_add(line.len() as u64, Ordering::Relaxed);
            }
            self.shared.update_room(&state);
        }
    }
}

impl Shared {
    fn accepts_calls(&self) -> bool {
        !self.failing.load(Ordering::Relaxed) && self.waiting_bytes() < self.max_bytes
    }

    fn waiting_bytes(&self) -> u64 {
        self.appended.load(Ordering::Relaxed).saturating_sub(self.moved.load(Ordering::Relaxed))
    }

    fn put(&self, state: &mut State, line: &[u8], event: Option<UsageEvent>) {
        self.appended.fetch_add(line.len() as u64, Ordering::Relaxed);
        state.unsynced.extend_from_slice(line);
        self.syncer.wake();
        if state.unwritten > 0 {
            state.unwritten += line.len();
            return;
        }
        match self.write(state, line) {
            Ok((number, start)) => state.fresh.push(number, start, start + line.len() as u64, event),
            Err(error) => {
                state.unwritten = line.len();
                self.fail(&error, "cannot write to the journal");
            }
        }
        self.update_room(state);
    }

    /// Writes a line to the current file, or to the next one if it does not fit. Returns the file's number and where in it.
    fn write(&self, state: &mut State, line: &[u8]) -> io::Result<(u64, u64)> {
        let fits = |segment: &Segment| segment.length + line.len() as u64 <= self.segment_bytes;
        if !state.current.as_ref().is_some_and(fits) {
            self.next_segment(state)?;
        }
        let segment = state.current.as_mut().ok_or(io::ErrorKind::StorageFull)?;
        let start = segment.length;
        segment.file.write_at(line, start)?;
        segment.length += line.len() as u64;
        Ok((segment.number, start))
    }

    /// Continues in a file that was allocated before, with the marks of running calls, so that older files can be removed.
    /// If that fails, the old file stays in use.
    fn next_segment(&self, state: &mut State) -> io::Result<()> {
        let mut segment = state.spares.pop_front().ok_or(io::ErrorKind::StorageFull)?;
        let marks = state.marks();
        let written = if marks.is_empty() { Ok(()) } else { segment.file.write_at(&marks, 0) };
        if let Err(error) = written {
            // Not used again: a part of the marks may be in it.
            let _ = self.disk.remove(&file_name(&self.run, segment.number));
            return Err(error);
        }
        segment.length = marks.len() as u64;
        self.appended.fetch_add(segment.length, Ordering::Relaxed);
        state.continue_in(segment);
        self.room.allocator.wake();
        Ok(())
    }

    fn fail(&self, error: &io::Error, what: &str) {
        if !self.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "{what}: new calls are rejected until it works again");
        }
    }
}

fn lacks_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn file_name(run: &RunId, number: u64) -> String {
    format!("{run}-{number:08}.jsonl")
}

#[cfg(test)]
mod tests;
