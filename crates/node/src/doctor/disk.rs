//! Checks the disk space for the journal and the store.

use super::finding::Finding;
use config::show_size;
use rustix::fs::statvfs;
use std::path::Path;

const CHECK: &str = "disk";
const LEAST_BYTES: u64 = 256 << 20;
/// In addition to the journal's maximum.
const GOOD_BYTES: u64 = 1 << 30;
const LEAST_INODES: u64 = 1_000;

struct FreeSpace {
    bytes: u64,
    /// `None` if the file system does not count them.
    inodes: Option<u64>,
}

pub(super) fn check(data_dir: &Path, journal_max: u64) -> Finding {
    let place = data_dir.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    match statvfs(place) {
        Ok(found) => {
            let inodes = (found.f_files > 0).then_some(found.f_favail);
            judge(&FreeSpace { bytes: found.f_bavail * found.f_frsize, inodes }, journal_max)
        }
        Err(error) => Finding::warning(
            CHECK,
            format!("cannot determine the free space at {}: {error}", place.display()),
            "check with `df`",
        ),
    }
}

fn judge(room: &FreeSpace, journal_max: u64) -> Finding {
    let free = format!("{} free", rough(room.bytes));
    let remedy = "free space on the disk of the data directory: when it is full, usage cannot be recorded and calls are rejected";
    match room {
        FreeSpace { bytes, .. } if *bytes < LEAST_BYTES => Finding::problem(CHECK, free, remedy),
        FreeSpace { inodes: Some(inodes), .. } if *inodes < LEAST_INODES => {
            Finding::problem(CHECK, format!("{free}, but only {inodes} more files can be created"), remedy)
        }
        FreeSpace { bytes, .. } if *bytes < journal_max.saturating_add(GOOD_BYTES) => {
            let needed = format!("{free}; the journal alone may need {}", show_size(journal_max));
            Finding::warning(CHECK, needed, "free space, or lower journal.max_bytes")
        }
        FreeSpace { .. } => Finding::ok(CHECK, free),
    }
}

fn rough(bytes: u64) -> String {
    match bytes {
        large if large >= 10 << 30 => format!("{} GiB", large >> 30),
        medium if medium >= 10 << 20 => format!("{} MiB", medium >> 20),
        small => format!("{} KiB", small >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn low_disk_space_is_reported() {
        let journal = 1 << 30;
        for (bytes, inodes, level) in [
            (100 << 30, Some(1_000_000), Level::Ok),
            (100 << 30, None, Level::Ok),
            (100 << 30, Some(3), Level::Problem),
            (3 << 29, Some(1_000_000), Level::Warning),
            (200 << 20, Some(1_000_000), Level::Problem),
            (0, None, Level::Problem),
        ] {
            let found = judge(&FreeSpace { bytes, inodes }, journal);
            assert_eq!(found.level, level, "{bytes} {inodes:?}: {}", found.what);
        }
        assert_eq!(
            judge(&FreeSpace { bytes: 1 << 31, inodes: None }, 1 << 40).level,
            Level::Warning,
            "a large journal"
        );
    }
}
