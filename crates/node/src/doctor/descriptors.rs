//! Checks the limit on open files and connections.

use super::finding::Finding;
use rustix::process::{Resource, getrlimit};

const CHECK: &str = "descriptors";
/// Fewer are a problem; fewer than [`GOOD`] limit the number of streams.
const LEAST: u64 = 1_024;
const GOOD: u64 = 65_536;

pub(super) fn check() -> Finding {
    judge(getrlimit(Resource::Nofile).maximum)
}

/// `limit` is the hard limit, to which `serve` raises the soft one.
fn judge(limit: Option<u64>) -> Finding {
    let remedy = "raise the hard limit on open files: LimitNOFILE=1048576 in the service, or `ulimit -Hn`";
    match limit {
        None => Finding::ok(CHECK, "no limit on open files"),
        Some(most) if most < LEAST => {
            Finding::problem(CHECK, format!("only {most} open files are allowed; a stream takes two"), remedy)
        }
        Some(most) if most < GOOD => {
            Finding::warning(CHECK, format!("{most} open files are allowed, enough for {} streams", most / 2), remedy)
        }
        Some(most) => Finding::ok(CHECK, format!("{most} open files are allowed")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn a_low_limit_is_reported() {
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
