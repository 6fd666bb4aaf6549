//! Logs of the engines on this machine, for the operator.

use crate::drivers::ReplicaName;
use crate::drivers::process::ProcessDriver;
use crate::engine_pools::EngineLogs;
use domain::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// A log of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineLog {
    /// A replica, or an engine of a serverless model, such as `acme/tiny#1`.
    pub name: String,
    /// Without the parts that were rotated away.
    pub bytes: u64,
    pub written_at: Timestamp,
}

/// Clones share the logs.
#[derive(Clone)]
pub struct MachineLogs {
    /// The logs of serverless engines.
    pub engines: EngineLogs,
    /// The logs of replicas.
    pub process: ProcessDriver,
}

impl MachineLogs {
    /// Logs of serverless engines, then of replicas.
    pub async fn list(&self) -> Vec<MachineLog> {
        let engines = self.engines.list().into_iter().map(|log| found(log.engine, log.bytes, log.written_at));
        let replicas = self.process.list_logs().await.into_iter();
        engines.chain(replicas.map(|log| found(log.replica.to_string(), log.bytes, log.written_at))).collect()
    }

    /// The end of a log, only its lines with `search` unless that is empty; `None` if this machine has no such log.
    pub async fn read(&self, name: &str, max_bytes: u64, search: &str) -> Option<String> {
        let text = match self.engines.read(name, max_bytes) {
            Some(text) => text,
            None => self.process.read_log(&ReplicaName::parse(name).ok()?, max_bytes).await?,
        };
        Some(matching_lines(text, search))
    }
}

fn found(name: String, bytes: u64, written_at: SystemTime) -> MachineLog {
    let since_epoch = written_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let written_at = Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
    MachineLog { name, bytes, written_at }
}

/// The lines with this text, in upper or lower case; all if it is empty.
pub fn matching_lines(text: String, search: &str) -> String {
    if search.is_empty() {
        return text;
    }
    let search = search.to_lowercase();
    text.split_inclusive('\n').filter(|line| line.to_lowercase().contains(&search)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_keeps_whole_lines() {
        assert_eq!(matching_lines("One\ntwo\nphone".to_owned(), "ONE"), "One\nphone");
        assert_eq!(matching_lines("one\n".to_owned(), "x"), "");
        assert_eq!(matching_lines("one\n".to_owned(), ""), "one\n");
    }
}
