//! What the tests need of the machine: file descriptors, priorities and cores.

use std::process::Command;

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};

/// The lowest priority.
const LOWEST: i32 = 19;

/// Raises the limit of open files of this process as far as possible; an error if that is less than `needed`.
pub(crate) fn raise_open_files(needed: usize) -> anyhow::Result<()> {
    let needed = needed as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    // Only root may raise the hard limit.
    let raised = maximum.map(|maximum| maximum.max(needed));
    let attempts = [raised, maximum].map(|limit| Rlimit { current: limit, maximum: limit });
    let is_set = attempts.into_iter().any(|limit| setrlimit(Resource::Nofile, limit).is_ok());
    match getrlimit(Resource::Nofile).current {
        Some(current) if !is_set || current < needed => bail!(
            "the attacks need {needed} open files, and {current} are allowed: raise `ulimit -n`, or set --percent"
        ),
        _ => Ok(()),
    }
}

/// Gives the calling thread, and the threads it starts, the lowest priority.
pub(crate) fn yield_to_others() -> anyhow::Result<()> {
    setpriority_process(None, LOWEST).context("cannot lower the priority of a thread")
}

/// Keeps this process, with all its threads, off `core`; an error if it has no other.
pub(crate) fn stay_off(core: usize) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let others: Vec<String> = (0..cores).filter(|other| *other != core).map(|other| other.to_string()).collect();
    if others.is_empty() {
        bail!("there is only one core: the gateway would share it with those who call it");
    }
    let own_pid = std::process::id().to_string();
    let pinned = Command::new("taskset").args(["-a", "-c", "-p", &others.join(","), &own_pid]).output();
    if !pinned.is_ok_and(|output| output.status.success()) {
        bail!("taskset failed, so the processes cannot be kept apart");
    }
    Ok(())
}
