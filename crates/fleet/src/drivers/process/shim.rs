//! The shim: parent process of one engine, which outlives the gateway that started it.
//!
//! It starts the engine as ordered in its folder, forwards SIGTERM to the engine's process group, sends SIGKILL when the
//! grace period is over, rotates the log, and records how and when the engine ended. It has no connection to the gateway,
//! which reads the folder instead.
//!
//! A service manager that kills the gateway's whole control group kills shims too; systemd needs `KillMode=process` so that
//! replicas can be adopted after a restart.

use super::directory::{Directory, Pids, ShimOrder, ShimPolicy};
use super::log;
use super::process_table::{Identity, children_of, pid_of, readable_unless};
use crate::clock;
use crate::engine::failure::ExitRecord;
use domain::Timestamp;
use rustix::process::{
    PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, setsid, waitid, waitpid,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::signal;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until};

/// Printed once `pids.json` or `exit.json` is written.
pub(super) const STARTED: &str = "started";
/// Argument of the second process, which runs in its own session.
pub const DETACHED: &str = "--detached";
/// Timeout for leftover processes of an engine to die after SIGKILL.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(5);
const SWEEP_PERIOD: Duration = Duration::from_millis(10);

#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    #[error("there is no order in {0}")]
    NoOrder(String),
    #[error("the replica in {0} has been started before")]
    StartedBefore(String),
    #[error("{0}: {1}")]
    System(&'static str, #[source] io::Error),
}

/// Leaves the session of the gateway: restarts this program in a new session, then returns so that the caller can exit.
pub fn detach() -> Result<(), ShimError> {
    setsid().map_err(|error| ShimError::System("cannot leave the session", error.into()))?;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("replica-shim"));
    // The running program, even if its file has been replaced.
    let again = Command::new("/proc/self/exe").arg0(name).args(arguments).arg(DETACHED).spawn();
    again.map(drop).map_err(|error| ShimError::System("cannot start itself again", error))
}

/// Runs the engine until it ends.
pub fn run(folder: &Path) -> Result<(), ShimError> {
    let directory = Directory::at(folder);
    let shown = || folder.display().to_string();
    let order = directory.order().ok_or_else(|| ShimError::NoOrder(shown()))?;
    let lock = directory.lock().map_err(|error| ShimError::System("cannot lock the folder", error))?;
    if lock.is_none() || directory.pids().is_some() || directory.exit().is_some() {
        return Err(ShimError::StartedBefore(shown()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ShimError::System("cannot start the runtime", error))?;
    runtime.block_on(supervise(&directory, &order))
}

async fn supervise(directory: &Directory, order: &ShimOrder) -> Result<(), ShimError> {
    // Before the engine starts: from now on signals to the shim are meant for the engine.
    let mut signals = Signals::listen().map_err(|error| ShimError::System("cannot listen for signals", error))?;
    // Orphans of the engine become our children, so that they can be ended with it.
    let _ = set_child_subreaper(Some(getpid()));

    let cannot_write = |error| ShimError::System("cannot write into the folder", error);
    let started_at = clock::now();
    let mut engine = match start(directory, order) {
        Ok(engine) => engine,
        Err(error) => {
            let error = Some(format!("cannot start {}: {error}", order.argv.first().map_or("nothing", |name| name)));
            let exit = ExitRecord { code: None, signal: None, time: started_at, asked: false, error };
            directory.write_exit(&exit).map_err(cannot_write)?;
            announce();
            return Ok(());
        }
    };
    let descriptor = match record_pids(directory, &engine, started_at) {
        Ok(descriptor) => descriptor,
        Err(error) => {
            // An engine that could not be found again must not keep running.
            let _ = engine.kill();
            return Err(cannot_write(error));
        }
    };
    announce();

    let pid = engine.id();
    let ended = readable_unless(descriptor, || runs(pid));
    let asked = wait_for_end(directory, order.policy, pid, ended, &mut signals).await;
    let asked = asked.map_err(|error| ShimError::System("cannot wait for the engine", error))?;
    let time = clock::now();
    // The exit status is taken last: until then the ids of the engine and of its group cannot be reused.
    sweep(pid).await;
    let status = engine.wait().map_err(|error| ShimError::System("cannot read the exit status", error))?;
    let exit = ExitRecord { code: status.code(), signal: status.signal(), time, asked, error: None };
    directory.write_exit(&exit).map_err(cannot_write)
}

/// Waits until the engine has ended; returns whether the shim was asked to stop it.
async fn wait_for_end(
    directory: &Directory,
    policy: ShimPolicy,
    engine: u32,
    ended: impl Future<Output = io::Result<()>>,
    signals: &mut Signals,
) -> io::Result<bool> {
    let mut ended = pin!(ended);
    let mut heartbeats = interval_at(Instant::now() + policy.beat, policy.beat);
    heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = false;
    let mut kill_at: Option<Instant> = None;
    loop {
        tokio::select! {
            waited = &mut ended => return waited.map(|()| asked),
            () = signals.stop_requested(), if !asked => {
                asked = true;
                kill_at = Some(Instant::now() + policy.grace);
                signal_group(engine, Signal::TERM);
            }
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                kill_at = None;
                signal_group(engine, Signal::KILL);
            }
            _ = heartbeats.tick() => {
                // A full disk must not end the engine; the next heartbeat tries again.
                let _ = directory.beat();
                let _ = log::rotate(&directory.log(), policy.log_bytes, policy.kept_logs);
                reap_others(engine);
            }
        }
    }
}

/// Signals that would end the shim if it did not listen for them.
struct Signals {
    terminate: signal::unix::Signal,
    interrupt: signal::unix::Signal,
    _hangup: signal::unix::Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        use signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn stop_requested(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Starts the engine in its own process group.
fn start(directory: &Directory, order: &ShimOrder) -> io::Result<Child> {
    let (program, arguments) = order.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let output = log::open(&directory.log())?;
    Command::new(program)
        .args(arguments)
        .envs(&order.environment)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()
}

/// Writes `pids.json` and returns a pidfd of the engine.
fn record_pids(directory: &Directory, engine: &Child, time: Timestamp) -> io::Result<OwnedFd> {
    let identity = |pid| Identity::of(pid).ok_or(io::ErrorKind::NotFound);
    let pids = Pids { shim: identity(std::process::id())?, engine: identity(engine.id())?, time };
    directory.beat()?;
    directory.write_pids(&pids)?;
    let pid = pid_of(engine.id()).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(pid, PidfdFlags::NONBLOCK)?)
}

/// Whether the engine runs; does not take its exit status.
fn runs(engine: u32) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    pid_of(engine).is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
}

/// Notifies the gateway, then closes the pipe on which it waits.
fn announce() {
    let _ = writeln!(io::stdout(), "{STARTED}");
    let _ = io::stdout().flush();
    if let Ok(nothing) = File::options().write(true).open(OsStr::new("/dev/null")) {
        let _ = rustix::stdio::dup2_stdout(&nothing);
    }
}

/// Signals the process group of the engine.
fn signal_group(engine: u32, signal: Signal) {
    if let Some(group) = pid_of(engine) {
        let _ = kill_process_group(group, signal);
    }
}

/// Kills what the engine has left behind: the rest of its group, and our other children.
async fn sweep(engine: u32) {
    let deadline = Instant::now() + SWEEP_TIMEOUT;
    loop {
        signal_group(engine, Signal::KILL);
        let leftover = others(engine);
        for &pid in &leftover {
            let _ = pid_of(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
        reap_others(engine);
        if leftover.is_empty() || Instant::now() >= deadline {
            return;
        }
        sleep(SWEEP_PERIOD).await;
    }
}

fn others(engine: u32) -> Vec<u32> {
    children_of("self").into_iter().filter(|&pid| pid != engine).collect()
}

fn reap_others(engine: u32) {
    for pid in others(engine) {
        let _ = waitpid(pid_of(pid), WaitOptions::NOHANG);
    }
}
