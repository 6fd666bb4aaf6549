//! The journal: usage events on disk before the answer they belong to has ended.
//!
//! An event is appended by one write(2), so the end of the process loses nothing; a thread asks the disk to keep it
//! within a tenth of a second, so a power cut loses at most that. A reader moves events to the store, out of memory as long
//! as it keeps up, and removes files that are done. Files of earlier runs are read first; a torn end of theirs is cut,
//! never guessed.
//!
//! Long calls leave marks on their way. A run that died has marks without an end: those calls are charged at their last
//! mark.

mod fresh;
mod inspect;
mod line;
mod reader;

pub use inspect::{Inspection, inspect};
pub use reader::{Batch, JournalReader};

use domain::{RequestId, RunId, UsageEvent};
use fresh::Fresh;
use line::Stage;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A file that is longer is done, and the next one begins.
const LARGEST_FILE: u64 = 8 << 20;
const FILES_AT_BOUND: u64 = 8;
const SYNC_EVERY: Duration = Duration::from_millis(50);

thread_local! {
    /// The last line that this thread has written: its memory serves for the next one.
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Where events are appended; clones write to the same files.
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
    /// Bytes that were ever written, and those of them that the store has.
    appended: AtomicU64,
    moved: AtomicU64,
    /// The disk does not take what is written.
    failing: AtomicBool,
}

struct State {
    file: Arc<File>,
    number: u64,
    length: u64,
    unsynced: bool,
    /// The last mark of every call that is under way; a new file starts with them.
    running: HashMap<RequestId, Vec<u8>>,
    /// Lines that the disk did not take. They belong to calls that were let in before that was known.
    unwritten: VecDeque<Vec<u8>>,
    fresh: Fresh,
}

impl Journal {
    /// Opens the folder for a new run, and a reader of what it and earlier runs leave there.
    pub fn open(folder: &Path, run: RunId, max_bytes: u64) -> io::Result<(Self, JournalReader)> {
        std::fs::create_dir_all(folder)?;
        let earlier = reader::find_files(folder, &run)?;
        let found: u64 = earlier.iter().map(|file| file.bytes).sum();
        let state = State {
            file: Arc::new(create(folder, &run, 1)?),
            number: 1,
            length: 0,
            unsynced: false,
            running: HashMap::new(),
            unwritten: VecDeque::new(),
            fresh: Fresh::default(),
        };
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            run,
            max_bytes,
            file_bytes: (max_bytes / FILES_AT_BOUND).clamp(1, LARGEST_FILE),
            state: Mutex::new(state),
            appended: AtomicU64::new(found),
            moved: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        });
        let keeper = Arc::downgrade(&shared);
        std::thread::Builder::new().name("journal".into()).spawn(move || keep(&keeper))?;
        let reader = JournalReader::new(Arc::clone(&shared), earlier);
        Ok((Self { shared }, reader))
    }

    pub fn run(&self) -> &RunId {
        &self.shared.run
    }

    /// Whether new calls may be let in: their events will find room.
    pub fn has_room(&self) -> bool {
        !self.shared.failing.load(Ordering::Relaxed) && self.waiting_bytes() < self.shared.max_bytes
    }

    /// What the store does not have yet.
    pub fn waiting_bytes(&self) -> u64 {
        self.shared.waiting_bytes()
    }

    /// A call has ended.
    pub fn append(&self, event: UsageEvent) {
        let mut line = LINE.take();
        line::write(&event, Stage::Ended, &mut line);
        let mut state = self.shared.state();
        if !state.running.is_empty() {
            state.running.remove(&event.request);
        }
        self.shared.put(&mut state, &line, Some(event));
        drop(state);
        LINE.set(line);
    }

    /// A call is under way and has used so much.
    pub fn mark(&self, event: &UsageEvent) {
        let line = line::written(event, Stage::Running);
        let mut state = self.shared.state();
        self.shared.put(&mut state, &line, None);
        state.running.insert(event.request.clone(), line);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
                tracing::error!(%error, "the journal cannot be written: new calls are refused until it can");
            }
        }
    }

    fn write(&self, state: &mut State, line: &[u8]) -> io::Result<()> {
        if state.length > 0 && state.length + line.len() as u64 > self.file_bytes {
            state.file.sync_data()?;
            self.next_file(state)?;
        }
        state.append(line)
    }

    /// Begins a new file with the marks of the calls under way, so that files before it can go. Until it holds them, the
    /// old one goes on: a disk that is full must not be littered with files.
    fn next_file(&self, state: &mut State) -> io::Result<()> {
        let number = state.number + 1;
        let file = create(&self.folder, &self.run, number)?;
        let marks = state.running.values().flatten().copied().collect::<Vec<u8>>();
        file.set_len(0)?;
        (&file).write_all(&marks)?;
        (state.file, state.number, state.length, state.unsynced) = (Arc::new(file), number, marks.len() as u64, true);
        self.appended.fetch_add(marks.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Tries again with what the disk did not take, behind a torn end that is cut, or else in a new file.
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
        self.failing.store(false, Ordering::Relaxed);
        tracing::info!("the journal can be written again");
        Ok(())
    }
}

impl State {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.as_ref().write_all(line)?;
        self.length += line.len() as u64;
        self.unsynced = true;
        Ok(())
    }
}

/// Makes the disk keep what was written, until the journal is gone.
#[expect(clippy::disallowed_methods, reason = "it has a thread of its own")]
fn keep(journal: &Weak<Shared>) {
    loop {
        std::thread::sleep(SYNC_EVERY);
        let Some(shared) = journal.upgrade() else { return };
        let unsynced = {
            let mut state = shared.state();
            let _ = shared.recover(&mut state);
            std::mem::take(&mut state.unsynced).then(|| Arc::clone(&state.file))
        };
        if let Some(file) = unsynced
            && let Err(error) = file.sync_data()
        {
            tracing::error!(%error, "the disk does not confirm the journal");
        }
    }
}

/// A power cut may not take the name of a file whose content the disk has kept.
fn create(folder: &Path, run: &RunId, number: u64) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(folder.join(file_name(run, number)))?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}

fn file_name(run: &RunId, number: u64) -> String {
    format!("{run}-{number:08}.jsonl")
}

#[cfg(test)]
mod tests;
