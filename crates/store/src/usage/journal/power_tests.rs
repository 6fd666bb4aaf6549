//! The journal on a disk that loses power, fills up and fails, at every operation.
//!
//! A scenario is a random sequence of calls, marks, syncs, allocations and moves to the store. It is repeated with the
//! power failing at each of its operations in turn; then the journal is opened again, once with another power failure
//! in the middle, and everything is moved to the store. The store must have every event that was synced, and no event
//! that did not happen.

use super::disk::Disk;
use super::line::Stage;
use super::model_disk::{ModelDisk, ModelFile};
use super::tests::{event, run};
use super::*;
use domain::RequestId;
use domain::usage::Certainty;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};

const SEGMENT_BYTES: u64 = 5_461;
const STEPS: usize = 200;

/// What may go wrong besides the power.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Faults {
    None,
    FullDisk,
    FailingDisk,
}

/// Everything that happened, and what must survive.
#[derive(Default)]
struct History {
    marks: BTreeMap<RequestId, BTreeSet<u64>>,
    ends: BTreeMap<RequestId, UsageEvent>,
    numbers: BTreeMap<RequestId, u128>,
    synced_ends: BTreeSet<RequestId>,
    synced_marks: BTreeSet<RequestId>,
    /// The store: the first event of a request counts.
    stored: BTreeMap<RequestId, UsageEvent>,
}

struct RunningCall {
    number: u128,
    completion: u64,
    _room: JournalRoom,
}

struct World {
    rng: Rng,
    disk: ModelDisk,
    journal: Journal,
    reader: JournalReader,
    running: Vec<RunningCall>,
    next_number: u128,
    faults: Faults,
}

fn open(disk: &ModelDisk, number: u128) -> io::Result<(Journal, JournalReader)> {
    Journal::open_on(Disk::Model(disk.clone()), run(number), 1 << 20, SEGMENT_BYTES)
}

/// Moves up to `batches` to the store. Returns the requests in the order in which they came.
fn move_to_store(
    disk: &ModelDisk,
    reader: &mut JournalReader,
    batches: usize,
    history: &mut History,
) -> Vec<RequestId> {
    let mut moved = Vec::new();
    for _ in 0..batches {
        if !disk.is_on() {
            break;
        }
        let Ok(Some(batch)) = reader.next(7) else { break };
        for event in &batch.events {
            history.check(event);
            moved.push(event.request.clone());
            history.stored.entry(event.request.clone()).or_insert_with(|| event.clone());
        }
        reader.stored(&batch);
    }
    moved
}

impl History {
    /// The event happened as it is.
    fn check(&self, found: &UsageEvent) {
        if found.code == "interrupted" {
            let completion = found.tokens.completion;
            assert!(self.marks[&found.request].contains(&completion), "no mark with {completion} tokens");
            let mark = event(self.numbers[&found.request], completion);
            let certainty = Certainty::Estimated;
            assert_eq!(found, &UsageEvent { code: "interrupted".into(), certainty, ..mark });
        } else {
            assert_eq!(Some(found), self.ends.get(&found.request), "an event that did not happen");
        }
    }

    fn check_nothing_is_lost(&self) {
        for request in &self.synced_ends {
            assert_eq!(self.stored.get(request), self.ends.get(request), "a synced event is lost");
        }
        for request in &self.synced_marks {
            assert!(self.stored.contains_key(request), "a call with a synced mark is lost");
        }
    }
}

impl World {
    fn step(&mut self, history: &mut History) {
        match self.rng.u8(..20) {
            0..6 => self.begin(history),
            6..9 => self.mark(history),
            9..13 => self.end(history),
            13..15 => self.sync(history),
            15..17 => {
                self.journal.shared.allocate_ahead();
            }
            17 => {
                let batches = self.rng.usize(1..5);
                move_to_store(&self.disk, &mut self.reader, batches, history);
            }
            _ => self.go_wrong(),
        }
        let unwritten = self.journal.fill_level().unwritten;
        if self.faults != Faults::FailingDisk && self.disk.is_on() {
            assert_eq!(unwritten, 0, "an admitted call has room for its event");
        }
    }

    fn begin(&mut self, history: &mut History) {
        let Some(room) = self.journal.reserve() else { return };
        let number = self.next_number;
        self.next_number += 1;
        history.numbers.insert(event(number, 0).request, number);
        self.running.push(RunningCall { number, completion: 0, _room: room });
    }

    fn mark(&mut self, history: &mut History) {
        if self.running.is_empty() {
            return;
        }
        let index = self.rng.usize(..self.running.len());
        let call = &mut self.running[index];
        call.completion += 512;
        let marked = event(call.number, call.completion);
        history.marks.entry(marked.request.clone()).or_default().insert(call.completion);
        self.journal.mark(&marked);
    }

    fn end(&mut self, history: &mut History) {
        if self.running.is_empty() {
            return;
        }
        let index = self.rng.usize(..self.running.len());
        let call = self.running.swap_remove(index);
        let ended = event(call.number, call.completion + 3);
        history.ends.insert(ended.request.clone(), ended.clone());
        self.journal.append(ended);
    }

    /// One period of the thread. What was appended before it survives from now on, unless the journal reports a failure.
    fn sync(&mut self, history: &mut History) {
        self.journal.shared.sync_round();
        if self.disk.is_on() && !self.journal.shared.failing.load(Ordering::Relaxed) {
            history.synced_ends = history.ends.keys().cloned().collect();
            let marks = self.journal.shared.state.lock().marks();
            let lines = marks.split_inclusive(|byte| *byte == b'\n').filter_map(line::read_with_break);
            for (event, stage) in lines {
                assert_eq!(stage, Stage::Running);
                history.synced_marks.insert(event.request);
            }
        }
    }

    fn go_wrong(&mut self) {
        match (self.faults, self.rng.bool()) {
            (Faults::None, _) => {}
            (Faults::FullDisk | Faults::FailingDisk, true) => {
                let free = if self.rng.bool() { u64::MAX } else { self.rng.u64(..2 * SEGMENT_BYTES) };
                self.disk.leave_free(free);
            }
            (Faults::FullDisk, false) => self.disk.leave_free(0),
            (Faults::FailingDisk, false) if self.rng.bool() => self.disk.fail_writes(self.rng.u32(1..4)),
            (Faults::FailingDisk, false) => self.disk.fail_syncs(self.rng.u32(1..4)),
        }
    }
}

/// The extent of a scenario.
#[derive(Default)]
struct Extent {
    operations: u64,
    files: u64,
    rewritten_lines: u64,
}

/// Runs the scenario until the power fails, and moves what is left to the store.
fn play(seed: u64, faults: Faults, power_fails_at: u64) -> Extent {
    let disk = ModelDisk::new(seed);
    disk.fail_power_at(power_fails_at);
    let (mut history, mut extent) = (History::default(), Extent::default());
    if let Ok((journal, reader)) = open(&disk, 1) {
        let (rng, running) = (Rng::with_seed(seed), Vec::new());
        let mut world = World { rng, disk: disk.clone(), journal, reader, running, next_number: 1, faults };
        for _ in 0..STEPS {
            world.step(&mut history);
            if !disk.is_on() {
                break;
            }
        }
        let state = world.journal.shared.state.lock();
        extent.files = state.current.as_ref().map_or(0, |segment| segment.number);
        extent.rewritten_lines = state.rewrites;
    }
    extent.operations = disk.operations();
    let disk = disk.lose_power();
    // The power fails again while the journal is read, and once more it is read to the end.
    disk.fail_power_at(power_fails_at % 7);
    if let Ok((_journal, mut reader)) = open(&disk, 2) {
        move_to_store(&disk, &mut reader, usize::MAX, &mut history);
    }
    let disk = disk.lose_power();
    let (_journal, mut reader) = open(&disk, 3).unwrap();
    let moved = move_to_store(&disk, &mut reader, usize::MAX, &mut history);
    if faults != Faults::FailingDisk {
        let distinct: BTreeSet<&RequestId> = moved.iter().collect();
        assert_eq!(distinct.len(), moved.len(), "an event is in the journal twice");
    }
    history.check_nothing_is_lost();
    extent
}

/// Returns the extent of all scenarios together.
fn play_every_cut(faults: Faults) -> Extent {
    let mut total = Extent::default();
    for seed in 0..12 {
        let extent = play(seed, faults, u64::MAX);
        for power_fails_at in 0..extent.operations {
            let played = std::panic::catch_unwind(|| play(seed, faults, power_fails_at));
            assert!(played.is_ok(), "seed {seed}, power fails at operation {power_fails_at}");
        }
        total.operations += extent.operations;
        total.files += extent.files;
        total.rewritten_lines += extent.rewritten_lines;
    }
    assert!(total.operations > 500 && total.files > 12, "{} operations, {} files", total.operations, total.files);
    total
}

#[test]
fn a_power_failure_loses_nothing_that_was_synced() {
    play_every_cut(Faults::None);
}

#[test]
fn a_power_failure_on_a_full_disk_loses_nothing_that_was_synced() {
    play_every_cut(Faults::FullDisk);
}

#[test]
fn a_power_failure_on_a_failing_disk_loses_nothing_that_was_synced() {
    let total = play_every_cut(Faults::FailingDisk);
    assert!(total.rewritten_lines > 24, "{} lines are written again", total.rewritten_lines);
}

/// How much of a file of 4 KiB is there after a power failure, in sectors, and whether its name is.
fn survivors(seed: u64, prepare: impl Fn(&ModelDisk, &ModelFile)) -> Option<usize> {
    let disk = ModelDisk::new(seed);
    let file = disk.create("file").unwrap();
    prepare(&disk, &file);
    let disk = disk.lose_power();
    let (_, length) = disk.list().unwrap().into_iter().next()?;
    let mut content = vec![0; usize::try_from(length).unwrap()];
    disk.open("file").unwrap().read_at(&mut content, 0).unwrap();
    Some(content.chunks(512).filter(|sector| sector.iter().all(|byte| *byte == b'x')).count())
}

#[test]
fn the_model_of_a_disk_loses_what_was_not_synced() {
    let found = |prepare: fn(&ModelDisk, &ModelFile)| -> BTreeSet<Option<usize>> {
        (0..200).map(|seed| survivors(seed, prepare)).collect()
    };
    let written = found(|_, file| file.write_at(&[b'x'; 4096], 0).unwrap());
    assert!([None, Some(0), Some(1), Some(5)].iter().all(|found| written.contains(found)), "{written:?}");
    let synced = found(|disk, file| {
        file.write_at(&[b'x'; 4096], 0).unwrap();
        file.sync().unwrap();
        disk.sync_names().unwrap();
    });
    assert_eq!(synced, BTreeSet::from([Some(8)]));
    let without_its_name = found(|_, file| {
        file.write_at(&[b'x'; 4096], 0).unwrap();
        file.sync().unwrap();
    });
    assert_eq!(without_its_name, BTreeSet::from([None, Some(8)]));
    // The system reports lost data once: the next sync succeeds without it.
    let after_a_failed_sync = found(|disk, file| {
        file.write_at(&[b'x'; 4096], 0).unwrap();
        disk.fail_syncs(1);
        assert!(file.sync().is_err());
        file.sync().unwrap();
        disk.sync_names().unwrap();
    });
    assert!(after_a_failed_sync.contains(&Some(3)), "{after_a_failed_sync:?}");
}
