//! Checks that the data directory can be written.

use super::finding::Finding;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

const CHECK: &str = "data-directory";

pub(super) fn check(data_dir: &Path) -> Finding {
    let shown = data_dir.display();
    let remedy = "make it writable for the user who runs forebay, or choose another with --data-dir";
    if !data_dir.exists() {
        let parent = data_dir.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("."));
        return match try_to_write(parent) {
            Ok(()) => Finding::warning(CHECK, format!("{shown} does not exist yet"), "the first start creates it"),
            Err(error) => {
                Finding::problem(CHECK, format!("{shown} does not exist and cannot be created: {error}"), remedy)
            }
        };
    }
    match try_to_write(data_dir) {
        Ok(()) => Finding::ok(CHECK, format!("{shown} is writable")),
        Err(error) => Finding::problem(CHECK, format!("{shown} is not writable: {error}"), remedy),
    }
}

/// Writes and removes a file: permissions alone do not show a disk that is full or read-only.
pub(super) fn try_to_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".doctor-{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).open(&file)?.write_all(b"ok\n");
    fs::remove_file(&file)?;
    written
}
