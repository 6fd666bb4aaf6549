//! This machine: its memory, its disk and its GPUs.

pub mod memory_limit;

use crate::drivers::process::GpuMemory;
use std::path::Path;
use weights::free_disk;

/// What this machine has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// `None` if unknown, as below.
    pub memory_bytes: Option<u64>,
    pub available_memory_bytes: Option<u64>,
    pub free_disk_bytes: Option<u64>,
    pub gpus: Vec<MachineGpu>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineGpu {
    pub id: String,
    pub gpu_type: String,
    pub memory_bytes: u64,
    pub free_memory_bytes: u64,
}

/// `folder` is on the disk in question; it need not exist yet.
pub fn observe(folder: &Path, gpus: Vec<GpuMemory>) -> Machine {
    let limit = memory_limit::detect();
    let available = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(available_memory);
    let gpu = |gpu: GpuMemory| MachineGpu {
        id: gpu.id.to_string(),
        gpu_type: gpu.gpu_type,
        memory_bytes: gpu.total_bytes,
        free_memory_bytes: gpu.free_bytes,
    };
    Machine {
        memory_bytes: limit,
        available_memory_bytes: available.map(|available| limit.map_or(available, |limit| available.min(limit))),
        free_disk_bytes: free_disk(folder),
        gpus: gpus.into_iter().map(gpu).collect(),
    }
}

/// The line `MemAvailable:  1024 kB` of `/proc/meminfo`.
fn available_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_and_a_disk() {
        let folder = tempfile::tempdir().unwrap();
        let machine = observe(&folder.path().join("not/yet"), Vec::new());
        assert!(machine.memory_bytes.is_some_and(|bytes| bytes > 0) && machine.free_disk_bytes.is_some());
        assert_eq!(available_memory("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
    }
}
