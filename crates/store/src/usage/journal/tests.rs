use super::*;
use domain::usage::{Actor, Certainty, Tokens};
use domain::{Caller, KeyId, ModelId, NanoUsd, OrganizationId, Price, Timestamp, WorkspaceId};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn run(number: u128) -> RunId {
    RunId::new(Timestamp::from_millis(NOW.millis() + i64::try_from(number).unwrap()), number)
}

fn event(number: u128, completion: u64) -> UsageEvent {
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

#[test]
fn an_event_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 1 << 20).unwrap();
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

#[test]
fn a_reader_that_fell_behind_continues_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 64 << 20).unwrap();
    let written: Vec<UsageEvent> = (0..80_000).map(|number| event(number, 5)).collect();
    for (number, event) in written.iter().enumerate() {
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
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 16 << 10).unwrap();
    journal.mark(&event(999, 512));
    for number in 0..200 {
        journal.append(event(number, 1));
        if number % 50 == 0 {
            drain(&mut reader);
        }
    }
    assert_eq!(drain(&mut reader).0.len(), 49, "the other 151 were read before");
    assert_eq!(files(folder.path()), 1, "only the newest is left");
    drop((journal, reader));

    let (_journal, mut reader) = Journal::open(folder.path(), run(2), 16 << 10).unwrap();
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
    assert_eq!(files(folder.path()), 1);
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

#[tokio::test]
async fn a_full_disk_loses_nothing_and_admits_no_new_calls() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/dev/full", folder.path().join(file_name(&run(1), 1))).unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 1 << 20).unwrap();
    journal.append(event(1, 5));
    journal.append(event(2, 5));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !journal.has_room() {
        assert!(Instant::now() < deadline, "the journal did not recover");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    std::fs::remove_file(folder.path().join(file_name(&run(1), 1))).unwrap();
    std::fs::write(folder.path().join(file_name(&run(1), 1)), "").unwrap();
    assert_eq!(drain(&mut reader).0.len(), 2);
}

/// Writes to `/dev/null` succeed, and a sync of it fails.
#[tokio::test]
async fn after_a_failed_sync_no_calls_are_admitted_until_all_lines_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/dev/null", folder.path().join(file_name(&run(1), 1))).unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 1 << 20).unwrap();
    journal.mark(&event(9, 512));
    journal.append(event(1, 5));
    let wait_for = async |what: &str, condition: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !condition() {
            assert!(Instant::now() < deadline, "{what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    wait_for("the failed sync was ignored", &|| !journal.has_room()).await;
    let renewed = || journal.shared.state.lock().doubt.as_ref().is_none_or(|doubt| doubt.renewed);
    wait_for("no other file was begun", &renewed).await;
    journal.append(event(2, 5));
    assert!(!journal.has_room(), "the store has not got the first line yet");
    assert_eq!(drain(&mut reader).0.len(), 2);
    wait_for("the journal did not recover", &|| journal.has_room()).await;
    let kept = std::fs::read_to_string(folder.path().join(file_name(&run(1), 2))).unwrap();
    assert_eq!(kept.lines().count(), 2, "the mark of the running call, and the second line: {kept}");
    assert_eq!(files(folder.path()), 1, "one journal file, no trial file");
}

#[test]
fn a_disk_that_stays_full_collects_no_empty_files_and_counts_no_byte_twice() {
    let folder = tempfile::tempdir().unwrap();
    for number in 1..=9 {
        symlink("/dev/full", folder.path().join(file_name(&run(1), number))).unwrap();
    }
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 1 << 20).unwrap();
    journal.mark(&event(9, 512));
    journal.append(event(1, 5));
    let waiting = journal.waiting_bytes();
    for _ in 0..20 {
        let mut state = journal.shared.state.lock();
        assert!(journal.shared.recover(&mut state).is_err());
        assert_eq!(state.number, 1, "no file is begun that cannot be written to");
    }
    assert_eq!(journal.waiting_bytes(), waiting);
    // The disk has space again.
    for number in 1..=9 {
        std::fs::remove_file(folder.path().join(file_name(&run(1), number))).unwrap();
    }
    std::fs::write(folder.path().join(file_name(&run(1), 1)), "").unwrap();
    journal.shared.recover(&mut journal.shared.state.lock()).unwrap();
    assert_eq!(drain(&mut reader).0.len(), 1);
    assert!(journal.has_room());
    drop((journal, reader));
    let (_journal, mut reader) = Journal::open(folder.path(), run(2), 1 << 20).unwrap();
    assert!(drain(&mut reader).0.iter().any(|event| event.tokens.completion == 512), "the mark is kept");
}

#[test]
fn a_partly_written_line_is_truncated_before_the_next_one_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut reader) = Journal::open(folder.path(), run(1), 1 << 20).unwrap();
    journal.append(event(1, 5));
    {
        // The disk has taken only a part of the line.
        let line = line::encode(&event(2, 5), Stage::Ended);
        let mut state = journal.shared.state.lock();
        state.file.as_ref().write_all(&line[..50]).unwrap();
        state.unwritten.push_back(line);
        journal.shared.recover(&mut state).unwrap();
        assert_eq!(state.number, 1);
    }
    journal.append(event(3, 5));
    assert_eq!(drain(&mut reader).0.len(), 3);
}
