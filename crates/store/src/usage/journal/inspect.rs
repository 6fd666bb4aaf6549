//! Read-only inspection of a journal folder, possibly while a node writes to it.

use super::line;
use super::reader::{QUARANTINE, find_all_files};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The content of a journal folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    pub bytes: u64,
    pub lines: u64,
    /// Files whose last line is incomplete. The newest file may be in the middle of a write.
    pub torn: Vec<PathBuf>,
    /// Damaged lines, by file and line number.
    pub damaged: Vec<(PathBuf, u64)>,
    /// Events that the store rejected permanently.
    pub quarantined: u64,
}

/// Most damaged lines that are listed.
const MAX_DAMAGED: usize = 20;

/// Reads a whole journal. A missing folder is an empty journal.
pub fn inspect(folder: &Path) -> io::Result<Inspection> {
    let mut found = Inspection::default();
    let files = match find_all_files(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        files => files?,
    };
    for path in files {
        match File::open(&path) {
            // Its node has just finished and removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            file => found.read(&path, BufReader::new(file?))?,
        }
    }
    if let Ok(file) = File::open(folder.join(QUARANTINE)) {
        found.quarantined = BufReader::new(file).split(b'\n').count() as u64;
    }
    Ok(found)
}

impl Inspection {
    fn read(&mut self, path: &Path, mut reader: impl BufRead) -> io::Result<()> {
        let mut text = Vec::new();
        for number in 1.. {
            text.clear();
            let bytes = reader.read_until(b'\n', &mut text)?;
            if bytes == 0 {
                return Ok(());
            }
            self.bytes += bytes as u64;
            // Space that is set aside, or a part that never reached the disk.
            let text = &text[text.iter().take_while(|byte| **byte == 0).count()..];
            if text.is_empty() {
                continue;
            }
            self.lines += 1;
            match text.strip_suffix(b"\n") {
                None => self.torn.push(path.to_owned()),
                Some(whole) if line::read(whole).is_none() && self.damaged.len() < MAX_DAMAGED => {
                    self.damaged.push((path.to_owned(), number));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
