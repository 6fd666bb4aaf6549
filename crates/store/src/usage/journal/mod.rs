//! The journal: usage events on disk before the response of their call ends.
//!
//! An event is appended with one write(2), so a crash of the process loses nothing. A thread syncs the file every 50 ms,
//! so a power failure loses at most a tenth of a second; while the disk cannot keep that promise, no new calls are
//! admitted. The reader moves events to the store, from memory as long as it
//! keeps up, and removes files that are stored. Files of earlier runs are read first; an incomplete last line is dropped.
//!
//! Long calls write marks of their usage so far. If a run dies, a call with a mark but no end is charged at its last mark.

mod fresh;
#[cfg(test)]
mod fuzz_tests;
mod inspect;
mod line;
mod reader;
mod sync;

pub use inspect::{Inspection, inspect};
pub use reader::{Batch, JournalReader};

use domain::{RequestId, RunId, UsageEvent};
use fresh::FreshLines;
use line::Stage;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The next file begins at this size.
const MAX_FILE_BYTES: u64 = 8 << 20;
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

struct Shared {
    folder: PathBuf,
    run: RunId,
    max_bytes: u64,
    file_bytes: u64,
    state: Mutex<State>,
    /// Bytes that were written in total, and the part of them that is stored.
    appended: AtomicU64,
    moved: AtomicU64,
    /// The last write or sync failed.
    failing: AtomicBool,
}

struct State {
    file: Arc<File>,
    number: u64,
    length: u64,
    /// The current file has lines that are not synced.
    unsynced: bool,
    /// Earlier files that are not synced. Left to the thread, because a sync may take long and calls end under this lock.
    rotated: Vec<Arc<File>>,
    /// Set after a failed sync.
    doubt: Option<Doubt>,
    /// The last mark of every running call; a new file starts with them.
    running: HashMap<RequestId, Vec<u8>>,
    /// Lines that could not be written, of calls that were admitted before the failure was known.
    unwritten: VecDeque<Vec<u8>>,
    fresh: FreshLines,
}

impl Journal {
    /// Opens the folder for a new run, with a reader of its events and of those that earlier runs left.
    pub fn open(folder: &Path, run: RunId, max_bytes: u64) -> io::Result<(Self, JournalReader)> {
        std::fs::create_dir_all(folder)?;
        let earlier = reader::find_earlier_files(folder, &run)?;
        let found: u64 = earlier.iter().map(|file| file.bytes).sum();
        let state = State {
            file: Arc::new(create(folder, &run, 1)?),
            number: 1,
            length: 0,
            unsynced: false,
            rotated: Vec::new(),
            doubt: None,
            running: HashMap::new(),
            unwritten: VecDeque::new(),
            fresh: FreshLines::default(),
        };
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            run,
            max_bytes,
            file_bytes: (max_bytes / MIN_FILES_WHEN_FULL).clamp(1, MAX_FILE_BYTES),
            state: Mutex::new(state),
            appended: AtomicU64::new(found),
            moved: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        });
        sync_folder(folder)?;
        sync::start(&shared)?;
        let reader = JournalReader::new(Arc::clone(&shared), earlier);
        Ok((Self { shared }, reader))
    }

    pub fn run(&self) -> &RunId {
        &self.shared.run
    }

    /// Whether new calls may be admitted.
    pub fn has_room(&self) -> bool {
        !self.shared.failing.load(Ordering::Relaxed) && self.waiting_bytes() < self.shared.max_bytes
    }

    /// Bytes that are not stored yet.
    pub fn waiting_bytes(&self) -> u64 {
        self.shared.waiting_bytes()
    }

    /// Records the end of a call.
    pub fn append(&self, event: UsageEvent) {
        let mut line = LINE.take();
        line::write(&event, Stage::Ended, &mut line);
        let mut state = self.shared.state.lock();
        if !state.running.is_empty() {
            state.running.remove(&event.request);
        }
        self.shared.put(&mut state, &line, Some(event));
        drop(state);
        LINE.set(line);
    }

    /// Records what a running call has used so far.
    pub fn mark(&self, event: &UsageEvent) {
        let line = line::encode(event, Stage::Running);
        let mut state = self.shared.state.lock();
        self.shared.put(&mut state, &line, None);
        state.running.insert(event.request.clone(), line);
    }
}

impl Shared {
    fn waiting_bytes(&self) -> u64 {
        self.appended.load(Ordering::Relaxed).saturating_sub(self.moved.load(Ordering::Relaxed))
    }

    fn put(&self, state: &mut State, line: &[u8], event: Option<UsageEvent>) {
        self.appended.fetch_add(line.len() as u64, Ordering::Relaxed);
        if !state.unwritten.is_empty() {
            return state.unwritten.push_back(line.to_vec());
        }
        match self.write(state, line) {
            Ok(()) => state.fresh.push(state.number, state.length - line.len() as u64, state.length, event),
            Err(error) => {
                state.unwritten.push_back(line.to_vec());
                self.failing.store(true, Ordering::Relaxed);
                tracing::error!(%error, "cannot write to the journal: new calls are rejected until it works again");
            }
        }
    }

    fn write(&self, state: &mut State, line: &[u8]) -> io::Result<()> {
        if state.length > 0 && state.length + line.len() as u64 > self.file_bytes {
            self.next_file(state)?;
        }
        state.append(line)
    }

    /// Begins a new file with the marks of running calls, so that older files can be removed. If that fails, the old file
    /// stays in use, so that a full disk does not collect empty files.
    fn next_file(&self, state: &mut State) -> io::Result<()> {
        let number = state.number + 1;
        let file = create(&self.folder, &self.run, number)?;
        let marks = state.running.values().flatten().copied().collect::<Vec<u8>>();
        file.set_len(0)?;
        (&file).write_all(&marks)?;
        let old = std::mem::replace(&mut state.file, Arc::new(file));
        if std::mem::replace(&mut state.unsynced, true) {
            state.rotated.push(old);
        }
        (state.number, state.length) = (number, marks.len() as u64);
        self.appended.fetch_add(marks.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Admits new calls, unless writes or syncs still fail.
    fn works_again(&self, state: &State) {
        if state.unwritten.is_empty() && state.doubt.is_none() && self.failing.swap(false, Ordering::Relaxed) {
            tracing::info!("the journal works again");
        }
    }

    /// Retries the unwritten lines: after the last complete line of this file, or in a new file if it cannot be truncated.
    fn recover(&self, state: &mut State) -> io::Result<()> {
        if state.unwritten.is_empty() {
            return Ok(());
        }
        if state.file.set_len(state.length).is_err() {
            self.next_file(state)?;
        }
        while let Some(line) = state.unwritten.front().cloned() {
            state.append(&line)?;
            state.unwritten.pop_front();
        }
        self.works_again(state);
        Ok(())
    }
}

/// A sync failed, so lines may be missing on disk although they were written.
struct Doubt {
    /// Resolved when the store has all bytes up to this total.
    until: u64,
    /// Whether a new file has replaced the one in doubt. The system reports lost data once; the next sync of the same file
    /// would succeed without it.
    renewed: bool,
}

impl State {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.as_ref().write_all(line)?;
        self.length += line.len() as u64;
        self.unsynced = true;
        Ok(())
    }
}

fn create(folder: &Path, run: &RunId, number: u64) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(folder.join(file_name(run, number)))
}

/// A power failure must not lose the name of a file whose content is on disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn file_name(run: &RunId, number: u64) -> String {
    format!("{run}-{number:08}.jsonl")
}

#[cfg(test)]
mod tests;
