//! Fuzz targets for the journal, which is read after crashes, full disks and restores.

use super::disk::Disk;
use super::line::{self, Stage};
use super::*;
use domain::{RequestId, Timestamp};
use fuzz::Fuzz;
use std::collections::BTreeSet;

const WORDS: &[&str] = &[
    "\n",
    " ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "18446744073709551615",
    "1e3",
    "\\u0000",
    "\"stage\":\"running\"",
    "\"stage\":\"ended\"",
    "\"user\":\"usr_",
    "00000000 {}\n",
    "\u{e9}",
];

/// An object with the checksum that makes it a line.
fn with_checksum(object: &[u8]) -> Vec<u8> {
    [format!("{:08x} ", crc32fast::hash(object)).as_bytes(), object].concat()
}

/// A line that is read is the event that it becomes when it is written again.
fn check_line(text: &[u8]) {
    if let Some((event, stage)) = line::read(text) {
        let again = line::encode(&event, stage);
        let (text, end) = again.split_at(again.len() - 1);
        assert_eq!(end, b"\n");
        assert_eq!(line::read(text), Some((event, stage)));
    }
}

#[test]
fn journal_lines() {
    Fuzz::new("journal-line").words(WORDS).run(|bytes| {
        check_line(bytes);
        check_line(&with_checksum(bytes));
    });
}

/// A file of a run that was killed: every readable line counts once, whatever is between them.
#[test]
fn journal_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |millis: i64| RunId::new(Timestamp::from_millis(1_800_000_000_000 + millis), 1);
    Fuzz::new("journal-file").words(WORDS).executions(300).run(|bytes| {
        let path = folder.path().join(file_name(&at(1), 1));
        std::fs::write(&path, bytes).unwrap();
        let disk = Disk::folder(folder.path()).unwrap();
        let (_, mut reader) = Journal::open_on(disk, at(2), 1 << 20, MIN_FILE_BYTES).unwrap();
        let mut read = Vec::new();
        while let Some(batch) = reader.next(2).unwrap() {
            reader.stored(&batch);
            read.extend(batch.events.iter().map(|event| event.request.clone()));
        }
        reader.close();
        assert!(!path.exists(), "a file that is stored is removed");
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(&b""[..], |end| &bytes[..end]);
        let lines = complete.split(|byte| *byte == b'\n').map(|line| {
            let zeros = line.iter().take_while(|byte| **byte == 0).count();
            &line[zeros..]
        });
        let lines: Vec<_> = lines.filter_map(line::read).collect();
        let ended = lines.iter().filter(|(_, stage)| *stage == Stage::Ended).map(|(event, _)| &event.request);
        let mut expected: Vec<RequestId> = ended.cloned().collect();
        let running: BTreeSet<RequestId> = still_running(&lines);
        expected.extend(running);
        read.sort();
        expected.sort();
        assert_eq!(read, expected);
    });
}

/// The calls whose last line is a mark.
fn still_running(lines: &[(UsageEvent, Stage)]) -> BTreeSet<RequestId> {
    let mut running = BTreeSet::new();
    for (event, stage) in lines {
        match stage {
            Stage::Running => running.insert(event.request.clone()),
            Stage::Ended => running.remove(&event.request),
        };
    }
    running
}
