//! The kernel's list of processes, and signals that reach the right one only.
//!
//! A number alone is not a process: it may have been given to another one since. A process is known by its number, the
//! tick at which it started and the boot, and by the marks in its environment. It is held by a descriptor while it is
//! looked at and signalled, so nothing else can ever be hit.

use super::environment::{DIRECTORY_MARK, REPLICA_MARK};
use crate::drivers::ReplicaName;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// More than most environments have.
const ENVIRONMENT_AT_ONCE: usize = 16 << 10;

/// What tells a process from every other one on this machine, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) pid: u32,
    /// In the kernel's ticks since the boot.
    pub(super) starttime: u64,
    boot: String,
}

impl Identity {
    /// Of the process that has this number now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, starttime: Stat::of(pid)?.starttime, boot: boot()? })
    }

    /// The process, if it still runs.
    pub(super) fn find(&self) -> Option<Process> {
        let process = Process::open(self.pid)?;
        (process.stat.starttime == self.starttime && boot()? == self.boot).then_some(process)
    }

    /// Takes the exit status of a process that became our child when its parent ended, as it does in a container
    /// where we are the first process.
    pub(super) fn reap(&self) {
        let is_it = |stat: &Stat| stat.ended && stat.starttime == self.starttime && stat.parent == std::process::id();
        if Stat::of(self.pid).as_ref().is_some_and(is_it) {
            let _ = waitpid(pid_of(self.pid), WaitOptions::NOHANG);
        }
    }
}

/// A process that runs, or ran a moment ago.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    stat: Stat,
    descriptor: OwnedFd,
}

impl Process {
    /// First the descriptor, then what it is: if the number changes hands in between, signals hit nobody.
    fn open(pid: u32) -> Option<Self> {
        let descriptor = pidfd_open(pid_of(pid)?, PidfdFlags::NONBLOCK).ok()?;
        let stat = Stat::of(pid).filter(|stat| !stat.ended)?;
        Some(Self { pid, stat, descriptor })
    }

    pub(super) fn identity(&self) -> Option<Identity> {
        Some(Identity { pid: self.pid, starttime: self.stat.starttime, boot: boot()? })
    }

    /// The replica that its environment names, if that is one below `root`.
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

    /// A process that has ended by now is fine.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.descriptor, signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for its end.
    pub(super) async fn ended(self) -> io::Result<()> {
        let Self { pid, stat, descriptor } = self;
        let runs = || Stat::of(pid).is_some_and(|now| !now.ended && now.starttime == stat.starttime);
        readable_unless(descriptor, runs).await
    }
}

/// Waits until a descriptor of a process tells its end. Being woken proves nothing, so `runs` is asked then.
pub(super) async fn readable_unless(descriptor: OwnedFd, runs: impl Fn() -> bool) -> io::Result<()> {
    #[expect(deprecated, reason = "an owned descriptor stays open, which is all that the unsafe successor asks for")]
    let watched = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
    loop {
        let mut woken = watched.readable().await?;
        if !runs() {
            return Ok(());
        }
        woken.clear_ready();
    }
}

/// Every process that is marked as belonging to a replica below `root`.
pub(super) fn marked_below(root: &Path) -> io::Result<Vec<(ReplicaName, Process)>> {
    let numbers = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut environment = Vec::new();
    let mut marked = Vec::new();
    for pid in numbers {
        // Nearly every process is somebody else's, and one look tells that.
        if names_a_replica(pid, &mut environment)
            && let Some(process) = Process::open(pid)
            && let Some(replica) = process.replica_below(root)
        {
            marked.push((replica, process));
        }
    }
    Ok(marked)
}

/// Whether the process that has this number now is marked with any replica.
fn names_a_replica(pid: u32, environment: &mut Vec<u8>) -> bool {
    environment.clear();
    environment.reserve(ENVIRONMENT_AT_ONCE);
    let file = fs::File::open(format!("/proc/{pid}/environ"));
    // A length that is said spares the question for one, which the kernel answers with nothing here.
    let read = file.and_then(|file| file.take(u64::MAX).read_to_end(environment));
    read.is_ok() && environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(REPLICA_MARK.as_bytes()))
}

/// The processes whose parent this process is, also those that it inherited.
pub(super) fn own_children() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    children.flat_map(|line| line.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
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
    /// A zombie: it waits for its parent to look.
    ended: bool,
    parent: u32,
    starttime: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The fields behind the name, which may itself hold blanks and brackets.
    fn parse(line: &str) -> Option<Self> {
        let (_, behind_name) = line.rsplit_once(") ")?;
        let mut fields = behind_name.split(' ');
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
    fn a_name_with_brackets_does_not_move_the_fields() {
        let line = "77 (a ) S 1) Z 12 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9 9";
        assert_eq!(Stat::parse(line), Some(Stat { ended: true, parent: 12, starttime: 4711 }));
        assert_eq!(Stat::parse("77 (a) S 1"), None);
    }

    #[test]
    fn this_process_is_found_by_its_identity_and_not_by_its_number_alone() {
        let own = Identity::of(std::process::id()).unwrap();
        assert_eq!(own.find().unwrap().identity(), Some(own.clone()));
        assert!(Identity { starttime: own.starttime + 1, ..own.clone() }.find().is_none());
        assert!(Identity { boot: "another".into(), ..own }.find().is_none());
    }
}
