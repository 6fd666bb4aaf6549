//! CPU time and memory of processes, from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::Context;

/// CPU time of every thread of some processes at one point in time.
pub(crate) struct CpuTime {
    /// By process and thread.
    nanoseconds: HashMap<(u32, u32), u64>,
}

impl CpuTime {
    /// Reads `schedstat`, which counts nanoseconds; `stat` counts in steps of ten milliseconds.
    pub(crate) fn now(pids: &[u32]) -> anyhow::Result<Self> {
        let mut nanoseconds = HashMap::new();
        for &pid in pids {
            let tasks =
                fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} has ended"))?;
            for task in tasks {
                let task = task?;
                let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
                // The thread may have ended meanwhile.
                let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else { continue };
                let spent = text.split_whitespace().next().and_then(|number| number.parse().ok());
                nanoseconds.insert((pid, thread), spent.context("schedstat starts with the time on the CPU")?);
            }
        }
        Ok(Self { nanoseconds })
    }

    /// CPU time since `earlier`. Threads that ended meanwhile are lost; new ones count completely.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let spent =
            |(thread, now): (&(u32, u32), &u64)| now - earlier.nanoseconds.get(thread).copied().unwrap_or(0).min(*now);
        Duration::from_nanos(self.nanoseconds.iter().map(spent).sum())
    }
}

/// CPU time of a process in steps of ten milliseconds. Unlike [`CpuTime`] it includes threads that have ended.
pub(crate) fn total_cpu(pid: u32) -> anyhow::Result<Duration> {
    /// The unit of `stat` on every Linux.
    const TICK_MILLIS: u64 = 10;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).with_context(|| format!("process {pid} has ended"))?;
    // The name, in parentheses, may contain spaces. Behind it, user and system time are the 12th and 13th number.
    let (_, numbers) = stat.rsplit_once(')').context("stat contains the name of the program")?;
    let ticks: u64 = numbers.split_whitespace().skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * TICK_MILLIS))
}

/// Total resident memory of the processes in megabytes.
pub(crate) fn resident_megabytes(pids: &[u32]) -> anyhow::Result<f64> {
    let mut kilobytes = 0.0;
    for pid in pids {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        kilobytes += line.trim().trim_end_matches(" kB").parse::<f64>()?;
    }
    Ok(kilobytes * 1024.0 / 1_000_000.0)
}

/// The direct children of a process.
pub(crate) fn children(pid: u32) -> anyhow::Result<Vec<u32>> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    text.split_whitespace().map(|pid| pid.parse().context("a process id")).collect()
}
