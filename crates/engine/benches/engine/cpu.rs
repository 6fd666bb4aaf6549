//! Processor time by thread: steadier than any clock on a machine that others use too.

use anyhow::Context;
use std::fs;
use std::ops::Sub;

/// What the engine's threads have used so far, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct CpuTime {
    computing: u64,
    all: u64,
}

impl CpuTime {
    /// Linux only: the scheduler's own count for each thread.
    pub(crate) fn of(process: u32) -> anyhow::Result<Self> {
        let mut time = Self { computing: 0, all: 0 };
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            let thread = thread?.path();
            let used = fs::read_to_string(thread.join("schedstat"))?;
            let used: u64 = used.split_whitespace().next().context("an empty schedstat")?.parse()?;
            time.all += used;
            // OpenMP's threads have the name of the one that started them.
            if fs::read_to_string(thread.join("comm"))?.trim() == "decode" {
                time.computing += used;
            }
        }
        Ok(time)
    }

    /// How much the threads that speak HTTP add to those that compute, in percent.
    pub(crate) fn added_by_http(self) -> f64 {
        (self.all - self.computing) as f64 / self.computing as f64 * 100.0
    }
}

impl Sub for CpuTime {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { computing: self.computing - before.computing, all: self.all - before.all }
    }
}
