//! A look at a journal's folder from outside, beside whoever writes there. Nothing is changed.

use super::line;
use super::reader::find_all_files;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What lies in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    pub bytes: u64,
    pub lines: u64,
    /// Files whose last line is not whole. The newest may be being written.
    pub torn: Vec<PathBuf>,
    /// Lines, by their numbers, that are not as they were written.
    pub damaged: Vec<(PathBuf, u64)>,
    /// Events that the store refused for good.
    pub refused: u64,
}

/// The most damaged lines that are told.
const MAX_TOLD: usize = 20;

/// Reads all of a journal; a folder that is not there holds nothing.
pub fn inspect(folder: &Path) -> io::Result<Inspection> {
    let mut found = Inspection::default();
    let files = match find_all_files(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        files => files?,
    };
    for path in files {
        match File::open(&path) {
            // It was done a moment ago.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            file => found.read(&path, BufReader::new(file?))?,
        }
    }
    if let Ok(file) = File::open(folder.join(super::reader::REFUSED)) {
        found.refused = BufReader::new(file).split(b'\n').count() as u64;
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
            self.lines += 1;
            match text.strip_suffix(b"\n") {
                None => self.torn.push(path.to_owned()),
                Some(whole) if line::read(whole).is_none() && self.damaged.len() < MAX_TOLD => {
                    self.damaged.push((path.to_owned(), number));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
