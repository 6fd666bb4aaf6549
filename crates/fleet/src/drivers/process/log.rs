//! The engine's log: written by the engine itself, put aside by the shim when it grows, read from its end.
//!
//! The engine writes straight into the file, not through a pipe, so its log breaks with nobody's end. What it writes
//! in the instant between the copy and the cut of a rotation is lost.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What is shown of it.
pub(super) const TAIL: u64 = 4 << 10;

/// For appending only, so that it goes on at the beginning after it was cut.
pub(super) fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Puts the log aside if it is larger than `most`: `log` becomes `log.1`, that one `log.2`, up to `kept`.
pub(super) fn rotate(path: &Path, most: u64, kept: u32) -> io::Result<()> {
    if fs::metadata(path)?.len() <= most {
        return Ok(());
    }
    for number in (1..kept).rev() {
        match fs::rename(aside(path, number), aside(path, number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    if kept > 0 {
        fs::copy(path, aside(path, 1))?;
    }
    File::options().write(true).open(path)?.set_len(0)
}

/// Its last `most` bytes, from the beginning of a line, also where they begin in what was put aside.
pub(super) fn tail(path: &Path, most: u64) -> String {
    let mut bytes = last_bytes(path, most).unwrap_or_default();
    let missing = most - bytes.len() as u64;
    if missing > 0 {
        let mut earlier = last_bytes(&aside(path, 1), missing).unwrap_or_default();
        earlier.append(&mut bytes);
        bytes = earlier;
    }
    let is_cut = bytes.len() as u64 == most;
    let line_start = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let shown = if is_cut { &bytes[line_start..] } else { &bytes[..] };
    let text = String::from_utf8_lossy(shown);
    // What stands for broken bytes is longer than they were.
    let too_long = text.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
    text[text.ceil_char_boundary(too_long)..].to_owned()
}

fn last_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_log_is_put_aside_and_its_writer_goes_on() {
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
    fn no_log_is_an_empty_tail_and_broken_text_is_shown_as_far_as_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert_eq!(tail(&path, TAIL), "");
        fs::write(&path, b"one line without an end \xff").unwrap();
        assert_eq!(tail(&path, TAIL), "one line without an end \u{fffd}");
        assert_eq!(tail(&path, 5), "d \u{fffd}");
    }
}
