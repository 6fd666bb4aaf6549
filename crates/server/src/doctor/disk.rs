//! Room for the journal and the store.

use super::finding::Finding;
use crate::config::show_size;
use rustix::fs::statvfs;
use std::path::Path;

const CHECK: &str = "disk";
const LEAST_BYTES: u64 = 256 << 20;
/// Besides what the journal may need.
const GOOD_BYTES: u64 = 1 << 30;
const LEAST_INODES: u64 = 1_000;

struct Room {
    bytes: u64,
    /// None where the file system does not count them.
    inodes: Option<u64>,
}

pub(super) fn check(data_dir: &Path, journal_max: u64) -> Finding {
    let place = data_dir.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    match statvfs(place) {
        Ok(found) => {
            let inodes = (found.f_files > 0).then_some(found.f_favail);
            judge(&Room { bytes: found.f_bavail * found.f_frsize, inodes }, journal_max)
        }
        Err(error) => Finding::warning(
            CHECK,
            format!("how much room is left at {} is not known: {error}", place.display()),
            "look with `df`",
        ),
    }
}

fn judge(room: &Room, journal_max: u64) -> Finding {
    let free = format!("{} free", rough(room.bytes));
    let remedy =
        "make room on the disk of the data directory: without it usage cannot be recorded, and calls are refused";
    match room {
        Room { bytes, .. } if *bytes < LEAST_BYTES => Finding::problem(CHECK, free, remedy),
        Room { inodes: Some(inodes), .. } if *inodes < LEAST_INODES => {
            Finding::problem(CHECK, format!("{free}, but only {inodes} more files can be made"), remedy)
        }
        Room { bytes, .. } if *bytes < journal_max.saturating_add(GOOD_BYTES) => {
            let needed = format!("{free}; the journal alone may need {}", show_size(journal_max));
            Finding::warning(CHECK, needed, "make room, or lower journal.max_bytes")
        }
        Room { .. } => Finding::ok(CHECK, free),
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
    fn little_room_is_told() {
        let journal = 1 << 30;
        for (bytes, inodes, level) in [
            (100 << 30, Some(1_000_000), Level::Ok),
            (100 << 30, None, Level::Ok),
            (100 << 30, Some(3), Level::Problem),
            (3 << 29, Some(1_000_000), Level::Warning),
            (200 << 20, Some(1_000_000), Level::Problem),
            (0, None, Level::Problem),
        ] {
            let found = judge(&Room { bytes, inodes }, journal);
            assert_eq!(found.level, level, "{bytes} {inodes:?}: {}", found.what);
        }
        assert_eq!(judge(&Room { bytes: 1 << 31, inodes: None }, 1 << 40).level, Level::Warning, "a large journal");
    }
}
