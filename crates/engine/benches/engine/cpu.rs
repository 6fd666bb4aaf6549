//! CPU time per thread, which is more stable than wall-clock time on a shared machine.

use anyhow::Context;
use std::fs;
use std::ops::Sub;

/// CPU time of the engine's threads in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct CpuTime {
    computing: u64,
    all: u64,
}

impl CpuTime {
    /// Reads the scheduler statistics of each thread (Linux only).
    pub(crate) fn of(process: u32) -> anyhow::Result<Self> {
        let mut time = Self { computing: 0, all: 0 };
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            let thread = thread?.path();
            let used = fs::read_to_string(thread.join("schedstat"))?;
            let used: u64 = used.split_whitespace().next().context("schedstat is empty")?.parse()?;
            time.all += used;
            // OpenMP threads inherit the name of the thread that started them.
            if fs::read_to_string(thread.join("comm"))?.trim() == "decode" {
                time.computing += used;
            }
        }
        Ok(time)
    }

    /// CPU time of the HTTP threads in percent of the compute threads.
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
