use super::disk::Disk;
use super::model_disk::ModelDisk;
use super::*;
use domain::budget::ReservedIn;
use domain::usage::{Actor, CallOrigin, CallSurface, Certainty, Tokens};
use domain::{
    CallClass, Caller, EndUser, EndUserId, KeyId, ModelId, NanoUsd, OrganizationId, Price, RequestId, Timestamp,
    WorkspaceId,
};
use std::io::Write;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(super) fn run(number: u128) -> RunId {
    RunId::new(Timestamp::from_millis(NOW.millis() + i64::try_from(number).unwrap()), number)
}

pub(super) fn event(number: u128, completion: u64) -> UsageEvent {
    UsageEvent {
        request: RequestId::new(NOW, number),
        caller: Arc::new(Caller::new(
            OrganizationId::new(NOW, 1),
            WorkspaceId::new(NOW, 2),
            Actor::Key(KeyId::new(NOW, 3)),
        )),
        model: ModelId::parse("acme/tiny").unwrap(),
        replica: "127.0.0.1:9001".into(),
        streamed: true,
        status: 200,
        code: "".into(),
        tokens: Tokens { prompt: 7, completion, cached: 2 },
        certainty: Certainty::Exact,
        price: Price { input_per_1m: NanoUsd::from_nanos(1), ..Price::default() },
        cost: NanoUsd::from_nanos(9),
        started_at: NOW,
        first_byte_micros: Some(12),
        duration_micros: 34,
        held_micros: None,
        sent_micros: Some(700),
        origin: CallOrigin {
            surface: Some(CallSurface::Messages),
            requested_model: Some("claude-x".into()),
            batch: None,
            class: CallClass::Flex,
        },
        failovers: 2,
        end_user: None,
        reserved_in: ReservedIn::from_bits(5),
    }
}

/// Reads everything, sorted by request, with the runs that ended.
fn drain(reader: &mut JournalReader) -> (Vec<UsageEvent>, Vec<RunId>) {
    let (mut events, mut ended) = (Vec::new(), Vec::new());
    while let Some(batch) = reader.next(10).unwrap() {
        reader.stored(&batch);
        ended.extend(batch.ends_run.then(|| batch.run.clone()));
        events.extend(batch.events);
    }
    events.sort_by(|one, other| one.request.cmp(&other.request));
    (events, ended)
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// A journal of small files without threads.
fn open(disk: &ModelDisk, number: u128) -> (Journal, JournalReader) {
    Journal::open_on(Disk::Model(disk.clone()), run(number), 1 << 20, 5_461).unwrap()
}

/// The names of the files that have lines.
fn used_files(disk: &ModelDisk) -> Vec<String> {
    let files = disk.list().unwrap().into_iter().filter(|(_, bytes)| *bytes > 0);
    files.map(|(name, _)| name).collect()
}

#[test]
fn an_event_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::folder(folder.path()).unwrap();
    let (journal, mut reader) = Journal::open_on(disk, run(1), 1 << 20, 64 << 10).unwrap();
    let written = event(1, 5);
    journal.append(written.clone());
    assert!(journal.waiting_bytes() > 100);
    let (events, ended) = drain(&mut reader);
    assert_eq!(events, [written]);
    assert!(ended.is_empty(), "this run has not ended");
    assert_eq!(journal.waiting_bytes(), 0);
    assert!(reader.next(10).unwrap().is_none());
    drop(journal);
    reader.close();
    assert_eq!(files(folder.path()), 0);
}

/// Room as soon as the thread has allocated it.
fn wait_for_room(journal: &Journal) -> JournalRoom {
    loop {
        if let Some(room) = journal.reserve() {
            return room;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_reader_that_fell_behind_continues_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 64 << 20).unwrap();
    let written: Vec<UsageEvent> = (0..80_000).map(|number| event(number, 5)).collect();
    for (number, event) in written.iter().enumerate() {
        let _room = wait_for_room(&journal);
        if number % 1_000 == 7 {
            journal.mark(event);
        }
        journal.append(event.clone());
    }
    let mut events = Vec::new();
    for _ in 0..15 {
        let batch = reader.next(1_000).unwrap().unwrap();
        reader.stored(&batch);
        events.extend(batch.events);
    }
    // The reader keeps up from here on.
    journal.append(event(80_000, 5));
    events.extend(drain(&mut reader).0);
    assert_eq!(journal.waiting_bytes(), 0);
    let expected = [written, vec![event(80_000, 5)]].concat();
    assert!(events == expected, "each event once, in order: {} of {}", events.len(), expected.len());
}

#[test]
fn stored_files_are_removed_but_marks_of_running_calls_are_kept() {
    let disk = ModelDisk::new(1);
    let (journal, mut reader) = open(&disk, 1);
    journal.mark(&event(999, 512));
    for number in 0..200 {
        journal.shared.allocate_ahead();
        journal.append(event(number, 1));
        journal.shared.sync_round();
        if number % 50 == 0 {
            drain(&mut reader);
        }
    }
    assert_eq!(drain(&mut reader).0.len(), 49, "the other 151 were read before");
    assert_eq!(used_files(&disk).len(), 1, "only the newest is left");
    drop((journal, reader));

    let (_journal, mut reader) = open(&disk, 2);
    let (events, ended) = drain(&mut reader);
    let last = events.iter().find(|found| found.request == event(999, 0).request).unwrap();
    assert_eq!((last.tokens.completion, &*last.code, last.certainty), (512, "interrupted", Certainty::Estimated));
    assert_eq!(ended, [run(1)]);
}

#[test]
fn a_run_that_died_is_replayed_without_its_incomplete_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(folder.path(), run(1), 1 << 20).unwrap();
    journal.mark(&event(1, 512));
    journal.mark(&event(1, 1_024));
    journal.append(event(2, 5));
    journal.mark(&event(3, 512));
    journal.append(event(3, 600));
    let path = folder.path().join(file_name(&run(1), 1));
    let torn = line::encode(&event(4, 5), Stage::Ended);
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&torn[..torn.len() - 9]).unwrap();
    drop(journal);

    let (journal, mut reader) = Journal::open(folder.path(), run(2), 1 << 20).unwrap();
    journal.append(event(5, 5));
    let (events, ended) = drain(&mut reader);
    let found: Vec<u64> = events.iter().map(|event| event.tokens.completion).collect();
    assert_eq!(found, [1_024, 5, 600, 5]);
    assert_eq!(ended, [run(1)]);
    assert_eq!(journal.waiting_bytes(), 0);
    assert!(!path.exists(), "the file of the run that died is removed");
}

#[test]
fn a_damaged_line_is_skipped_and_those_around_it_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(folder.path(), run(1), 1 << 20).unwrap();
    (0..3).for_each(|number| journal.append(event(number, 5)));
    drop(journal);
    let path = folder.path().join(file_name(&run(1), 1));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (_journal, mut reader) = Journal::open(folder.path(), run(2), 1 << 20).unwrap();
    assert_eq!(drain(&mut reader).0.len(), 2);
}

#[test]
fn a_full_journal_has_no_room_until_events_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 2_000).unwrap();
    assert!(journal.has_room());
    for number in 0..20 {
        journal.append(event(number, 5));
    }
    assert!(!journal.has_room());
    assert_eq!(drain(&mut reader).0.len(), 20, "events of admitted calls are kept beyond the bound");
    assert!(journal.has_room());
}

#[test]
fn a_file_with_zeros_between_and_after_its_lines_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file_name(&run(1), 1));
    let lines = [1, 2].map(|number| line::encode(&event(number, 5), Stage::Ended));
    std::fs::write(&path, [&lines[0][..], &[0; 700], &lines[1], &[0; 300_000]].concat()).unwrap();
    let found = inspect(folder.path()).unwrap();
    assert_eq!((found.lines, found.torn.len(), found.damaged.len()), (2, 0, 0));
    let (journal, mut reader) = Journal::open(folder.path(), run(2), 1 << 20).unwrap();
    assert_eq!(drain(&mut reader).0.len(), 2);
    assert_eq!(journal.waiting_bytes(), 0);
    assert!(!path.exists());
}

#[test]
fn the_longest_line_fits_into_its_reservation() {
    let long = |length: usize| "m".repeat(length);
    let longest = UsageEvent {
        caller: Arc::new(Caller::new(
            OrganizationId::new(NOW, u128::MAX),
            WorkspaceId::new(NOW, u128::MAX),
            Actor::Key(KeyId::new(NOW, u128::MAX)),
        )),
        model: ModelId::parse(&format!("a/{}", long(198))).unwrap(),
        replica: long(1_000).into(),
        streamed: false,
        status: u16::MAX,
        code: long(64).into(),
        tokens: Tokens { prompt: u64::MAX, completion: u64::MAX, cached: u64::MAX },
        certainty: Certainty::Estimated,
        price: Price {
            input_per_1m: NanoUsd::from_nanos(i64::MIN),
            cached_input_per_1m: NanoUsd::from_nanos(i64::MIN),
            output_per_1m: NanoUsd::from_nanos(i64::MIN),
        },
        cost: NanoUsd::from_nanos(i64::MIN),
        started_at: Timestamp::from_millis(i64::MIN),
        first_byte_micros: Some(u64::MAX),
        duration_micros: u64::MAX,
        held_micros: Some(u64::MAX),
        sent_micros: Some(u64::MAX),
        origin: CallOrigin {
            surface: Some(CallSurface::Completions),
            requested_model: Some(long(128).into()),
            batch: None,
            class: CallClass::Flex,
        },
        failovers: u32::MAX,
        end_user: Some(Arc::new(EndUser {
            id: EndUserId::parse(&format!("eu_{}", "f".repeat(32))).unwrap(),
            text: Some("\u{10ffff}".repeat(64).into()),
        })),
        ..event(u128::MAX, 1)
    };
    let line = line::encode(&longest, Stage::Running);
    assert!(line.len() as u64 <= MAX_LINE_BYTES, "{} bytes", line.len());
    assert_eq!(line::read_with_break(&line).unwrap().0.end_user, longest.end_user);
}

#[test]
fn a_line_without_a_class_is_of_an_interactive_call() {
    let mut written = event(1, 5);
    written.origin.class = CallClass::Interactive;
    let line = line::encode(&written, Stage::Ended);
    assert!(!String::from_utf8_lossy(&line).contains("class"));
    assert_eq!(line::read_with_break(&line), Some((written, Stage::Ended)));
}

#[test]
fn a_full_disk_admits_only_calls_whose_events_have_room() {
    let disk = ModelDisk::new(1);
    let (journal, _reader) = open(&disk, 1);
    journal.shared.allocate_ahead();
    disk.leave_free(0);
    let mut answered = 0;
    // Every other call ends at once, the others when no more are admitted.
    let mut running = Vec::new();
    while let Some(room) = journal.reserve() {
        journal.shared.allocate_ahead();
        running.push(room);
        if running.len() % 2 == 0 {
            journal.append(event(answered, 5));
            answered += 1;
            running.pop();
        }
    }
    assert!(!journal.has_room());
    for room in running {
        journal.append(event(answered, 5));
        answered += 1;
        drop(room);
    }
    let level = journal.fill_level();
    assert_eq!((level.unwritten, level.waiting > 0), (0, true));
    assert!(answered >= 4, "{answered} calls");
    // The process is killed. The disk stays full, but what was only allocated is free for the next run.
    drop(journal);
    let (_journal, mut after) = open(&disk, 2);
    assert_eq!(drain(&mut after).0.len() as u128, answered);
}

#[test]
fn a_journal_on_a_full_disk_has_no_room_until_earlier_events_are_stored() {
    let disk = ModelDisk::new(1);
    let (journal, _reader) = open(&disk, 1);
    (0..3).for_each(|number| journal.append(event(number, 5)));
    drop(journal);
    disk.leave_free(0);
    let (journal, mut reader) = open(&disk, 2);
    assert!(journal.reserve().is_none());
    assert_eq!(drain(&mut reader).0.len(), 3);
    journal.shared.allocate_ahead();
    assert!(journal.reserve().is_some(), "the file of the first run is removed");
}

#[test]
fn marks_take_no_room_from_the_events_of_running_calls() {
    let disk = ModelDisk::new(1);
    let (journal, mut reader) = open(&disk, 1);
    disk.leave_free(0);
    let running: Vec<JournalRoom> = std::iter::from_fn(|| journal.reserve()).collect();
    assert!(!running.is_empty());
    for completion in 1..100 {
        (0..10).for_each(|number| journal.mark(&event(number, 512 * completion)));
    }
    for number in 0..running.len() as u128 {
        journal.append(event(number, 5));
    }
    assert_eq!(journal.fill_level().unwritten, 0);
    assert_eq!(drain(&mut reader).0.len(), running.len());
}

#[test]
fn lines_that_cannot_be_written_go_to_the_store_from_memory() {
    let disk = ModelDisk::new(1);
    let (journal, mut reader) = open(&disk, 1);
    let room = journal.reserve();
    disk.fail_writes(u32::MAX);
    journal.append(event(1, 5));
    journal.append(event(2, 5));
    drop(room);
    assert!(journal.reserve().is_none());
    assert_eq!(journal.unwritten_events(), [event(1, 5), event(2, 5)]);
    // More marks of running calls would only take memory.
    let unwritten = journal.fill_level().unwritten;
    journal.mark(&event(3, 512));
    assert_eq!(journal.fill_level().unwritten, unwritten);
    journal.shared.sync_round();
    assert!(journal.reserve().is_none());
    assert_eq!(drain(&mut reader).0, [event(1, 5), event(2, 5)]);
    assert_eq!((journal.fill_level().unwritten, journal.waiting_bytes()), (0, 0));
    disk.fail_writes(0);
    journal.shared.sync_round();
    assert!(journal.has_room());
    reader.close();
    assert!(disk.list().unwrap().is_empty());
}

#[test]
fn lines_that_could_not_be_written_are_written_when_the_disk_works_again() {
    for failures in 1..4 {
        let disk = ModelDisk::new(u64::from(failures));
        let (journal, mut reader) = open(&disk, 1);
        journal.append(event(1, 5));
        disk.fail_writes(failures);
        journal.append(event(2, 5));
        let batch = reader.next(10).unwrap().unwrap();
        let from_memory = reader.next(10).unwrap().unwrap();
        assert_eq!((&batch.events[..], &from_memory.events[..]), (&[event(1, 5)][..], &[event(2, 5)][..]));
        reader.stored(&batch);
        journal.append(event(3, 5));
        for _ in 0..failures {
            journal.shared.sync_round();
            journal.shared.allocate_ahead();
        }
        assert!(journal.has_room(), "after {failures} failures");
        // The second line was written meanwhile, so it comes again; the store knows its request.
        reader.stored(&from_memory);
        let (events, _) = drain(&mut reader);
        assert!(events.ends_with(&[event(2, 5), event(3, 5)]), "{events:?}");
        assert_eq!(journal.waiting_bytes(), 0);
        assert_eq!(journal.fill_level().unsynced, 0);
    }
}

#[test]
fn after_a_failed_sync_lines_are_written_again_before_calls_are_admitted() {
    let disk = ModelDisk::new(1);
    let (journal, mut reader) = open(&disk, 1);
    journal.shared.allocate_ahead();
    journal.append(event(1, 5));
    journal.shared.sync_round();
    journal.mark(&event(9, 512));
    journal.append(event(2, 5));
    let read = reader.next(2).unwrap().unwrap();
    reader.stored(&read);
    // The sync fails, and then the one of the trial file.
    disk.fail_syncs(2);
    journal.shared.sync_round();
    assert!(journal.reserve().is_none());
    let files = used_files(&disk);
    journal.append(event(3, 5));
    journal.shared.sync_round();
    assert!(journal.reserve().is_none());
    assert_eq!(used_files(&disk), files, "a failing disk collects no files");
    journal.shared.sync_round();
    journal.shared.allocate_ahead();
    assert!(journal.has_room());
    assert_eq!(journal.fill_level().unsynced, 0);
    let second = disk.open(&file_name(&run(1), 2)).unwrap();
    let mut found = vec![0; 4096];
    let length = disk.list().unwrap().into_iter().find(|(name, _)| *name == file_name(&run(1), 2)).unwrap().1;
    found.truncate(usize::try_from(length).unwrap());
    second.read_at(&mut found, 0).unwrap();
    let lines: Vec<_> = found.split_inclusive(|byte| *byte == b'\n').filter_map(line::read_with_break).collect();
    let requests: Vec<&RequestId> = lines.iter().map(|(event, _)| &event.request).collect();
    let expected = [9, 9, 2, 3].map(|number| event(number, 0).request);
    assert_eq!(requests, expected.iter().collect::<Vec<_>>(), "the mark of the running call, and what was not synced");
    let (events, _) = drain(&mut reader);
    assert!(events.contains(&event(3, 5)));
    assert_eq!(journal.waiting_bytes(), 0);
    assert_eq!(used_files(&disk), [file_name(&run(1), 2)]);
}

#[test]
fn a_partly_written_line_is_replaced() {
    let disk = ModelDisk::new(1);
    let (journal, mut reader) = open(&disk, 1);
    journal.append(event(1, 5));
    disk.fail_writes(1);
    journal.append(event(2, 5));
    journal.shared.sync_round();
    journal.append(event(3, 5));
    assert_eq!(used_files(&disk).len(), 1);
    assert_eq!(drain(&mut reader).0.len(), 3);
    drop((journal, reader));
    let (_journal, mut reader) = open(&disk, 2);
    assert_eq!(drain(&mut reader).0.len(), 3);
}
