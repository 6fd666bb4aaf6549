//! The processes of replicas, as the kernel shows them: when each was started and last seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::history::{Process, Record};

/// Set in the environment of a replica's engine, and of the shim that is its parent.
const MARK: &str = "GW_REPLICA_ID=";
const SHIM: &str = "replica-shim";
/// The kernel's unit of the start of a process, which programs see as a hundredth of a second on every machine.
const MILLIS_PER_TICK: u64 = 10;
/// The position of the start among the words after the name of a process.
const START_WORD: usize = 19;

#[derive(Default)]
pub(super) struct Processes {
    seen: BTreeMap<String, (u64, u64)>,
}

impl Processes {
    pub(super) fn look(&mut self, now: u64) -> anyhow::Result<()> {
        for entry in fs::read_dir("/proc").context("cannot list processes")?.flatten() {
            // It may have ended.
            let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
            let Ok(command_line) = fs::read(entry.path().join("cmdline")) else { continue };
            if let Some(replica) = replica_of(&environment, &command_line) {
                let began = || now.saturating_sub(age(&entry.path()).unwrap_or(0));
                self.seen.entry(replica).or_insert_with(|| (began(), now)).1 = now;
            }
        }
        Ok(())
    }

    pub(super) fn into_records(self) -> Vec<Record> {
        let record = |(replica, (began, ended))| Record::Process(Process { replica, began, ended });
        self.seen.into_iter().map(record).collect()
    }
}

/// How long a process has been running, in milliseconds. On a busy machine it is seen long after its start.
fn age(process: &Path) -> Option<u64> {
    let (stat, uptime) = (fs::read_to_string(process.join("stat")).ok()?, fs::read_to_string("/proc/uptime").ok()?);
    age_from(&stat, &uptime)
}

fn age_from(stat: &str, uptime: &str) -> Option<u64> {
    // The name is in parentheses and may contain some.
    let (_, words) = stat.rsplit_once(')')?;
    let ticks: u64 = words.split_whitespace().nth(START_WORD)?.parse().ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let uptime = u64::try_from(Duration::try_from_secs_f64(uptime).ok()?.as_millis()).ok()?;
    Some(uptime.saturating_sub(ticks * MILLIS_PER_TICK))
}

fn replica_of(environment: &[u8], command_line: &[u8]) -> Option<String> {
    let is_shim = command_line.split(|byte| *byte == 0).any(|word| word.ends_with(SHIM.as_bytes()));
    let mut variables = environment.split(|byte| *byte == 0).filter_map(|text| str::from_utf8(text).ok());
    let replica = variables.find_map(|variable| variable.strip_prefix(MARK))?;
    (!is_shim).then(|| replica.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_process_is_that_of_the_kernel() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 98";
        assert_eq!(age_from(stat, "124.45 99.00\n"), Some(1_000));
        assert_eq!(age_from("42 (a", "124.45 99.00"), None);
        assert!(age(Path::new("/proc/self")).is_some());
    }

    #[test]
    fn an_engine_is_recognized_and_its_shim_is_not() {
        let environment = b"PATH=/bin\0GW_REPLICA_ID=rep_1\0";
        assert_eq!(replica_of(environment, b"fake-engine\0--listen\0").as_deref(), Some("rep_1"));
        assert_eq!(replica_of(environment, b"/usr/bin/forebay\0replica-shim\0"), None);
        assert_eq!(replica_of(b"PATH=/bin\0", b"sh\0"), None);
    }
}
