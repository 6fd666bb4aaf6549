//! Checks the journal of usage events.

use super::data_directory::try_to_write;
use super::finding::Finding;
use config::{Config, show_size};
use std::path::{Path, PathBuf};
use store::journal::{Inspection, inspect};

const CHECK: &str = "journal";

pub(super) fn check(config: &Config, data_dir: &Path, is_served: bool) -> Finding {
    let folder = data_dir.join("journal");
    let unreadable = |why: String| {
        let remedy = "make the folder writable for the user who runs forebay: otherwise usage cannot be recorded and calls are rejected";
        Finding::problem(CHECK, why, remedy)
    };
    let written = if folder.exists() { try_to_write(&folder) } else { Ok(()) };
    match written.and_then(|()| inspect(&folder)) {
        Ok(found) => judge(&found, config.journal.max_bytes, is_served),
        Err(error) => unreadable(format!("{} cannot be used: {error}", folder.display())),
    }
}

fn judge(found: &Inspection, max: u64, is_served: bool) -> Finding {
    let Inspection { bytes, lines, torn, damaged, quarantined: refused } = found;
    // A running server may be writing the end of the newest file.
    let torn = if is_served { &torn[..torn.len().saturating_sub(1)] } else { &torn[..] };
    // Some events may already be in the store: files are removed as a whole.
    let waiting = format!("{lines} events in {bytes} bytes, the limit is {}", show_size(max));
    match () {
        () if !damaged.is_empty() => Finding::problem(
            CHECK,
            format!("{waiting}; damaged: {}", lines_of(damaged)),
            "copy the folder before the next start, which skips these calls: they will not be billed; check the disk",
        ),
        () if *bytes >= max => Finding::problem(
            CHECK,
            format!("full: {waiting}; new calls are rejected"),
            "restore the store, or raise journal.max_bytes",
        ),
        () if !torn.is_empty() => Finding::warning(
            CHECK,
            format!("{waiting}; incomplete line at the end of {}", names_of(torn)),
            "nothing: the machine lost power within a tenth of a second of a call; the next start removes it",
        ),
        () if *refused > 0 => Finding::warning(
            CHECK,
            format!("{waiting}; the store rejected {refused} events permanently"),
            "keep refused.jsonl in the journal's folder: its calls were served but not billed; the log has the reason",
        ),
        () if *bytes > max / 2 => Finding::warning(
            CHECK,
            format!("more than half full: {waiting}"),
            "check why the store does not accept events: is it reachable and fast enough?",
        ),
        () => Finding::ok(CHECK, waiting),
    }
}

fn lines_of(damaged: &[(PathBuf, u64)]) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    damaged.iter().map(|(path, line)| format!("line {line} of {}", name(path))).collect::<Vec<_>>().join(", ")
}

fn names_of(files: &[PathBuf]) -> String {
    files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn the_worst_problem_of_a_journal_decides() {
        let file = || PathBuf::from("run_1-00000001.jsonl");
        let whole = Inspection { bytes: 10, lines: 1, ..Inspection::default() };
        for (found, is_served, level, part) in [
            (whole.clone(), false, Level::Ok, "1 events in 10 bytes, the limit is 1000B"),
            (Inspection { bytes: 501, ..whole.clone() }, true, Level::Warning, "more than half full"),
            (Inspection { bytes: 1_000, ..whole.clone() }, true, Level::Problem, "full: "),
            (Inspection { torn: vec![file()], ..whole.clone() }, false, Level::Warning, "incomplete line at the end"),
            (Inspection { torn: vec![file()], ..whole.clone() }, true, Level::Ok, "1 events"),
            (Inspection { quarantined: 2, ..whole.clone() }, true, Level::Warning, "rejected 2 events"),
            (Inspection { damaged: vec![(file(), 7)], ..whole.clone() }, true, Level::Problem, "line 7 of run_1-0"),
        ] {
            let judged = judge(&found, 1_000, is_served);
            assert_eq!(judged.level, level, "{}", judged.what);
            assert!(judged.what.contains(part), "{} has no {part}", judged.what);
        }
    }
}
