//! What is found of each replica: its folder says what should be, the kernel says what is.

use super::directory::{Directory, Ending, Pids};
use super::failure;
use super::log;
use super::process_table::{Process, marked_below};
use crate::drivers::{Exit, Observed, ReplicaName, Running, Sighting};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The processes that run under the name of a replica.
pub(super) type Marked = BTreeMap<ReplicaName, Vec<Process>>;

pub(super) fn marked(root: &Path) -> io::Result<Marked> {
    let mut marked = Marked::new();
    for (replica, process) in marked_below(root)? {
        marked.entry(replica).or_default().push(process);
    }
    Ok(marked)
}

/// Every replica that has a folder or a process.
pub(super) fn everything(root: &Path) -> io::Result<Vec<Observed>> {
    let mut observed = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let Some(Ok(replica)) = entry.file_name().to_str().map(ReplicaName::parse) else { continue };
        let directory = Directory::at(entry.path());
        let sighting = sight(&directory, || Ok(marked(root)?.remove(&replica).unwrap_or_default()))?;
        observed.push(Observed { binding: directory.order().map(|order| order.binding()), sighting, replica });
    }
    // Folders were read first: a process without one was not started since.
    for (replica, processes) in marked(root)? {
        if !root.join(replica.as_str()).exists() {
            let sighting = Sighting::Stray { pids: processes.iter().map(|process| process.pid).collect() };
            observed.push(Observed { replica, binding: None, sighting });
        }
    }
    observed.sort_by(|left, right| left.replica.cmp(&right.replica));
    Ok(observed)
}

/// First whether it lives, then its last words: a shim that ends in between has written them.
pub(super) fn sight(directory: &Directory, marked: impl FnOnce() -> io::Result<Vec<Process>>) -> io::Result<Sighting> {
    let pids = directory.pids();
    if let Some(running) = pids.as_ref().and_then(|pids| running(directory, pids)) {
        return Ok(Sighting::Running(running));
    }
    if let Some(ending) = directory.ending() {
        return Ok(Sighting::Exited(exit(directory, pids.as_ref(), &ending)));
    }
    if pids.is_none() && !marked()?.is_empty() {
        return Ok(Sighting::Launching);
    }
    Ok(Sighting::Lost { last_seen: directory.last_seen() })
}

fn running(directory: &Directory, pids: &Pids) -> Option<Running> {
    let supervised = shim(directory, pids).is_some();
    if !supervised {
        pids.shim.reap();
        pids.engine.find()?;
        // Its shim does not say so any more.
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

/// The shim, if it runs and says itself that it is this one.
pub(super) fn shim(directory: &Directory, pids: &Pids) -> Option<Process> {
    let root = directory.path().parent()?;
    let name = directory.path().file_name()?.to_str()?;
    pids.shim.find().filter(|shim| shim.replica_below(root).is_some_and(|replica| replica.as_str() == name))
}

fn exit(directory: &Directory, pids: Option<&Pids>, ending: &Ending) -> Exit {
    let log = log::tail(&directory.log(), failure::LOOKED_AT);
    Exit {
        started_at: pids.map(|pids| pids.time),
        at: ending.time,
        code: ending.code,
        signal: ending.signal,
        failure: failure::classify(ending, directory.reached(), &log),
    }
}
