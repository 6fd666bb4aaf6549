//! How many files and connections may be open.

use super::finding::Finding;
use rustix::process::{Resource, getrlimit};

const CHECK: &str = "descriptors";
/// Below this a handful of streams fills it, and below that a node cannot serve many.
const LEAST: u64 = 1_024;
const GOOD: u64 = 65_536;

pub(super) fn check() -> Finding {
    judge(getrlimit(Resource::Nofile).maximum)
}

/// Of the hard limit, to which `serve` raises its own.
fn judge(limit: Option<u64>) -> Finding {
    let remedy = "raise the hard limit on open files: LimitNOFILE=1048576 in the service, or `ulimit -Hn`";
    match limit {
        None => Finding::ok(CHECK, "any number of files may be open"),
        Some(most) if most < LEAST => {
            Finding::problem(CHECK, format!("only {most} files may be open; a stream holds two"), remedy)
        }
        Some(most) if most < GOOD => {
            Finding::warning(CHECK, format!("{most} files may be open, enough for {} streams", most / 2), remedy)
        }
        Some(most) => Finding::ok(CHECK, format!("{most} files may be open")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn few_descriptors_are_told() {
        for (limit, level) in [
            (None, Level::Ok),
            (Some(1_048_576), Level::Ok),
            (Some(4_096), Level::Warning),
            (Some(256), Level::Problem),
        ] {
            assert_eq!(judge(limit).level, level, "{limit:?}");
        }
    }
}
