//! Usage events that wait for the store.

use super::data_directory::try_to_write;
use super::finding::Finding;
use crate::config::{Config, show_size};
use std::path::{Path, PathBuf};
use store::journal::{Inspection, inspect};

const CHECK: &str = "journal";

pub(super) fn check(config: &Config, data_dir: &Path, is_served: bool) -> Finding {
    let folder = data_dir.join("journal");
    let unreadable = |why: String| {
        let remedy =
            "give the folder to the user who runs forebay: without it usage cannot be recorded, and calls are refused";
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
    // A server may be writing the end of the newest file right now.
    let torn = if is_served { &torn[..torn.len().saturating_sub(1)] } else { &torn[..] };
    // Some of it may be in the store already: files are removed as a whole.
    let waiting = format!("{lines} events in {bytes} bytes, the bound is {}", show_size(max));
    match () {
        () if !damaged.is_empty() => Finding::problem(
            CHECK,
            format!("{waiting}; not as they were written: {}", lines_of(damaged)),
            "copy the folder before the next start, which leaves these calls off the bill; look at the disk",
        ),
        () if *bytes >= max => Finding::problem(
            CHECK,
            format!("full: {waiting}; new calls are refused"),
            "bring the store back, or raise journal.max_bytes",
        ),
        () if !torn.is_empty() => Finding::warning(
            CHECK,
            format!("{waiting}; half a line at the end of {}", names_of(torn)),
            "nothing: the machine lost power within a tenth of a second of a call, and the next start cuts it",
        ),
        () if *refused > 0 => Finding::warning(
            CHECK,
            format!("{waiting}; the store refused {refused} events for good"),
            "keep refused.jsonl of the journal's folder: its calls were served and not billed; the log says why",
        ),
        () if *bytes > max / 2 => Finding::warning(
            CHECK,
            format!("more than half full: {waiting}"),
            "look why the store does not take events: is it reachable and fast enough?",
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
    fn a_journal_is_judged_by_what_is_worst_about_it() {
        let file = || PathBuf::from("run_1-00000001.jsonl");
        let whole = Inspection { bytes: 10, lines: 1, ..Inspection::default() };
        for (found, is_served, level, part) in [
            (whole.clone(), false, Level::Ok, "1 events in 10 bytes, the bound is 1000B"),
            (Inspection { bytes: 501, ..whole.clone() }, true, Level::Warning, "more than half full"),
            (Inspection { bytes: 1_000, ..whole.clone() }, true, Level::Problem, "full: "),
            (Inspection { torn: vec![file()], ..whole.clone() }, false, Level::Warning, "half a line at the end"),
            (Inspection { torn: vec![file()], ..whole.clone() }, true, Level::Ok, "1 events"),
            (Inspection { quarantined: 2, ..whole.clone() }, true, Level::Warning, "refused 2 events"),
            (Inspection { damaged: vec![(file(), 7)], ..whole.clone() }, true, Level::Problem, "line 7 of run_1-0"),
        ] {
            let judged = judge(&found, 1_000, is_served);
            assert_eq!(judged.level, level, "{}", judged.what);
            assert!(judged.what.contains(part), "{} has no {part}", judged.what);
        }
    }
}
