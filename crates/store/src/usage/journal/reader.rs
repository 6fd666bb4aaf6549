//! Reads the journal, oldest line first, and removes files that are stored.
//!
//! Order: the files of earlier runs, then the files of this run. Example: the folder holds `run_a-00000001.jsonl` of a run
//! that was killed and `run_b-00000001.jsonl` of this run. The reader returns the events of `run_a`; at its end, calls
//! that have marks but no end become events with code `interrupted`, and the batch has `ends_run`, so the leases of that
//! run can be released. Then it follows `run_b`, taking events from memory as long as it keeps up.

use super::disk::{Disk, DiskFile};
use super::line::{self, Stage};
use super::state::State;
use super::{Shared, file_name};
use domain::usage::Certainty;
use domain::{RequestId, RunId, UsageEvent};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes read at once; longer than any line.
const BLOCK: usize = 256 << 10;
/// The code of a call that was cut off by the death of its gateway.
const INTERRUPTED: &str = "interrupted";

/// The file of events that the store rejected permanently.
pub(super) const QUARANTINE: &str = "refused.jsonl";

/// A file of an earlier run.
pub(super) struct EarlierFile {
    run: RunId,
    name: String,
    pub(super) bytes: u64,
}

/// The files of all runs, in the order of their creation.
pub(super) fn find_all_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_journal = path.file_name().and_then(|name| run_of(name.to_str()?)).is_some();
        found.extend(is_journal.then_some(path));
    }
    found.sort();
    Ok(found)
}

/// The run that a file of this name belongs to.
fn run_of(name: &str) -> Option<RunId> {
    let (run, _) = name.strip_suffix(".jsonl")?.split_once('-')?;
    RunId::parse(run).ok()
}

/// The files of all runs except this one, in the order of their creation. Those that a run had only allocated are
/// removed, because this run may need their space before the store takes anything.
pub(super) fn find_earlier_files(disk: &Disk, this: &RunId) -> io::Result<VecDeque<EarlierFile>> {
    let mut found = Vec::new();
    for (name, bytes) in disk.list()? {
        let run = run_of(&name).filter(|run| run != this);
        found.extend(run.map(|run| EarlierFile { run, name, bytes }));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    let mut kept: VecDeque<EarlierFile> = VecDeque::new();
    for file in found {
        // The first one stays also if it is empty, so that the leases of its run are released.
        let is_spare = file.bytes == 0 && kept.back().is_some_and(|last| last.run == file.run);
        if !is_spare || disk.remove(&file.name).is_err() {
            kept.push_back(file);
        }
    }
    Ok(kept)
}

/// Events of one run that are stored together.
#[derive(Debug)]
pub struct Batch {
    pub run: RunId,
    pub events: Vec<UsageEvent>,
    /// The run is over, and this is its last batch.
    pub ends_run: bool,
    bytes: u64,
    /// The files that are fully read with this batch, and whether it ends with the last of them.
    done: Vec<String>,
    ends_file: bool,
    /// Set if the events are only in memory.
    unwritten: Option<UnwrittenLines>,
}

/// Lines that could not be written, as they were when a batch was made of them.
#[derive(Debug, Clone, Copy)]
struct UnwrittenLines {
    rewrites: u64,
    bytes: usize,
}

impl Batch {
    fn new(run: RunId) -> Self {
        Self { run, events: Vec::new(), ends_run: false, bytes: 0, done: Vec::new(), ends_file: false, unwritten: None }
    }

    /// The batch ends with its file, and another file follows.
    pub fn is_followed(&self) -> bool {
        self.ends_file
    }

    fn end_file(&mut self, name: String) {
        self.done.push(name);
        self.ends_file = true;
    }

    /// Adds the batch that follows in the next file of the same run.
    fn append(&mut self, next: Self) {
        self.events.extend(next.events);
        self.bytes += next.bytes;
        self.done.extend(next.done);
        (self.ends_file, self.ends_run) = (next.ends_file, next.ends_run);
        self.unwritten = next.unwritten;
    }
}

/// The only reader of a journal.
pub struct JournalReader {
    shared: Arc<Shared>,
    earlier: VecDeque<EarlierFile>,
    /// Bytes of the current file that have been read.
    position: u64,
    file: Option<DiskFile>,
    /// The last mark of each call of the current earlier run that has not ended so far.
    running: HashMap<RequestId, UsageEvent>,
    /// Files that are stored and still there.
    removable: Vec<String>,
}

impl JournalReader {
    pub(super) fn new(shared: Arc<Shared>, earlier: VecDeque<EarlierFile>) -> Self {
        Self { shared, earlier, position: 0, file: None, running: HashMap::new(), removable: Vec::new() }
    }

    /// The next batch of about `max` events, of as many files of a run as it takes; `None` if there is nothing new.
    pub fn next(&mut self, max: usize) -> io::Result<Option<Batch>> {
        let Some(mut batch) = self.next_of_file(max)? else { return Ok(None) };
        while batch.ends_file && !batch.ends_run && batch.events.len() < max {
            match self.next_of_file(max - batch.events.len()) {
                Ok(Some(next)) => batch.append(next),
                // What was read is stored first; the next round reports the error again.
                Ok(None) | Err(_) => break,
            }
        }
        Ok(Some(batch))
    }

    fn next_of_file(&mut self, max: usize) -> io::Result<Option<Batch>> {
        match self.earlier.front() {
            Some(_) => self.next_of_earlier(max).map(Some),
            None => self.next_of_this_run(max),
        }
    }

    /// The batch is stored: frees its space and removes its file.
    pub fn stored(&mut self, batch: &Batch) {
        self.shared.moved.fetch_add(batch.bytes, Ordering::Relaxed);
        self.removable.extend(batch.done.iter().cloned());
        let mut state = self.shared.state.lock();
        // If some were written meanwhile, the reader will find them in their file, and the store knows them.
        if let Some(lines) = batch.unwritten.filter(|lines| lines.rewrites == state.rewrites) {
            state.drop_unwritten(lines.bytes);
            self.shared.moved.fetch_add(lines.bytes as u64, Ordering::Relaxed);
        }
        // A mark may be in no other file, so its file stays until the call is stored.
        let is_of_this_run = batch.run == self.shared.run;
        let may_remove = self.running.is_empty() && (!is_of_this_run || state.may_remove_earlier());
        drop(state);
        if may_remove {
            self.remove_files();
        }
    }

    fn remove_files(&mut self) {
        for name in self.removable.drain(..) {
            if let Err(error) = self.shared.disk.remove(&name) {
                tracing::warn!(%error, file = name, "cannot remove a stored file of the journal");
            }
        }
    }

    /// Writes an event that the store rejects to the quarantine file, for an operator to look at.
    pub fn quarantine(&self, event: &UsageEvent) {
        if let Err(error) = self.shared.disk.append(QUARANTINE, &line::encode(event, Stage::Ended)) {
            tracing::error!(%error, file = QUARANTINE, "cannot write a quarantined usage event");
        }
    }

    /// Removes the files of this run if all of it is stored. Nothing may be appended afterwards.
    pub fn close(mut self) {
        if !self.earlier.is_empty() || self.shared.waiting_bytes() > 0 {
            return;
        }
        let mut state = self.shared.state.lock();
        state.is_closed = true;
        let segments = state.spares.drain(..).map(|segment| segment.number).collect::<Vec<_>>();
        let current = state.current.take().map(|segment| segment.number);
        drop(state);
        let numbers = current.into_iter().chain(segments);
        self.removable.extend(numbers.map(|number| file_name(&self.shared.run, number)));
        self.remove_files();
    }

    fn next_of_earlier(&mut self, max: usize) -> io::Result<Batch> {
        let EarlierFile { run, name, bytes } = self.earlier.front().expect("the caller checked it");
        let (name, length) = (name.clone(), *bytes);
        let mut batch = Batch::new(run.clone());
        let running = &mut self.running;
        let events = &mut batch.events;
        let before = self.position;
        let disk = &self.shared.disk;
        let ended =
            read_lines(disk, &mut self.file, &name, &mut self.position, length, max, |event, stage| match stage {
                Stage::Ended => {
                    running.remove(&event.request);
                    events.push(event);
                }
                Stage::Running => drop(running.insert(event.request.clone(), event)),
            })?;
        batch.bytes = self.position - before;
        if ended {
            self.leave_file();
            self.earlier.pop_front();
            batch.end_file(name);
            if self.earlier.front().is_none_or(|next| next.run != batch.run) {
                batch.ends_run = true;
                batch.events.extend(self.running.drain().map(|(_, event)| interrupted(event)));
            }
        }
        Ok(batch)
    }

    /// Follows the files of this run.
    ///
    /// Memory is tried first. If it has the line at our position, the batch comes from there without reading the disk.
    /// Otherwise the reader is behind, or the disk failed and lines were written late: it reads the file up to the
    /// point where memory starts, and the next call continues from memory. Example: read up to byte 1,000, memory starts
    /// at byte 5,000: bytes 1,000 to 5,000 come from the file. A file that is not the newest one is complete, so at its
    /// end the reader moves to the next. After the last file come the lines that could not be written to any.
    fn next_of_this_run(&mut self, max: usize) -> io::Result<Option<Batch>> {
        let before = self.position;
        let mut state = self.shared.state.lock();
        state.fresh.return_unused_memory();
        let Some(segment) = state.first_unread().filter(|segment| !segment.is_newest || before < segment.length) else {
            return Ok(self.unwritten_batch(&state, max));
        };
        let fresh = state.fresh.take(segment.number, &mut self.position, max);
        let fresh_from = state.fresh.start_in(segment.number);
        drop(state);
        let mut batch = Batch { events: fresh, ..Batch::new(self.shared.run.clone()) };
        let name = file_name(&self.shared.run, segment.number);
        if self.position == before {
            let (disk, until) = (&self.shared.disk, fresh_from.unwrap_or(segment.length));
            read_lines(disk, &mut self.file, &name, &mut self.position, until, max, |event, stage| {
                // Marks are only used after their run is over.
                if stage == Stage::Ended {
                    batch.events.push(event);
                }
            })?;
        }
        batch.bytes = self.position - before;
        // After a failed sync the file may be shorter than what memory had of it.
        if self.position >= segment.length && fresh_from.is_none() && !segment.is_newest {
            batch.bytes += segment.appended.saturating_sub(self.position);
            self.leave_file();
            self.shared.state.lock().finished.pop_front();
            batch.end_file(name);
        }
        Ok(Some(batch))
    }

    fn unwritten_batch(&self, state: &State, max: usize) -> Option<Batch> {
        let mut batch = Batch::new(self.shared.run.clone());
        let mut bytes = 0;
        for line in state.unwritten_lines().take(max) {
            bytes += line.len();
            let event = line::read_with_break(line).filter(|(_, stage)| *stage == Stage::Ended);
            batch.events.extend(event.map(|(event, _)| event));
        }
        batch.unwritten = (bytes > 0).then_some(UnwrittenLines { rewrites: state.rewrites, bytes });
        batch.unwritten.map(|_| batch)
    }

    fn leave_file(&mut self) {
        (self.file, self.position) = (None, 0);
    }
}

/// The event of a call that was running when its gateway died: charged up to its last mark.
fn interrupted(event: UsageEvent) -> UsageEvent {
    let certainty = if event.certainty == Certainty::Void { Certainty::Void } else { Certainty::Estimated };
    UsageEvent { code: INTERRUPTED.into(), certainty, ..event }
}

/// Reads complete lines up to `length`, about `max` of them; returns whether the end is reached.
///
/// Zeros between lines are skipped: space that was set aside, or blocks that a power failure kept from the disk.
fn read_lines(
    disk: &Disk,
    file: &mut Option<DiskFile>,
    name: &str,
    position: &mut u64,
    length: u64,
    max: usize,
    mut take: impl FnMut(UsageEvent, Stage),
) -> io::Result<bool> {
    let file = match file {
        Some(file) => file,
        None => file.insert(disk.open(name)?),
    };
    let mut taken = 0;
    let mut block = vec![0; BLOCK];
    while *position < length && taken < max {
        let size = usize::try_from(length - *position).unwrap_or(BLOCK).min(BLOCK);
        file.read_at(&mut block[..size], *position)?;
        let before = *position;
        let mut rest = skip_zeros(&block[..size], position);
        while let Some(end) = memchr::memchr(b'\n', rest) {
            match line::read(&rest[..end]) {
                Some((event, stage)) => take(event, stage),
                None => tracing::error!(file = name, at = *position, "a line of the journal is damaged"),
            }
            *position += end as u64 + 1;
            rest = skip_zeros(&rest[end + 1..], position);
            taken += 1;
            if taken == max {
                break;
            }
        }
        if taken < max && !rest.is_empty() && *position + rest.len() as u64 == length {
            tracing::warn!(file = name, bytes = rest.len(), "dropped the incomplete last line of a journal file");
            *position = length;
        } else if *position == before {
            tracing::error!(file = name, at = before, "a part of the journal is unreadable");
            *position += size as u64;
        }
    }
    Ok(*position == length)
}

fn skip_zeros<'a>(text: &'a [u8], position: &mut u64) -> &'a [u8] {
    let zeros = text.iter().take_while(|byte| **byte == 0).count();
    *position += zeros as u64;
    &text[zeros..]
}
