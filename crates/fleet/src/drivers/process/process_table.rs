//! The kernel's process table, and signals that cannot hit the wrong process.
//!
//! A process id may be reused, so a process is identified by its id, its start time in ticks and the boot id, and by the
//! marks in its environment. While it is inspected and signalled it is held by a pidfd, which never refers to another one.

use super::environment::{DIRECTORY_MARK, REPLICA_MARK};
use crate::drivers::ReplicaName;
use memchr::memmem;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Larger than most environments.
const ENVIRONMENT_BUFFER_BYTES: usize = 16 << 10;

/// Identifies a process among all that ever run on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) pid: u32,
    /// In kernel ticks since boot.
    pub(super) starttime: u64,
    boot: String,
}

impl Identity {
    /// The identity of the process that has this id now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, starttime: Stat::of(pid)?.starttime, boot: boot()? })
    }

    /// The process, if it still runs.
    pub(super) fn find(&self) -> Option<Process> {
        let process = Process::open(self.pid)?;
        (process.stat.starttime == self.starttime && boot()? == self.boot).then_some(process)
    }

    /// Reaps a process that became our child when its parent ended, as happens in a container where we have process id 1.
    pub(super) fn reap(&self) {
        let is_zombie =
            |stat: &Stat| stat.ended && stat.starttime == self.starttime && stat.parent == std::process::id();
        if Stat::of(self.pid).as_ref().is_some_and(is_zombie) {
            let _ = waitpid(pid_of(self.pid), WaitOptions::NOHANG);
        }
    }
}

/// A process that runs, or has just ended.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    stat: Stat,
    descriptor: OwnedFd,
}

impl Process {
    /// Opens the pidfd before reading the stat: if the id is reused in between, signals reach no process.
    fn open(pid: u32) -> Option<Self> {
        let descriptor = pidfd_open(pid_of(pid)?, PidfdFlags::NONBLOCK).ok()?;
        let stat = Stat::of(pid).filter(|stat| !stat.ended)?;
        Some(Self { pid, stat, descriptor })
    }

    pub(super) fn identity(&self) -> Option<Identity> {
        Some(Identity { pid: self.pid, starttime: self.stat.starttime, boot: boot()? })
    }

    /// The replica that its environment names, if its folder is below `root`.
    pub(super) fn replica_below(&self, root: &Path) -> Option<ReplicaName> {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let value = |mark: &str| {
            let variables = environment.split(|byte| *byte == 0);
            variables.filter_map(|variable| variable.strip_prefix(mark.as_bytes())?.strip_prefix(b"=")).next()
        };
        let replica = ReplicaName::parse(str::from_utf8(value(REPLICA_MARK)?).ok()?).ok()?;
        let directory = PathBuf::from(str::from_utf8(value(DIRECTORY_MARK)?).ok()?);
        (directory == root.join(replica.as_str())).then_some(replica)
    }

    /// Sends a signal. A process that has ended is not an error.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.descriptor, signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits until a pidfd reports the end of its process. Wake-ups may be spurious, so `runs` is checked after each.
pub(super) async fn readable_unless(descriptor: OwnedFd, runs: impl Fn() -> bool) -> io::Result<()> {
    #[expect(deprecated, reason = "an owned descriptor stays open, as the unsafe successor requires")]
    let watched = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
    loop {
        let mut guard = watched.readable().await?;
        if !runs() {
            return Ok(());
        }
        guard.clear_ready();
    }
}

/// All processes marked with a replica below `root`.
pub(super) fn marked_below(root: &Path) -> io::Result<Vec<(ReplicaName, Process)>> {
    let numbers = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut environment = Vec::new();
    let mut marked = Vec::new();
    for pid in numbers {
        // Most processes have no mark; this check is cheaper than opening a pidfd.
        if names_a_replica(pid, &mut environment)
            && let Some(process) = Process::open(pid)
            && let Some(replica) = process.replica_below(root)
        {
            marked.push((replica, process));
        }
    }
    Ok(marked)
}

/// Whether the process with this id may be marked with a replica: its environment contains the mark somewhere.
fn names_a_replica(pid: u32, environment: &mut Vec<u8>) -> bool {
    environment.clear();
    environment.reserve(ENVIRONMENT_BUFFER_BYTES);
    let file = fs::File::open(format!("/proc/{pid}/environ"));
    // `take` avoids a size lookup, which is useless here: files in /proc report a size of 0.
    let read = file.and_then(|file| file.take(u64::MAX).read_to_end(environment));
    read.is_ok() && memmem::find(environment, REPLICA_MARK.as_bytes()).is_some()
}

/// Children of a process, including adopted ones. The process is a number, or `self`.
pub(super) fn children_of(process: impl std::fmt::Display) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

pub(super) fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// A zombie, not yet reaped by its parent.
    ended: bool,
    parent: u32,
    starttime: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses the fields after the name, which may itself contain blanks and brackets.
    fn parse(line: &str) -> Option<Self> {
        let (_, after_name) = line.rsplit_once(") ")?;
        let mut fields = after_name.split(' ');
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let starttime = fields.nth(17)?.parse().ok()?;
        Some(Self { ended: matches!(state, "Z" | "X"), parent, starttime })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = "77 (a ) S 1) Z 12 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9 9";
        assert_eq!(Stat::parse(line), Some(Stat { ended: true, parent: 12, starttime: 4711 }));
        assert_eq!(Stat::parse("77 (a) S 1"), None);
    }

    #[test]
    fn this_process_is_found_by_its_identity_and_not_by_its_id_alone() {
        let own = Identity::of(std::process::id()).unwrap();
        assert_eq!(own.find().unwrap().identity(), Some(own.clone()));
        assert!(Identity { starttime: own.starttime + 1, ..own.clone() }.find().is_none());
        assert!(Identity { boot: "another".into(), ..own }.find().is_none());
    }
}
