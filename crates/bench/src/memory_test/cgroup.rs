//! A control group with a memory limit, of version 2 or 1.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const V2_ROOT: &str = "/sys/fs/cgroup";
const V1_ROOT: &str = "/sys/fs/cgroup/memory";

pub(super) struct Cgroup {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Cgroup {
    /// Creates a group below the root of the hierarchy; needs root.
    pub(super) fn create(name: &str, limit: u64) -> anyhow::Result<Self> {
        let has_v2 = fs::read_to_string(Path::new(V2_ROOT).join("cgroup.controllers"))
            .is_ok_and(|controllers| controllers.split_whitespace().any(|name| name == "memory"));
        let (root, version) = match (has_v2, Path::new(V1_ROOT).is_dir()) {
            (true, _) => (V2_ROOT, Version::V2),
            (false, true) => (V1_ROOT, Version::V1),
            (false, false) => bail!("no memory controller below {V2_ROOT}"),
        };
        let folder = Path::new(root).join(format!("forebay-memory-test-{}-{name}", std::process::id()));
        fs::create_dir(&folder)
            .with_context(|| format!("cannot create {}: that needs root and a writable cgroup", folder.display()))?;
        let group = Self { folder, version };
        if version == Version::V2 {
            fs::write(Path::new(root).join("cgroup.subtree_control"), "+memory")
                .context("cannot enable the controller")?;
        }
        let file = if version == Version::V2 { "memory.max" } else { "memory.limit_in_bytes" };
        fs::write(group.folder.join(file), limit.to_string()).context("cannot set the memory limit")?;
        if version == Version::V1 {
            // Without a limit, memory of sockets is not counted. Kernels without it do not count it either way.
            let _ = fs::write(group.folder.join("memory.kmem.tcp.limit_in_bytes"), limit.to_string());
        }
        Ok(group)
    }

    /// A process joins by writing its id to this file.
    pub(super) fn members(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// Memory without the page cache, which the kernel can take back.
    pub(super) fn anonymous_bytes(&self) -> anyhow::Result<u64> {
        let name = if self.version == Version::V2 { "anon" } else { "total_rss" };
        self.number("memory.stat", name)
    }

    /// Memory of sockets in the kernel; `None` if it is not counted. Version 1 counts it apart from the limit.
    pub(super) fn socket_bytes(&self) -> Option<u64> {
        match self.version {
            Version::V2 => self.number("memory.stat", "sock").ok(),
            Version::V1 => {
                let text = fs::read_to_string(self.folder.join("memory.kmem.tcp.usage_in_bytes")).ok()?;
                text.trim().parse().ok()
            }
        }
    }

    /// How often the kernel killed a process of the group.
    pub(super) fn kills(&self) -> anyhow::Result<u64> {
        let file = if self.version == Version::V2 { "memory.events" } else { "memory.oom_control" };
        self.number(file, "oom_kill")
    }

    fn number(&self, file: &str, name: &str) -> anyhow::Result<u64> {
        let text = fs::read_to_string(self.folder.join(file)).with_context(|| format!("cannot read {file}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse().ok()).with_context(|| format!("{file} has no {name}"))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Succeeds once its last process has been reaped.
        let _ = fs::remove_dir(&self.folder);
    }
}
