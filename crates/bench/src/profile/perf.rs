//! CPU time by thread and by system call, sampled with `perf`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use testkit::process::Launch;

use crate::proxy_bench::setup::process_stat::CpuTime;

const SAMPLES_PER_SECOND: u32 = 4_000;
/// The sum of the parts may differ from the CPU time by this part of it.
const MAX_DIFFERENCE: f64 = 0.1;
/// Until perf has attached itself to all threads.
const ATTACH: Duration = Duration::from_millis(500);
/// The threads that serve calls are named so, with a number.
const SERVING_THREAD: &str = "edge-";

/// Microseconds of CPU per call or event.
#[derive(Debug)]
pub(super) struct Samples {
    /// The serving thread outside of the kernel.
    pub(super) user: f64,
    /// The rest: the kernel on the serving thread by system call, and other threads.
    pub(super) others: Vec<(String, f64)>,
    /// As the kernel accounts it, without sampling.
    pub(super) measured: f64,
}

impl Samples {
    /// The sum of the parts, as a part of what was measured.
    pub(super) fn share(&self) -> f64 {
        (self.user + self.others.iter().map(|(_, cost)| cost).sum::<f64>()) / self.measured
    }

    pub(super) fn add_up(&self) -> bool {
        (self.share() - 1.0).abs() <= MAX_DIFFERENCE
    }
}

/// Runs a load, which returns its number of calls or events, and samples the process meanwhile. `None` without perf.
pub(super) async fn sample(
    pids: &[u32],
    scratch: &Path,
    load: impl Future<Output = anyhow::Result<u64>>,
) -> anyhow::Result<Option<Samples>> {
    let works = Command::new("perf").args(["stat", "-e", "cpu-clock", "true"]).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("perf does not work here: only instructions are counted");
        return Ok(None);
    }
    let file = scratch.join("perf.data");
    let pid = pids.first().context("a gateway has a process")?.to_string();
    let frequency = SAMPLES_PER_SECOND.to_string();
    let launch = Launch::new("perf").arguments(["record", "-q", "-e", "cpu-clock", "-g", "--kernel-callchains", "-F"]);
    let launch = launch.arguments([&frequency, "-p", &pid, "-o"]).arguments([&file]);
    let mut recording = launch.start("perf", scratch)?;
    tokio::time::sleep(ATTACH).await;
    let before = CpuTime::now(pids)?;
    let units = load.await? as f64;
    let measured = CpuTime::now(pids)?.since(&before).as_secs_f64() * 1e6 / units;
    recording.signal("INT")?;
    recording.wait();
    let script = Command::new("perf").args(["script", "-F", "comm,tid,ip,sym", "-i"]).arg(&file).output()?;
    let counts = read(&String::from_utf8_lossy(&script.stdout));
    let micros = |count: u64| count as f64 * 1e6 / f64::from(SAMPLES_PER_SECOND) / units;
    let mut others: Vec<_> = counts.others.into_iter().map(|(name, count)| (name, micros(count))).collect();
    others.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    Ok(Some(Samples { user: micros(counts.user), others, measured }))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct SampleCounts {
    user: u64,
    others: BTreeMap<String, u64>,
}

/// Reads the output of `perf script`: per sample a line with the thread, one for each frame, and an empty one.
fn read(script: &str) -> SampleCounts {
    let mut counts = SampleCounts::default();
    for sample in script.split("\n\n").filter(|sample| !sample.trim().is_empty()) {
        let mut lines = sample.trim_start_matches('\n').lines();
        let thread = lines.next().and_then(|line| line.split_whitespace().next()).unwrap_or_default();
        let frames: Vec<&str> =
            lines.filter_map(|line| line.trim().split_once(' ')).map(|(_, symbol)| symbol).collect();
        if !thread.starts_with(SERVING_THREAD) {
            let group = thread.trim_end_matches(|character: char| character.is_ascii_digit() || character == '-');
            *counts.others.entry(format!("thread {group}")).or_default() += 1;
        } else if let Some(call) = frames.iter().rev().find_map(|frame| system_call(frame)) {
            *counts.others.entry(format!("kernel: {call}")).or_default() += 1;
        } else if frames.len() > 1 {
            // Only frames of the kernel are recorded beside the first.
            *counts.others.entry("kernel: interrupts and switches".to_owned()).or_default() += 1;
        } else {
            counts.user += 1;
        }
    }
    counts
}

/// The name of a system call from the symbol of its function, such as `__x64_sys_sendto+0x20`.
fn system_call(symbol: &str) -> Option<&str> {
    let name = symbol.strip_prefix("__x64_sys_").or_else(|| symbol.strip_prefix("__arm64_sys_"))?;
    name.split(['+', ' ']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_call_add_up_within_a_tenth() {
        for (kernel, add_up) in [(2.0, false), (3.1, true), (4.9, true), (5.1, false)] {
            let samples = Samples { user: 6.0, others: vec![("kernel: sendto".into(), kernel)], measured: 10.0 };
            assert_eq!(samples.add_up(), add_up, "{kernel}");
        }
    }

    #[test]
    fn samples_belong_to_a_system_call_to_user_code_or_to_another_thread() {
        let script = "edge-0  17 \n\tffff tcp_sendmsg\n\tffff __x64_sys_sendto\n\tffff do_syscall_64\n\n\
                      edge-0  17 \n\t55aa edge::connection::serve\n\n\
                      edge-0  17 \n\tffff finish_task\n\tffff asm_sysvec\n\n\
                      background-2  19 \n\t55aa store::usage\n\n";
        let others = [("kernel: interrupts and switches", 1), ("kernel: sendto", 1), ("thread background", 1)];
        let others = others.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(read(script), SampleCounts { user: 1, others });
    }
}
