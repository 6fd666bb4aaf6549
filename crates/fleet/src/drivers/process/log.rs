//! The engine's log: written by the engine, rotated by the shim, read from its end.
//!
//! The engine writes into the file and not into a pipe, so its log survives the end of the shim or the gateway. Lines
//! written between the copy and the truncation of a rotation are lost.

use crate::drivers::ReplicaName;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The name of the file in the folder of a replica.
pub(super) const LOG: &str = "log";
/// Bytes of a log that are shown.
pub(super) const TAIL_BYTES: u64 = 4 << 10;

/// The log of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    pub replica: ReplicaName,
    pub bytes: u64,
    /// When the engine wrote last.
    pub written_at: SystemTime,
}

/// The logs in folders of replicas, by name.
pub(super) fn list(roots: &[PathBuf]) -> Vec<LogFile> {
    let folders = roots.iter().filter_map(|root| fs::read_dir(root).ok()).flatten().filter_map(Result::ok);
    let log_in = |folder: fs::DirEntry| {
        let replica = ReplicaName::parse(folder.file_name().to_str()?).ok()?;
        let metadata = fs::metadata(folder.path().join(LOG)).ok()?;
        Some(LogFile { replica, bytes: metadata.len(), written_at: metadata.modified().ok()? })
    };
    let mut logs: Vec<LogFile> = folders.filter_map(log_in).collect();
    logs.sort_by(|one, other| one.replica.cmp(&other.replica));
    logs
}

/// Opens the log for appending, so that writing continues at the start after a truncation.
pub(super) fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Rotates a log larger than `max_bytes`: `log` becomes `log.1`, that one `log.2`, up to `kept`.
pub(super) fn rotate(path: &Path, max_bytes: u64, kept: u32) -> io::Result<()> {
    if fs::metadata(path)?.len() <= max_bytes {
        return Ok(());
    }
    for number in (1..kept).rev() {
        match fs::rename(rotated(path, number), rotated(path, number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    if kept > 0 {
        fs::copy(path, rotated(path, 1))?;
    }
    File::options().write(true).open(path)?.set_len(0)
}

/// The last `max_bytes`, from the start of a line. Continues into the rotated log if the current one is short.
pub(super) fn tail(path: &Path, max_bytes: u64) -> String {
    let mut bytes = last_bytes(path, max_bytes).unwrap_or_default();
    let missing = max_bytes - bytes.len() as u64;
    if missing > 0 {
        let mut earlier = last_bytes(&rotated(path, 1), missing).unwrap_or_default();
        earlier.append(&mut bytes);
        bytes = earlier;
    }
    let is_cut = bytes.len() as u64 == max_bytes;
    let line_start = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let shown = if is_cut { &bytes[line_start..] } else { &bytes[..] };
    let text = String::from_utf8_lossy(shown);
    // Replacement characters are longer than the invalid bytes.
    let excess = text.len().saturating_sub(usize::try_from(max_bytes).unwrap_or(usize::MAX));
    text[text.ceil_char_boundary(excess)..].to_owned()
}

fn last_bytes(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(max_bytes)))?;
    let mut bytes = Vec::new();
    // The file may grow meanwhile.
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn rotated(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_log_is_rotated_while_its_writer_continues() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut writer = open(&path).unwrap();
        for round in 0..5 {
            writeln!(writer, "round {round}").unwrap();
            rotate(&path, 5, 2).unwrap();
        }
        writeln!(writer, "end").unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        assert_eq!([read("log"), read("log.1"), read("log.2"), read("log.3")], ["end\n", "round 4\n", "round 3\n", ""]);
        assert_eq!(tail(&path, 100), "round 4\nend\n");
        assert_eq!(tail(&path, 10), "end\n");
    }

    #[test]
    fn logs_are_listed_by_replica() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("rep_2", "two"), ("rep_1", "one\n"), ("not a name", "x")] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join(LOG), text).unwrap();
        }
        fs::create_dir(folder.path().join("rep_without_log")).unwrap();
        let found = list(&[folder.path().to_owned(), folder.path().join("missing")]);
        let shown: Vec<(&str, u64)> = found.iter().map(|log| (log.replica.as_str(), log.bytes)).collect();
        assert_eq!(shown, [("rep_1", 4), ("rep_2", 3)]);
    }

    #[test]
    fn a_missing_log_is_empty_and_invalid_utf8_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert_eq!(tail(&path, TAIL_BYTES), "");
        fs::write(&path, b"one line without an end \xff").unwrap();
        assert_eq!(tail(&path, TAIL_BYTES), "one line without an end \u{fffd}");
        assert_eq!(tail(&path, 5), "d \u{fffd}");
    }
}
