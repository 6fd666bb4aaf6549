//! Observation of replicas from their folders and the kernel's process table.

use super::directory::{Directory, Pids};
use super::log;
use super::process_table::{Process, marked_below};
use crate::drivers::{Exit, Observation, ObservedReplica, ReplicaName, Running};
use crate::engine::failure::{self, ExitRecord};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Processes by the replica that they are marked with.
pub(super) type Marked = BTreeMap<ReplicaName, Vec<Process>>;

pub(super) fn marked(root: &Path) -> io::Result<Marked> {
    let mut marked = Marked::new();
    for (replica, process) in marked_below(root)? {
        marked.entry(replica).or_default().push(process);
    }
    Ok(marked)
}

/// All replicas with a folder or a process.
pub(super) fn all(root: &Path) -> io::Result<Vec<ObservedReplica>> {
    let mut observed = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let Some(Ok(replica)) = entry.file_name().to_str().map(ReplicaName::parse) else { continue };
        let directory = Directory::at(entry.path());
        let observation = observe(&directory, || Ok(marked(root)?.remove(&replica).unwrap_or_default()))?;
        observed.push(ObservedReplica {
            binding: directory.order().map(|order| order.binding()),
            observation,
            replica,
        });
    }
    // Folders were read first, so a process without one is not a replica that was started meanwhile.
    for (replica, processes) in marked(root)? {
        if !root.join(replica.as_str()).exists() {
            let observation = Observation::Stray { pids: processes.iter().map(|process| process.pid).collect() };
            observed.push(ObservedReplica { replica, binding: None, observation });
        }
    }
    observed.sort_by(|left, right| left.replica.cmp(&right.replica));
    Ok(observed)
}

/// Checks the processes before `exit.json`: a shim that ends in between has written it.
pub(super) fn observe(
    directory: &Directory,
    marked: impl FnOnce() -> io::Result<Vec<Process>>,
) -> io::Result<Observation> {
    let pids = directory.pids();
    if let Some(running) = pids.as_ref().and_then(|pids| running(directory, pids)) {
        return Ok(Observation::Running(running));
    }
    if let Some(record) = directory.exit() {
        return Ok(Observation::Exited(exit(directory, pids.as_ref(), &record)));
    }
    if pids.is_none() && !marked()?.is_empty() {
        return Ok(Observation::Launching);
    }
    Ok(Observation::Lost { last_seen: directory.last_seen() })
}

fn running(directory: &Directory, pids: &Pids) -> Option<Running> {
    let supervised = shim(directory, pids).is_some();
    if !supervised {
        pids.shim.reap();
        pids.engine.find()?;
        // The shim is gone, so the heartbeat is written here.
        let _ = directory.beat();
    }
    Some(Running {
        pid: pids.engine.pid,
        started_at: pids.time,
        draining_since: directory.draining_since(),
        supervised,
        leaving: false,
    })
}

/// The shim, if it runs and its environment names this replica.
pub(super) fn shim(directory: &Directory, pids: &Pids) -> Option<Process> {
    let root = directory.path().parent()?;
    let name = directory.path().file_name()?.to_str()?;
    pids.shim.find().filter(|shim| shim.replica_below(root).is_some_and(|replica| replica.as_str() == name))
}

fn exit(directory: &Directory, pids: Option<&Pids>, record: &ExitRecord) -> Exit {
    let log = log::tail(&directory.log(), failure::SEARCHED_LOG_BYTES);
    Exit {
        started_at: pids.map(|pids| pids.time),
        at: record.time,
        code: record.code,
        signal: record.signal,
        failure: failure::classify(record, directory.reached(), &log),
    }
}
