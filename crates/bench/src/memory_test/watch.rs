//! Watches the memory of the gateway: that of its control group, or else that of its process.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use super::cgroup::Cgroup;

/// Without a control group there is no limit, and nothing is killed; the peak still shows what the gateway used.
pub(super) enum Watch {
    Group(Cgroup),
    Process,
}

impl Watch {
    /// A control group with this limit if one can be created.
    pub(super) fn new(name: &str, limit: u64) -> Self {
        match Cgroup::create(name, limit) {
            Ok(group) => Self::Group(group),
            Err(error) => {
                eprintln!("{name}: no memory limit, only the resident memory of the process is watched: {error:#}");
                Self::Process
            }
        }
    }

    /// The file to which the gateway writes its id to be limited.
    pub(super) fn members(&self) -> Option<PathBuf> {
        match self {
            Self::Group(group) => Some(group.members()),
            Self::Process => None,
        }
    }

    /// Memory without the page cache, which the kernel can take back.
    pub(super) fn anonymous_bytes(&self, pid: u32) -> anyhow::Result<u64> {
        match self {
            Self::Group(group) => group.anonymous_bytes(),
            Self::Process => {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).context("the gateway has ended")?;
                let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
                let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().context("RssAnon is a number")?;
                Ok(kilobytes << 10)
            }
        }
    }

    /// Memory of sockets in the kernel, which the limit includes; `None` if it is not known.
    pub(super) fn socket_bytes(&self) -> Option<u64> {
        match self {
            Self::Group(group) => group.socket_bytes(),
            Self::Process => None,
        }
    }

    /// How often the kernel killed a process of the group.
    pub(super) fn kills(&self) -> anyhow::Result<u64> {
        match self {
            Self::Group(group) => group.kills(),
            Self::Process => Ok(0),
        }
    }
}
