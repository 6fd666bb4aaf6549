//! How busy this machine's replicas are: cards by what NVML says, processors by the time their processes took.

use super::ProcessDriver;
use crate::drivers::{DeviceId, ReplicaName};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// More processes than any engine has; a table that changes while it is read must not be followed for ever.
const MOST_PROCESSES: usize = 10_000;

impl ProcessDriver {
    /// The part of the last moment in which each card computed, in percent. A card that does not say is absent.
    pub async fn cards_busy(&self) -> Vec<(DeviceId, u32)> {
        self.blocking(|shared| Ok(shared.devices.nvml().map(cards_busy).unwrap_or_default())).await.unwrap_or_default()
    }

    /// The time that a replica's processes have taken on this machine's processors since they were started.
    pub async fn cpu_time(&self, replica: &ReplicaName) -> Option<Duration> {
        let replica = replica.clone();
        let time = self.blocking(move |shared| {
            let engine = shared.directory(&replica).pids().and_then(|pids| pids.engine.find());
            Ok(engine.map(|engine| cpu_time_of_family(engine.pid)))
        });
        time.await.ok().flatten()
    }
}

fn cards_busy(nvml: &Nvml) -> Vec<(DeviceId, u32)> {
    let count = nvml.device_count().unwrap_or(0);
    let read = |index| {
        let card = nvml.device_by_index(index)?;
        Ok::<_, NvmlError>((DeviceId::new(&card.uuid()?), card.utilization_rates()?.gpu.min(100)))
    };
    (0..count).filter_map(|index| read(index).ok()).collect()
}

/// Of a process and all below it. Children that have ended and were waited for are in their parent's account.
fn cpu_time_of_family(root: u32) -> Duration {
    let mut seen = BTreeSet::from([root]);
    let mut left = vec![root];
    let mut ticks = 0;
    while let Some(pid) = left.pop() {
        ticks += fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|line| ticks_of(&line)).unwrap_or(0);
        for child in children_of(pid) {
            if seen.len() < MOST_PROCESSES && seen.insert(child) {
                left.push(child);
            }
        }
    }
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks.saturating_mul(1_000) / per_second)
}

/// The sum of its own and its children's time, in user mode and in the kernel.
fn ticks_of(line: &str) -> Option<u64> {
    let (_, behind_name) = line.rsplit_once(") ")?;
    let times = behind_name.split(' ').skip(11).take(4);
    Some(times.filter_map(|field| field.parse::<u64>().ok()).sum())
}

fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_behind_a_name_with_brackets() {
        let line = "77 (a ) S 1) S 12 77 77 0 -1 4194560 1 2 3 4 50 6 7 8 20 0 1 0 4711 9 9 9";
        assert_eq!(ticks_of(line), Some(50 + 6 + 7 + 8));
        assert_eq!(ticks_of("77 (a"), None);
    }

    #[test]
    fn a_child_that_works_adds_to_its_parents_time() {
        let before = cpu_time_of_family(std::process::id());
        // It counts to three million, which takes any machine some hundredths of a second.
        let mut child = std::process::Command::new("sh");
        let counted = child.args(["-c", "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done"]).status().unwrap();
        assert!(counted.success());
        assert!(cpu_time_of_family(std::process::id()) > before);
    }

    /// `cargo test -p fleet --lib busy -- --ignored --nocapture` prints what NVML says on this machine.
    #[test]
    #[ignore = "needs an NVIDIA card"]
    fn the_cards_of_this_machine_tell_how_busy_they_are() {
        let nvml = Nvml::init().unwrap();
        println!("driver {:?}, NVML {:?}", nvml.sys_driver_version(), nvml.sys_nvml_version());
        for index in 0..nvml.device_count().unwrap() {
            let card = nvml.device_by_index(index).unwrap();
            println!(
                "{index}: {:?} {:?}: {:?}, memory {:?}, compute processes {:?}, MIG {:?}",
                card.name(),
                card.uuid(),
                card.utilization_rates(),
                card.memory_info().map(|memory| (memory.used, memory.total)),
                card.running_compute_processes_count(),
                card.mig_mode()
            );
        }
        for round in 0..3 {
            println!("round {round}: {:?}", cards_busy(&nvml));
            #[expect(clippy::disallowed_methods, reason = "nothing else runs here")]
            std::thread::sleep(Duration::from_secs(1));
        }
        assert!(!cards_busy(&nvml).is_empty());
    }
}
