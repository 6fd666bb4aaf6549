//! Where a node keeps what is its own.

use super::finding::Finding;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

const CHECK: &str = "data-directory";

pub(super) fn check(data_dir: &Path) -> Finding {
    let place = data_dir.display();
    let remedy = "give it to the user who runs forebay, or name another with --data-dir";
    if !data_dir.exists() {
        let parent = data_dir.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("."));
        return match try_to_write(parent) {
            Ok(()) => Finding::warning(CHECK, format!("{place} is not there yet"), "the first start makes it"),
            Err(error) => Finding::problem(CHECK, format!("{place} is not there, and cannot be made: {error}"), remedy),
        };
    }
    match try_to_write(data_dir) {
        Ok(()) => Finding::ok(CHECK, format!("{place} can be written")),
        Err(error) => Finding::problem(CHECK, format!("{place} cannot be written: {error}"), remedy),
    }
}

/// Writes a file and takes it away again: permissions alone do not tell of a disk that is full or read-only.
pub(super) fn try_to_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".doctor-{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).open(&file)?.write_all(b"ok\n");
    fs::remove_file(&file)?;
    written
}
