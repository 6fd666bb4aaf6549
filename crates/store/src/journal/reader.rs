//! Reads the journal back, oldest first, and removes what the store has.

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

/// Read at once; no line is as long.
const PIECE: usize = 256 << 10;
/// The code of a call whose gateway died.
const INTERRUPTED: &str = "interrupted";

/// Where events are kept that the store refuses.
pub(super) const REFUSED: &str = "refused.jsonl";

/// A file of an earlier run.
pub(super) struct Earlier {
    run: RunId,
    path: PathBuf,
    pub(super) bytes: u64,
}

/// The files of all runs, in the order in which they were begun.
pub(super) fn find_all_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_ours = path.file_name().and_then(|name| run_of(name.to_str()?)).is_some();
        found.extend(is_ours.then_some(path));
    }
    found.sort();
    Ok(found)
}

/// The run that a file of this name belongs to.
fn run_of(name: &str) -> Option<RunId> {
    let (run, _) = name.strip_suffix(".jsonl")?.split_once('-')?;
    RunId::parse(run).ok()
}

/// The files of other runs than this one, in the order in which they were begun.
pub(super) fn find_files(folder: &Path, this: &RunId) -> io::Result<VecDeque<Earlier>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(run) = name.to_str().and_then(run_of).filter(|run| run != this) else { continue };
        found.push(Earlier { run, path: entry.path(), bytes: entry.metadata()?.len() });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found.into())
}

/// Events of one run that are to be stored together.
#[derive(Debug)]
pub struct Batch {
    pub run: RunId,
    pub events: Vec<UsageEvent>,
    /// The run is over, and nothing of it is left once this is stored.
    pub ends_run: bool,
    bytes: u64,
    /// Files that hold nothing else.
    done: Vec<PathBuf>,
}

impl Batch {
    /// It ends where its file does, and there is another one behind it.
    pub fn is_followed(&self) -> bool {
        !self.done.is_empty()
    }
}

/// The one reader of a journal.
pub struct JournalReader {
    shared: Arc<Shared>,
    earlier: VecDeque<Earlier>,
    /// The number of this run's file that is read now, once earlier runs are done.
    number: u64,
    /// How much of the present file was read.
    position: u64,
    file: Option<File>,
    /// Calls of the earlier run that is read now which have not ended so far.
    running: HashMap<RequestId, UsageEvent>,
}

impl JournalReader {
    pub(super) fn new(shared: Arc<Shared>, earlier: VecDeque<Earlier>) -> Self {
        Self { shared, earlier, number: 1, position: 0, file: None, running: HashMap::new() }
    }

    /// The next events, about `most` of them. `None` when there is nothing new.
    pub fn next(&mut self, most: usize) -> io::Result<Option<Batch>> {
        match self.earlier.front() {
            Some(_) => self.next_of_earlier(most).map(Some),
            None => self.next_of_this_run(most),
        }
    }

    /// The store has the batch; its files can go.
    pub fn stored(&mut self, batch: &Batch) {
        self.shared.moved.fetch_add(batch.bytes, Ordering::Relaxed);
        for path in &batch.done {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(%error, file = %path.display(), "a file of the journal that is done cannot be removed");
            }
        }
    }

    /// Keeps an event that the store refuses where nobody reads it but a person.
    pub fn set_aside(&self, event: &UsageEvent) {
        let path = self.shared.folder.join(REFUSED);
        let file = File::options().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(&line::written(event, Stage::Ended)));
        if let Err(error) = written {
            tracing::error!(%error, file = %path.display(), "a refused usage event cannot be kept");
        }
    }

    /// Removes this run's last file, if the store has all of it. Nothing may be appended any more.
    pub fn close(self) {
        if self.earlier.is_empty() && self.shared.waiting_bytes() == 0 {
            let _ = std::fs::remove_file(self.shared.folder.join(file_name(&self.shared.run, self.number)));
        }
    }

    fn next_of_earlier(&mut self, most: usize) -> io::Result<Batch> {
        let earlier = self.earlier.front().expect("the caller saw it");
        let (run, path, length) = (earlier.run.clone(), earlier.path.clone(), earlier.bytes);
        let mut batch = Batch { run, events: Vec::new(), ends_run: false, bytes: 0, done: Vec::new() };
        let running = &mut self.running;
        let events = &mut batch.events;
        let before = self.position;
        let ended = read_lines(&mut self.file, &path, &mut self.position, length, most, |event, stage| match stage {
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

    fn next_of_this_run(&mut self, most: usize) -> io::Result<Option<Batch>> {
        let before = self.position;
        let (newest, length, fresh, fresh_from) = {
            let mut state = self.shared.state();
            let fresh = state.fresh.take(self.number, &mut self.position, most);
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
            // The reader is behind what memory holds, or the lines had to wait for the disk.
            let until = fresh_from.unwrap_or(length);
            read_lines(&mut self.file, &path, &mut self.position, until, most, |event, stage| {
                // A mark means something only when its run is over.
                if stage == Stage::Ended {
                    batch.events.push(event);
                }
            })?;
        }
        batch.bytes = self.position - before;
        if self.position == length && !is_newest {
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

/// What a call had used when its gateway died.
fn interrupted(event: UsageEvent) -> UsageEvent {
    let certainty = if event.certainty == Certainty::Void { Certainty::Void } else { Certainty::Estimated };
    UsageEvent { code: INTERRUPTED.into(), certainty, ..event }
}

/// Reads whole lines up to `length`, about `most` of them; tells whether the end is reached.
fn read_lines(
    file: &mut Option<File>,
    path: &Path,
    position: &mut u64,
    length: u64,
    most: usize,
    mut take: impl FnMut(UsageEvent, Stage),
) -> io::Result<bool> {
    let file = match file {
        Some(file) => file,
        None => file.insert(File::open(path)?),
    };
    let mut taken = 0;
    let mut piece = vec![0; PIECE];
    while *position < length && taken < most {
        let wanted = usize::try_from(length - *position).unwrap_or(PIECE).min(PIECE);
        file.read_exact_at(&mut piece[..wanted], *position)?;
        let mut rest = &piece[..wanted];
        let before = *position;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            match line::read(&rest[..end]) {
                Some((event, stage)) => take(event, stage),
                None => tracing::error!(file = %path.display(), at = *position, "a line of the journal is damaged"),
            }
            *position += end as u64 + 1;
            rest = &rest[end + 1..];
            taken += 1;
            if taken == most {
                break;
            }
        }
        if taken < most && !rest.is_empty() && *position + rest.len() as u64 == length {
            tracing::warn!(file = %path.display(), bytes = rest.len(), "the torn end of a file of the journal is cut");
            *position = length;
        } else if *position == before {
            tracing::error!(file = %path.display(), at = before, "a part of the journal is no text of ours");
            *position += wanted as u64;
        }
    }
    Ok(*position == length)
}
