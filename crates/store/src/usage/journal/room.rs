//! Space on disk that is set aside before it is needed, so that a full disk rejects calls instead of losing their events.
//!
//! Files of the journal are allocated ahead of their use. A call is admitted only if the allocated space has room for its
//! longest possible event beside those of all running calls; the end of the call gives back what its event did not need.
//! Both are additions to a counter. A thread allocates the next file when less than a file is free.
//!
//! Example: files of 8 MiB, two of them empty, and 2,000 running calls. 2,000 × 2 KiB are reserved, 12 MiB are free. The
//! disk fills up: events are still written to the two files, and calls are rejected once the free space falls to the part that
//! marks of running calls may use.

use super::sleeper::Sleeper;
use super::{MAX_LINE_BYTES, Segment, Shared, State, file_name};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

const IDLE_PERIOD: Duration = Duration::from_secs(5);
const RETRY_PERIOD: Duration = Duration::from_millis(100);
/// The part of a file that only marks may use: new calls are rejected before there is no room for marks.
const MARKS_SHARE: u64 = 8;
/// Most bytes of lines that are not synced. A copy of them is in memory, so calls are rejected beyond it.
const MAX_UNSYNCED_BYTES: usize = 64 << 20;

/// Room in the journal for the event of one call. To be dropped after the event is appended.
pub struct JournalRoom {
    shared: Arc<Shared>,
}

impl Drop for JournalRoom {
    fn drop(&mut self) {
        self.shared.room.reserved.fetch_sub(MAX_LINE_BYTES, Ordering::SeqCst);
    }
}

#[derive(Default)]
pub(super) struct Room {
    /// Bytes of lines that fit into allocated files.
    free: AtomicU64,
    /// The part of them that belongs to running calls.
    reserved: AtomicU64,
    /// The thread that allocates. Awake if it was woken, or knows that there is too little room.
    pub(super) allocator: Sleeper,
    /// The last allocation failed.
    is_failing: AtomicBool,
}

impl Room {
    /// Bytes that are neither used nor reserved.
    pub(super) fn unreserved(&self) -> u64 {
        self.free.load(Ordering::SeqCst).saturating_sub(self.reserved.load(Ordering::SeqCst))
    }
}

/// Starts the thread that allocates files. It ends when the journal is dropped.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let journal = Arc::downgrade(shared);
    let builder = std::thread::Builder::new().name("journal-room".into());
    let thread = builder.spawn(move || allocation_loop(&journal))?;
    shared.room.allocator.is(thread.thread());
    Ok(())
}

fn allocation_loop(journal: &Weak<Shared>) {
    while let Some(pause) = journal.upgrade().map(|shared| shared.allocate_ahead()) {
        std::thread::park_timeout(pause);
    }
}

impl Shared {
    /// Room for the event of one more call; `None` if there is none.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<JournalRoom> {
        let reserved = self.room.reserved.fetch_add(MAX_LINE_BYTES, Ordering::SeqCst) + MAX_LINE_BYTES;
        let room = JournalRoom { shared: Arc::clone(self) };
        let left = self.room.free.load(Ordering::SeqCst).checked_sub(reserved);
        if left.is_none_or(|left| left < self.segment_bytes) {
            self.room.allocator.wake();
        }
        left.filter(|left| *left >= self.room_of_marks()).map(|_| room)
    }

    pub(super) fn has_unreserved_room(&self) -> bool {
        self.room.unreserved() >= self.room_of_marks() + MAX_LINE_BYTES
    }

    fn room_of_marks(&self) -> u64 {
        self.segment_bytes / MARKS_SHARE
    }

    /// Reserves room for a mark of `bytes` and for carrying it to later files. `grown` is the size of all marks with it.
    /// Returns whether there is room.
    pub(super) fn reserve_mark(&self, state: &State, bytes: u64, grown: u64) -> bool {
        let before = self.room.free.load(Ordering::SeqCst);
        let Some(after) = self.free_bytes(state, grown).checked_sub(bytes) else { return false };
        // Calls reserve first and read `free` then; here it is the other way round, so one of the two sees the other.
        self.room.free.store(after, Ordering::SeqCst);
        let fits = grown <= self.segment_bytes / 2 && self.room.reserved.load(Ordering::SeqCst) <= after;
        if !fits {
            self.room.free.store(before, Ordering::SeqCst);
        }
        fits
    }

    pub(super) fn update_room(&self, state: &State) {
        self.room.free.store(self.free_bytes(state, state.marks_bytes), Ordering::SeqCst);
    }

    fn free_bytes(&self, state: &State, marks: u64) -> u64 {
        if state.unsynced_bytes() > MAX_UNSYNCED_BYTES { 0 } else { self.allocated_bytes(state, marks) }
    }

    /// Bytes of lines that fit for certain. A line is never split, so the last bytes of each file may stay unused; a new
    /// file starts with the marks of running calls.
    fn allocated_bytes(&self, state: &State, marks: u64) -> u64 {
        let current = state.current.as_ref();
        let in_current =
            current.map_or(0, |segment| self.segment_bytes.saturating_sub(segment.length + MAX_LINE_BYTES));
        let in_spare = self.segment_bytes.saturating_sub(marks + MAX_LINE_BYTES);
        in_current + in_spare * state.spares.len() as u64
    }

    /// Allocates files until one is free beyond what is reserved. Returns when to try again.
    pub(super) fn allocate_ahead(&self) -> Duration {
        while self.needs_segment() {
            if let Err(error) = self.allocate_segment() {
                if !self.room.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(%error, "cannot set space aside for the journal: calls are rejected when the rest is used");
                }
                return RETRY_PERIOD;
            }
            if self.room.is_failing.swap(false, Ordering::Relaxed) {
                tracing::info!("there is space for the journal again");
            }
        }
        self.room.allocator.rest();
        IDLE_PERIOD
    }

    fn needs_segment(&self) -> bool {
        let state = self.state.lock();
        let spare = state.spares.len() as u64 * self.segment_bytes;
        let needed = self.room.reserved.load(Ordering::SeqCst) + self.segment_bytes;
        let is_bounded = spare < self.max_bytes.max(2 * self.segment_bytes);
        !state.is_closed && is_bounded && self.allocated_bytes(&state, state.marks_bytes) < needed
    }

    /// Adds an empty file. Its name is synced before it is used.
    pub(super) fn allocate_segment(&self) -> io::Result<()> {
        let number = self.state.lock().last_number + 1;
        let name = file_name(&self.run, number);
        let created = self.disk.create(&name).and_then(|file| {
            file.allocate(self.segment_bytes)?;
            self.disk.sync_names()?;
            Ok(file)
        });
        let file = created.inspect_err(|_| drop(self.disk.remove(&name)))?;
        let mut state = self.state.lock();
        if state.is_closed {
            return self.disk.remove(&name);
        }
        state.last_number = number;
        state.spares.push_back(Segment { file: Arc::new(file), number, length: 0, synced: 0 });
        self.update_room(&state);
        Ok(())
    }
}
