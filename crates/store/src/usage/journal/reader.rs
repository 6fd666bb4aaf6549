//! Reads the journal, oldest line first, and removes files that are stored.
//!
//! Order: the files of earlier runs, then the files of this run. Example: the folder holds `run_a-00000001.jsonl` of a run
//! that was killed and `run_b-00000001.jsonl` of this run. The reader returns the events of `run_a`; at its end, calls
//! that have marks but no end become events with code `interrupted`, and the batch has `ends_run`, so the leases of that
//! run can be released. Then it follows `run_b`, taking events from memory as long as it keeps up.

use super::line::{self, Stage};
use super::{Shared, file_name};
use domain::usage::Certainty;
use domain::{RequestId, RunId, UsageEvent};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
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
    path: PathBuf,
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

/// The files of all runs except this one, in the order of their creation.
pub(super) fn find_earlier_files(folder: &Path, this: &RunId) -> io::Result<VecDeque<EarlierFile>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(run) = name.to_str().and_then(run_of).filter(|run| run != this) else { continue };
        found.push(EarlierFile { run, path: entry.path(), bytes: entry.metadata()?.len() });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found.into())
}

/// Events of one run that are stored together.
#[derive(Debug)]
pub struct Batch {
    pub run: RunId,
    pub events: Vec<UsageEvent>,
    /// The run is over, and this is its last batch.
    pub ends_run: bool,
    bytes: u64,
    /// Files that are fully read with this batch.
    done: Vec<PathBuf>,
}

impl Batch {
    /// The batch ends with its file, and another file follows.
    pub fn is_followed(&self) -> bool {
        !self.done.is_empty()
    }
}

/// The only reader of a journal.
pub struct JournalReader {
    shared: Arc<Shared>,
    earlier: VecDeque<EarlierFile>,
    /// The number of this run's file that is being read, after all earlier runs.
    number: u64,
    /// Bytes of the current file that have been read.
    position: u64,
    file: Option<File>,
    /// The last mark of each call of the current earlier run that has not ended so far.
    running: HashMap<RequestId, UsageEvent>,
}

impl JournalReader {
    pub(super) fn new(shared: Arc<Shared>, earlier: VecDeque<EarlierFile>) -> Self {
        Self { shared, earlier, number: 1, position: 0, file: None, running: HashMap::new() }
    }

    /// The next batch of about `max` events; `None` if there is nothing new.
    pub fn next(&mut self, max: usize) -> io::Result<Option<Batch>> {
        match self.earlier.front() {
            Some(_) => self.next_of_earlier(max).map(Some),
            None => self.next_of_this_run(max),
        }
    }

    /// The batch is stored: frees its space and removes its files.
    pub fn stored(&mut self, batch: &Batch) {
        self.shared.moved.fetch_add(batch.bytes, Ordering::Relaxed);
        for path in &batch.done {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(%error, file = %path.display(), "cannot remove a stored file of the journal");
            }
        }
    }

    /// Writes an event that the store rejects to the quarantine file, for an operator to look at.
    pub fn quarantine(&self, event: &UsageEvent) {
        let path = self.shared.folder.join(QUARANTINE);
        let file = File::options().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(&line::encode(event, Stage::Ended)));
        if let Err(error) = written {
            tracing::error!(%error, file = %path.display(), "cannot write a quarantined usage event");
        }
    }

    /// Removes the last file of this run if all of it is stored. Nothing may be appended afterwards.
    pub fn close(self) {
        if self.earlier.is_empty() && self.shared.waiting_bytes() == 0 {
            let _ = std::fs::remove_file(self.shared.folder.join(file_name(&self.shared.run, self.number)));
        }
    }

    fn next_of_earlier(&mut self, max: usize) -> io::Result<Batch> {
        let earlier = self.earlier.front().expect("the caller checked it");
        let (run, path, length) = (earlier.run.clone(), earlier.path.clone(), earlier.bytes);
        let mut batch = Batch { run, events: Vec::new(), ends_run: false, bytes: 0, done: Vec::new() };
        let running = &mut self.running;
        let events = &mut batch.events;
        let before = self.position;
        let ended = read_lines(&mut self.file, &path, &mut self.position, length, max, |event, stage| match stage {
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
            batch.done.push(path);
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
    /// Otherwise the reader is behind, or the disk was full and lines were written late: it reads the file up to the
    /// point where memory starts, and the next call continues from memory. Example: read up to byte 1,000, memory starts
    /// at byte 5,000: bytes 1,000 to 5,000 come from the file. A file that is not the newest one is complete, so at its
    /// end the reader moves to the next.
    fn next_of_this_run(&mut self, max: usize) -> io::Result<Option<Batch>> {
        let before = self.position;
        let (newest, length, fresh, fresh_from) = {
            let mut state = self.shared.state.lock();
            let fresh = state.fresh.take(self.number, &mut self.position, max);
            (state.number, state.length, fresh, state.fresh.start_in(self.number))
        };
        let path = self.shared.folder.join(file_name(&self.shared.run, self.number));
        let is_newest = newest == self.number;
        let length = if is_newest { length } else { std::fs::metadata(&path)?.len() };
        if is_newest && before == length {
            return Ok(None);
        }
        let run = self.shared.run.clone();
        let mut batch = Batch { run, events: fresh, ends_run: false, bytes: 0, done: Vec::new() };
        if self.position == before {
            let until = fresh_from.unwrap_or(length);
            read_lines(&mut self.file, &path, &mut self.position, until, max, |event, stage| {
                // Marks are only used after their run is over.
                if stage == Stage::Ended {
                    batch.events.push(event);
                }
            })?;
        }
        batch.bytes = self.position - before;
        // After a failed sync the file may be shorter than what memory had of it.
        if self.position >= length && fresh_from.is_none() && !is_newest {
            self.leave_file();
            self.number += 1;
            batch.done.push(path);
        }
        Ok(Some(batch))
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
fn read_lines(
    file: &mut Option<File>,
    path: &Path,
    position: &mut u64,
    length: u64,
    max: usize,
    mut take: impl FnMut(UsageEvent, Stage),
) -> io::Result<bool> {
    let file = match file {
        Some(file) => file,
        None => file.insert(File::open(path)?),
    };
    let mut taken = 0;
    let mut block = vec![0; BLOCK];
    while *position < length && taken < max {
        let size = usize::try_from(length - *position).unwrap_or(BLOCK).min(BLOCK);
        file.read_exact_at(&mut block[..size], *position)?;
        let mut rest = &block[..size];
        let before = *position;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            match line::read(&rest[..end]) {
                Some((event, stage)) => take(event, stage),
                None => tracing::error!(file = %path.display(), at = *position, "a line of the journal is damaged"),
            }
            *position += end as u64 + 1;
            rest = &rest[end + 1..];
            taken += 1;
            if taken == max {
                break;
            }
        }
        if taken < max && !rest.is_empty() && *position + rest.len() as u64 == length {
            tracing::warn!(file = %path.display(), bytes = rest.len(), "dropped the incomplete last line of a journal file");
            *position = length;
        } else if *position == before {
            tracing::error!(file = %path.display(), at = before, "a part of the journal is unreadable");
            *position += size as u64;
        }
    }
    Ok(*position == length)
}
