//! Runs make targets one after the other and prints how long each took.
//!
//! A step is one target, or lanes that run side by side: `a+b,c` runs a next to b and then c, each line of output
//! prefixed with its target. The run stops after the first step that fails, a lane after its first target; the table is
//! printed either way.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::repository::Repository;

/// A target that has ended.
struct Timing {
    seconds: u64,
    succeeded: bool,
    /// The number of its lane, if there was more than one.
    lane: Option<usize>,
    target: String,
}

/// Targets lead process groups, so that a signal ends all of their processes.
#[derive(Default)]
struct Running {
    groups: Vec<u32>,
    /// The signal that ended the run.
    signal: Option<i32>,
}

struct Run<'a> {
    repository: &'a Repository,
    make: String,
    running: Mutex<Running>,
    timings: Mutex<Vec<Timing>>,
}

pub(crate) fn run(repository: &Repository, steps: &[&str]) -> Result<ExitCode> {
    let make = std::env::var("MAKE").unwrap_or_else(|_| "make".to_owned());
    let run = Run { repository, make, running: Mutex::default(), timings: Mutex::default() };
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let handle = signals.handle();
    let began = Instant::now();
    let result = thread::scope(|scope| {
        scope.spawn(|| signals.forever().for_each(|signal| run.stop(signal)));
        let result = steps.iter().try_fold(true, |succeeded, step| anyhow::Ok(succeeded && run.step(step)?));
        handle.close();
        result
    });
    let timings = run.timings.into_inner().unwrap_or_else(PoisonError::into_inner);
    print!("{}", table(&timings, began.elapsed().as_secs()));
    let failed: Vec<&str> =
        timings.iter().filter(|timing| !timing.succeeded).map(|timing| timing.target.as_str()).collect();
    if !failed.is_empty() {
        eprintln!("==> {} failed", failed.join(", "));
    }
    let signal = run.running.into_inner().unwrap_or_else(PoisonError::into_inner).signal;
    Ok(match signal.and_then(|signal| u8::try_from(128 + signal).ok()) {
        Some(status) => ExitCode::from(status),
        None => ExitCode::from(u8::from(!result?)),
    })
}

impl Run<'_> {
    /// Whether all targets of the step succeeded.
    fn step(&self, step: &str) -> Result<bool> {
        let lanes = parse(step);
        let run_lane = |(number, targets): (usize, &Vec<&str>)| -> Result<bool> {
            let lane = (lanes.len() > 1).then_some(number + 1);
            targets.iter().try_fold(true, |succeeded, target| Ok(succeeded && self.target(lane, target)?))
        };
        thread::scope(|scope| {
            let started: Vec<_> = lanes.iter().enumerate().map(|lane| scope.spawn(move || run_lane(lane))).collect();
            let ended = started.into_iter().map(|lane| lane.join().expect("a lane does not panic"));
            ended.collect::<Result<Vec<bool>>>().map(|lanes| lanes.into_iter().all(|succeeded| succeeded))
        })
    }

    fn target(&self, lane: Option<usize>, target: &str) -> Result<bool> {
        let mut command = Command::new(&self.make);
        command.current_dir(&self.repository.root).args(["--no-print-directory", target]).process_group(0);
        let began = Instant::now();
        let output = if lane.is_some() {
            let (reader, writer) = std::io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            Some(reader)
        } else {
            None
        };
        let Some(mut child) = self.start(&mut command)? else { return Ok(false) };
        drop(command); // and with it our ends of the pipe
        if let Some(output) = output {
            for line in BufReader::new(output).split(b'\n') {
                let line = [format!("[{target}] ").as_bytes(), &line?, b"\n"].concat();
                std::io::stdout().write_all(&line)?;
            }
        }
        let succeeded = child.wait()?.success();
        self.running().groups.retain(|group| *group != child.id());
        let timing = Timing { seconds: began.elapsed().as_secs(), succeeded, lane, target: target.to_owned() };
        self.timings.lock().unwrap_or_else(PoisonError::into_inner).push(timing);
        Ok(succeeded)
    }

    /// Starts a process unless a signal has ended the run.
    fn start(&self, command: &mut Command) -> Result<Option<Child>> {
        let mut running = self.running();
        if running.signal.is_some() {
            return Ok(None);
        }
        let child = command.spawn().with_context(|| format!("cannot start {}", self.make))?;
        running.groups.push(child.id());
        Ok(Some(child))
    }

    fn stop(&self, signal: i32) {
        let mut running = self.running();
        running.signal.get_or_insert(signal);
        for group in &running.groups {
            // Fails if the group has ended meanwhile.
            let _ = Command::new("kill").args(["-TERM", "--", &format!("-{group}")]).status();
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The targets of each lane of a step.
fn parse(step: &str) -> Vec<Vec<&str>> {
    step.split('+').map(|lane| lane.split(',').collect()).collect()
}

fn table(timings: &[Timing], total: u64) -> String {
    let mut table = String::from("==> Where the time went\n");
    for Timing { seconds, succeeded, lane, target } in timings {
        let lane = lane.map(|lane| format!("  (lane {lane})")).unwrap_or_default();
        let failed = if *succeeded { "" } else { "  FAILED" };
        let _ = writeln!(table, "{seconds:6} s  {target}{lane}{failed}");
    }
    let _ = writeln!(table, "{total:6} s  total");
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_divided_by_plus_and_targets_by_comma() {
        assert_eq!(parse("lint"), [["lint"]]);
        assert_eq!(parse("a+b,c"), [vec!["a"], vec!["b", "c"]]);
    }

    #[test]
    fn the_table_shows_lanes_and_failures() {
        let timing =
            |seconds, succeeded, lane, target: &str| Timing { seconds, succeeded, lane, target: target.to_owned() };
        let timings = [timing(1, true, None, "lint"), timing(20, false, Some(2), "clients")];
        let expected =
            "==> Where the time went\n     1 s  lint\n    20 s  clients  (lane 2)  FAILED\n    21 s  total\n";
        assert_eq!(table(&timings, 21), expected);
    }
}
