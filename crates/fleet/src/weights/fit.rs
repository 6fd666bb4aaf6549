//! Whether a model fits on this machine.

use crate::machine::{Machine, MachineGpu};
use weights::{DISK_RESERVE, rough};

/// Working memory of an engine, in addition to its weights: a share of them for the KV cache, within these bounds.
const WORKING_SHARE: u64 = 4;
const LEAST_WORKING_BYTES: u64 = 256 << 20;
const MOST_WORKING_BYTES: u64 = 8 << 30;

/// Whether weights fit, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// An estimate: weights and working memory.
    pub needed_memory_bytes: u64,
    pub memory: Verdict,
    /// The GPU with the most free memory; `None` without GPUs.
    pub gpu: Option<Verdict>,
    pub disk: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub fits: bool,
    pub why: String,
}

impl Fit {
    /// Whether one engine can run here.
    pub fn fits(&self) -> bool {
        self.disk.fits && (self.memory.fits || self.gpu.as_ref().is_some_and(|gpu| gpu.fits))
    }
}

/// Judges weights of this size, of which `missing` bytes are still to be downloaded.
pub(crate) fn judge(bytes: u64, missing: u64, machine: &Machine) -> Fit {
    let working = (bytes / WORKING_SHARE).clamp(LEAST_WORKING_BYTES, MOST_WORKING_BYTES);
    let needed = bytes.saturating_add(working);
    let roomiest = machine.gpus.iter().max_by_key(|gpu| gpu.free_memory_bytes);
    Fit {
        needed_memory_bytes: needed,
        memory: judge_memory(needed, machine),
        gpu: roomiest.map(|gpu| judge_gpu(needed, gpu)),
        disk: judge_disk(missing, machine.free_disk_bytes),
    }
}

fn judge_memory(needed: u64, machine: &Machine) -> Verdict {
    let shown = rough(needed);
    match (machine.memory_bytes, machine.available_memory_bytes) {
        (Some(total), _) if total < needed => {
            Verdict { fits: false, why: format!("needs about {shown}; this machine has {}", rough(total)) }
        }
        (_, Some(available)) if available < needed => {
            let why =
                format!("needs about {shown}; {} are available now, and more if other engines stop", rough(available));
            Verdict { fits: false, why }
        }
        (_, Some(available)) => {
            Verdict { fits: true, why: format!("needs about {shown} of {} that are available", rough(available)) }
        }
        (_, None) => Verdict { fits: true, why: format!("needs about {shown}; the memory of this machine is unknown") },
    }
}

fn judge_gpu(needed: u64, gpu: &MachineGpu) -> Verdict {
    let (shown, free) = (rough(needed), rough(gpu.free_memory_bytes));
    let why = format!("needs about {shown}; {} has {free} free", gpu.gpu_type);
    Verdict { fits: gpu.free_memory_bytes >= needed, why }
}

pub(crate) fn judge_disk(missing: u64, free: Option<u64>) -> Verdict {
    let Some(free) = free else {
        return Verdict { fits: true, why: "the free space on the disk is unknown".to_owned() };
    };
    if missing == 0 {
        return Verdict { fits: true, why: "on the disk already".to_owned() };
    }
    let fits = free >= missing.saturating_add(DISK_RESERVE);
    let reserve = rough(DISK_RESERVE);
    let why = format!("{} to download; {} free, of which {reserve} are kept", rough(missing), rough(free));
    Verdict { fits, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn machine(memory: u64, available: u64, disk: u64) -> Machine {
        Machine {
            memory_bytes: Some(memory * GIB),
            available_memory_bytes: Some(available * GIB),
            free_disk_bytes: Some(disk * GIB),
            gpus: Vec::new(),
        }
    }

    #[test]
    fn weights_need_working_memory_and_leave_space_on_the_disk() {
        let fit = judge(4 * GIB, 4 * GIB, &machine(16, 8, 10));
        assert_eq!((fit.needed_memory_bytes, fit.fits()), (5 * GIB, true), "{fit:?}");
        let tight = judge(4 * GIB, 4 * GIB, &machine(16, 4, 10));
        assert!(!tight.fits() && tight.memory.why.contains("4.0 GiB are available now"), "{tight:?}");
        let small = judge(40 * GIB, 0, &machine(16, 8, 10));
        assert!(!small.fits() && small.memory.why.contains("this machine has 16.0 GiB"), "{small:?}");
        let full = judge(4 * GIB, 4 * GIB, &machine(16, 8, 4));
        assert!(!full.fits() && !full.disk.fits && full.memory.fits, "{full:?}");
        assert!(judge(4 * GIB, 0, &machine(16, 8, 0)).fits(), "already on the disk");
        assert!(judge(4 * GIB, 4 * GIB, &Machine::default()).fits(), "nothing is known");
        assert!(!judge(u64::MAX, u64::MAX, &machine(16, 8, 10)).fits());
    }

    #[test]
    fn a_gpu_with_room_is_enough() {
        let gpu = |free: u64| MachineGpu {
            id: "GPU-1".to_owned(),
            gpu_type: "nvidia/h100".to_owned(),
            memory_bytes: 80 * GIB,
            free_memory_bytes: free * GIB,
        };
        let with = |free| Machine { gpus: vec![gpu(2), gpu(free)], ..machine(16, 8, 100) };
        let fit = judge(40 * GIB, 40 * GIB, &with(60));
        assert!(fit.fits() && !fit.memory.fits, "{fit:?}");
        assert!(!judge(40 * GIB, 40 * GIB, &with(20)).fits());
    }
}
