//! How busy the replicas of this machine are: GPUs as NVML reports, CPUs by the time their processes used.

use super::ProcessDriver;
use super::process_table::children_of;
use crate::drivers::{DeviceId, ReplicaName};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// More processes than any engine has. Bounds the walk through a process table that changes meanwhile.
const MAX_PROCESSES: usize = 10_000;

impl ProcessDriver {
    /// Busy share of each GPU over its last sampling period, in percent. GPUs that do not report one are omitted.
    pub async fn gpu_busy(&self) -> Vec<(DeviceId, u32)> {
        self.blocking(|shared| Ok(shared.devices.nvml().map(read_gpu_busy).unwrap_or_default()))
            .await
            .unwrap_or_default()
    }

    /// CPU time of a replica's processes since their start.
    pub async fn cpu_time(&self, replica: &ReplicaName) -> Option<Duration> {
        let replica = replica.clone();
        let time = self.blocking(move |shared| {
            let engine = shared.directory(&replica).pids().and_then(|pids| pids.engine.find());
            Ok(engine.map(|engine| cpu_time_of_tree(engine.pid)))
        });
        time.await.ok().flatten()
    }
}

fn read_gpu_busy(nvml: &Nvml) -> Vec<(DeviceId, u32)> {
    let count = nvml.device_count().unwrap_or(0);
    let read = |index| {
        let gpu = nvml.device_by_index(index)?;
        Ok::<_, NvmlError>((DeviceId::new(&gpu.uuid()?), gpu.utilization_rates()?.gpu.min(100)))
    };
    (0..count).filter_map(|index| read(index).ok()).collect()
}

/// CPU time of a process and its descendants. A parent's figures include children that it has waited for.
fn cpu_time_of_tree(root: u32) -> Duration {
    let mut seen = BTreeSet::from([root]);
    let mut pending = vec![root];
    let mut ticks = 0;
    while let Some(pid) = pending.pop() {
        ticks += fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|line| ticks_of(&line)).unwrap_or(0);
        for child in children_of(pid) {
            if seen.len() < MAX_PROCESSES && seen.insert(child) {
                pending.push(child);
            }
        }
    }
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks.saturating_mul(1_000) / per_second)
}

/// User and system time of a process and its waited-for children, from a line of `/proc/<pid>/stat`.
fn ticks_of(line: &str) -> Option<u64> {
    let (_, after_name) = line.rsplit_once(") ")?;
    let times = after_name.split(' ').skip(11).take(4);
    Some(times.filter_map(|field| field.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_brackets_does_not_shift_the_fields() {
        let line = "77 (a ) S 1) S 12 77 77 0 -1 4194560 1 2 3 4 50 6 7 8 20 0 1 0 4711 9 9 9";
        assert_eq!(ticks_of(line), Some(50 + 6 + 7 + 8));
        assert_eq!(ticks_of("77 (a"), None);
    }

    #[test]
    fn the_time_of_a_child_adds_to_that_of_its_parent() {
        let before = cpu_time_of_tree(std::process::id());
        // More than a tick of the clock in which the kernel counts.
        let mut child = std::process::Command::new("sh");
        let counted = child.args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).status().unwrap();
        assert!(counted.success());
        assert!(cpu_time_of_tree(std::process::id()) > before);
    }

    /// `cargo test -p fleet --lib busy -- --ignored --nocapture` prints what NVML reports on this machine.
    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn the_gpus_of_this_machine_report_how_busy_they_are() {
        let nvml = Nvml::init().unwrap();
        println!("driver {:?}, NVML {:?}", nvml.sys_driver_version(), nvml.sys_nvml_version());
        for index in 0..nvml.device_count().unwrap() {
            let gpu = nvml.device_by_index(index).unwrap();
            println!(
                "{index}: {:?} {:?}: {:?}, memory {:?}, compute processes {:?}, MIG {:?}",
                gpu.name(),
                gpu.uuid(),
                gpu.utilization_rates(),
                gpu.memory_info().map(|memory| (memory.used, memory.total)),
                gpu.running_compute_processes_count(),
                gpu.mig_mode()
            );
        }
        for round in 0..3 {
            println!("round {round}: {:?}", read_gpu_busy(&nvml));
            #[expect(clippy::disallowed_methods, reason = "nothing else runs here")]
            std::thread::sleep(Duration::from_secs(1));
        }
        assert!(!read_gpu_busy(&nvml).is_empty());
    }
}
