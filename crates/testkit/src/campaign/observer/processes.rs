//! The processes of replicas, as the kernel shows them: when each was first and last seen.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context;

use crate::campaign::history::{Process, Record};

/// Set in the environment of a replica's engine, and of the shim that is its parent.
const MARK: &str = "GW_REPLICA_ID=";
const SHIM: &str = "replica-shim";

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
                self.seen.entry(replica).or_insert((now, now)).1 = now;
            }
        }
        Ok(())
    }

    pub(super) fn into_records(self) -> Vec<Record> {
        let record = |(replica, (began, ended))| Record::Process(Process { replica, began, ended });
        self.seen.into_iter().map(record).collect()
    }
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
    fn an_engine_is_recognized_and_its_shim_is_not() {
        let environment = b"PATH=/bin\0GW_REPLICA_ID=rep_1\0";
        assert_eq!(replica_of(environment, b"fake-engine\0--listen\0").as_deref(), Some("rep_1"));
        assert_eq!(replica_of(environment, b"/usr/bin/forebay\0replica-shim\0"), None);
        assert_eq!(replica_of(b"PATH=/bin\0", b"sh\0"), None);
    }
}
