//! How much memory this process may use.

use std::path::{Path, PathBuf};

/// The smallest limit of the process's control groups, at most the memory of the machine. `None` if neither is known.
pub fn detect() -> Option<u64> {
    smallest(|path| std::fs::read_to_string(path).ok())
}

/// Control groups of version 2 (`0::/path`, file `memory.max`) and of version 1 (`4:memory:/path`, file
/// `memory.limit_in_bytes`). A limit may be set on any ancestor. In a container the path may be that of the host, so that
/// only the root of the mount exists.
fn smallest(read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mut limits: Vec<u64> = machine(&read(Path::new("/proc/meminfo")).unwrap_or_default()).into_iter().collect();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (mounts, file): (&[&str], _) = if controllers.is_empty() {
            (&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (&["/sys/fs/cgroup/memory"], "memory.limit_in_bytes")
        } else {
            continue;
        };
        for folder in mounts.iter().flat_map(|mount| with_ancestors(mount, group)) {
            limits.extend(read(&folder.join(file)).and_then(|text| text.trim().parse::<u64>().ok()));
        }
    }
    limits.into_iter().min()
}

/// The folder of a group and those of its ancestors, up to the mount.
fn with_ancestors(mount: &str, group: &str) -> Vec<PathBuf> {
    let path = Path::new(mount).join(group.trim_start_matches('/'));
    path.ancestors().take_while(|folder| folder.starts_with(mount)).map(Path::to_owned).collect()
}

/// The line `MemTotal:  1024 kB` of `/proc/meminfo`.
fn machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(files: &[(&str, &str)]) -> Option<u64> {
        let found = |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path);
        smallest(|path| found(path).map(|(_, text)| (*text).to_owned()))
    }

    const MACHINE: (&str, &str) = ("/proc/meminfo", "MemFree: 1 kB\nMemTotal:       4096 kB\n");

    #[test]
    fn the_smallest_limit_counts_wherever_it_is_set() {
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[MACHINE]), Some(4 << 20));
        let v2 = ("/proc/self/cgroup", "0::/pod/container\n");
        assert_eq!(with(&[MACHINE, v2, ("/sys/fs/cgroup/pod/container/memory.max", "1048576\n")]), Some(1 << 20));
        assert_eq!(with(&[MACHINE, v2, ("/sys/fs/cgroup/pod/memory.max", "2097152\n")]), Some(2 << 20));
        assert_eq!(with(&[MACHINE, v2, ("/sys/fs/cgroup/memory.max", "1024\n")]), Some(1_024), "the host's path");
        assert_eq!(with(&[MACHINE, v2, ("/sys/fs/cgroup/pod/memory.max", "max\n")]), Some(4 << 20));
        let v1 = ("/proc/self/cgroup", "5:cpu,cpuacct:/\n4:hugetlb,memory:/pod\n0::/\n");
        let none = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(with(&[MACHINE, v1, none]), Some(4 << 20));
        let limit = ("/sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "2048\n");
        assert_eq!(with(&[MACHINE, v1, none, limit]), Some(2_048));
        assert_eq!(with(&[limit, MACHINE]), Some(4 << 20), "another process's group");
    }
}
