//! The files of a run and the lines that are not safe on disk yet.

use super::disk::DiskFile;
use super::fresh::FreshLines;
use domain::RequestId;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Buffers of unsynced lines keep this much memory between syncs.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct State {
    /// The file that lines are written to; `None` before the first line.
    pub(super) current: Option<Segment>,
    /// Allocated files without lines.
    pub(super) spares: VecDeque<Segment>,
    pub(super) last_number: u64,
    /// Earlier files of this run that the reader has not left yet.
    pub(super) finished: VecDeque<FinishedSegment>,
    /// Lines that no successful sync covers, oldest first: those of the sync that is running, and those after it.
    pub(super) syncing: Vec<u8>,
    pub(super) unsynced: Vec<u8>,
    /// Bytes at the end of `unsynced` that could not be written.
    pub(super) unwritten: usize,
    /// How often unwritten lines were written after all.
    pub(super) rewrites: u64,
    /// A sync failed, and the lines that it was to cover are not written elsewhere yet.
    pub(super) sync_failed: bool,
    /// The last mark of every running call; a new file starts with them.
    running: HashMap<RequestId, Vec<u8>>,
    pub(super) marks_bytes: u64,
    pub(super) fresh: FreshLines,
    /// The run is over, and its files are removed.
    pub(super) is_closed: bool,
}

/// A file of this run.
pub(super) struct Segment {
    pub(super) file: Arc<DiskFile>,
    pub(super) number: u64,
    pub(super) length: u64,
    /// Bytes at the start that survive a power failure.
    pub(super) synced: u64,
}

/// A file that is not written to any more.
pub(super) struct FinishedSegment {
    pub(super) number: u64,
    pub(super) length: u64,
    pub(super) synced: u64,
    /// Bytes that were appended to it. More than `length` if its end was written again to another file.
    pub(super) appended: u64,
    /// Open until it is synced.
    file: Option<Arc<DiskFile>>,
}

/// A file to sync, and how much of it that will cover.
pub(super) struct PendingSync {
    pub(super) file: Arc<DiskFile>,
    number: u64,
    length: u64,
}

/// The part of this run that the reader continues with.
pub(super) struct UnreadSegment {
    pub(super) number: u64,
    pub(super) length: u64,
    pub(super) appended: u64,
    pub(super) is_newest: bool,
}

impl State {
    pub(super) fn unsynced_bytes(&self) -> usize {
        self.syncing.len() + self.unsynced.len()
    }

    /// The lines that could not be written, each with its line break.
    pub(super) fn unwritten_lines(&self) -> impl Iterator<Item = &[u8]> {
        let start = self.unsynced.len() - self.unwritten;
        self.unsynced[start..].split_inclusive(|byte| *byte == b'\n')
    }

    /// Removes the first `bytes` of the unwritten lines, which are stored.
    pub(super) fn drop_unwritten(&mut self, bytes: usize) {
        let start = self.unsynced.len() - self.unwritten;
        self.unsynced.drain(start..start + bytes);
        self.unwritten -= bytes;
    }

    /// Removes the last `bytes` of the unwritten lines.
    pub(super) fn drop_last_unwritten(&mut self, bytes: usize) {
        self.unsynced.truncate(self.unsynced.len() - bytes);
        self.unwritten -= bytes;
    }

    pub(super) fn marks(&self) -> Vec<u8> {
        self.running.values().flatten().copied().collect()
    }

    /// The size of all marks if this one replaces the last mark of its call.
    pub(super) fn marks_bytes_with(&self, request: &RequestId, line: &[u8]) -> u64 {
        self.marks_bytes - self.running.get(request).map_or(0, |mark| mark.len() as u64) + line.len() as u64
    }

    pub(super) fn remember_mark(&mut self, request: &RequestId, line: Vec<u8>) {
        self.marks_bytes = self.marks_bytes_with(request, &line);
        self.running.insert(request.clone(), line);
    }

    pub(super) fn forget_mark(&mut self, request: &RequestId) {
        if !self.running.is_empty()
            && let Some(mark) = self.running.remove(request)
        {
            self.marks_bytes -= mark.len() as u64;
        }
    }

    pub(super) fn continue_in(&mut self, segment: Segment) {
        if let Some(Segment { file, number, length, synced }) = self.current.replace(segment) {
            let file = (length > synced).then_some(file);
            self.finished.push_back(FinishedSegment { number, length, synced, appended: length, file });
        }
    }

    /// Whether earlier files may be removed: the current one has synced what it took over from them, the marks of
    /// running calls and the end of a call whose mark is in them.
    pub(super) fn may_remove_earlier(&self) -> bool {
        self.current.as_ref().is_none_or(|segment| segment.length == 0 || segment.synced > 0)
    }

    pub(super) fn first_unread(&self) -> Option<UnreadSegment> {
        let newest = self.current.as_ref();
        let finished = self.finished.front().map(|segment| {
            let FinishedSegment { number, length, appended, .. } = *segment;
            UnreadSegment { number, length, appended, is_newest: false }
        });
        finished.or_else(|| {
            newest.map(|segment| {
                let Segment { number, length, .. } = *segment;
                UnreadSegment { number, length, appended: length, is_newest: true }
            })
        })
    }

    /// Begins a sync of all lines that are written. To be followed by [`Self::sync_succeeded`], or by
    /// [`Self::abandon_unsynced`] if it fails.
    pub(super) fn begin_sync(&mut self) -> Vec<PendingSync> {
        let finished = self.finished.iter().filter_map(|segment| {
            let file = Arc::clone(segment.file.as_ref()?);
            Some(PendingSync { file, number: segment.number, length: segment.length })
        });
        let current = self.current.iter().filter(|segment| segment.length > segment.synced).map(|segment| {
            PendingSync { file: Arc::clone(&segment.file), number: segment.number, length: segment.length }
        });
        let files: Vec<PendingSync> = finished.chain(current).collect();
        debug_assert!(self.syncing.is_empty(), "one sync at a time");
        if self.unwritten == 0 {
            std::mem::swap(&mut self.syncing, &mut self.unsynced);
        } else {
            let written = self.unsynced.len() - self.unwritten;
            self.syncing.extend(self.unsynced.drain(..written));
        }
        files
    }

    pub(super) fn sync_succeeded(&mut self, files: &[PendingSync]) {
        self.syncing.clear();
        self.syncing.shrink_to(KEPT_BUFFER_BYTES);
        for PendingSync { number, length, .. } in files {
            for segment in self.finished.iter_mut().filter(|segment| segment.number == *number) {
                segment.synced = *length;
                if segment.synced == segment.length {
                    segment.file = None;
                }
            }
            for segment in self.current.iter_mut().filter(|segment| segment.number == *number) {
                segment.synced = *length;
            }
        }
    }

    /// Treats all lines that are not synced as not written, and forgets where they were. Returns how many bytes of them
    /// were in files. Marks of running calls are not among them: a new file starts with those.
    pub(super) fn abandon_unsynced(&mut self) -> u64 {
        for segment in self.finished.iter_mut().filter(|segment| segment.synced < segment.length) {
            segment.length = segment.synced;
            segment.file = None;
        }
        self.fresh.clear();
        let written = self.unsynced_bytes() - self.unwritten;
        self.syncing.append(&mut self.unsynced);
        std::mem::swap(&mut self.syncing, &mut self.unsynced);
        self.unwritten = self.unsynced.len();
        self.rewrites += 1;
        written as u64
    }
}
