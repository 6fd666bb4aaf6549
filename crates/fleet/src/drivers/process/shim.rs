//! The shim: the parent of one engine, which outlives the control plane that started it.
//!
//! It starts the engine that its folder orders, passes SIGTERM on to the engine's group and sends SIGKILL when the
//! grace is over, puts the log aside when it grows, and writes down exactly how and when the engine ended. It has no
//! connection to the gateway: whoever wants to know reads the folder.
//!
//! A service manager that ends a whole control group with the gateway ends shims too; systemd needs
//! `KillMode=process` for replicas to be adopted after a restart.

use super::directory::{Care, Directory, Ending, Order, Pids};
use super::process_table::{Identity, own_children, pid_of, readable_unless};
use super::{clock, log};
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

/// What it prints when there is something to be read in its folder.
pub(super) const STARTED: &str = "started";
/// The argument that tells the second process from the first.
pub const DETACHED: &str = "--detached";
/// What is left of an engine may take this long to die after SIGKILL.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);
const SWEEP_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    #[error("there is no order in {0}")]
    NoOrder(String),
    #[error("the replica in {0} has been started before")]
    HadItsLife(String),
    #[error("{0}: {1}")]
    System(&'static str, #[source] io::Error),
}

/// Leaves the session of whoever started us: this process starts itself again in a session of its own, and ends.
pub fn detach() -> Result<(), ShimError> {
    setsid().map_err(|error| ShimError::System("cannot leave the session", error.into()))?;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("replica-shim"));
    // The very program that runs, also if its file has been replaced.
    let again = Command::new("/proc/self/exe").arg0(name).args(arguments).arg(DETACHED).spawn();
    again.map(drop).map_err(|error| ShimError::System("cannot start itself again", error))
}

/// Runs the engine from its start to its end.
pub fn run(folder: &Path) -> Result<(), ShimError> {
    let directory = Directory::at(folder);
    let shown = || folder.display().to_string();
    let order = directory.order().ok_or_else(|| ShimError::NoOrder(shown()))?;
    let lock = directory.lock().map_err(|error| ShimError::System("cannot lock the folder", error))?;
    if lock.is_none() || directory.pids().is_some() || directory.ending().is_some() {
        return Err(ShimError::HadItsLife(shown()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ShimError::System("cannot wait for anything", error))?;
    runtime.block_on(look_after(&directory, &order))
}

async fn look_after(directory: &Directory, order: &Order) -> Result<(), ShimError> {
    // Before there is an engine: from now on a signal to us is for it.
    let mut signals = Signals::listen().map_err(|error| ShimError::System("cannot hear signals", error))?;
    // What an engine leaves behind comes to us, so that it can be ended with it.
    let _ = set_child_subreaper(Some(getpid()));

    let cannot_write = |error| ShimError::System("cannot write into the folder", error);
    let started_at = clock::now();
    let mut engine = match start(directory, order) {
        Ok(engine) => engine,
        Err(error) => {
            let error = Some(format!("cannot start {}: {error}", order.argv.first().map_or("nothing", |name| name)));
            let ending = Ending { code: None, signal: None, time: started_at, asked: false, error };
            directory.write_ending(&ending).map_err(cannot_write)?;
            announce();
            return Ok(());
        }
    };
    let descriptor = match introduce(directory, &engine, started_at) {
        Ok(descriptor) => descriptor,
        Err(error) => {
            // An engine that nobody could find again must not be left running.
            let _ = engine.kill();
            return Err(cannot_write(error));
        }
    };
    announce();

    let pid = engine.id();
    let ended = readable_unless(descriptor, || runs(pid));
    let asked = attend(directory, order.care, pid, ended, &mut signals).await;
    let asked = asked.map_err(|error| ShimError::System("cannot wait for the engine", error))?;
    let time = clock::now();
    // Its exit status is taken only afterwards: until then its number, and so its group's, is nobody else's.
    sweep(pid).await;
    let status = engine.wait().map_err(|error| ShimError::System("cannot read the exit status", error))?;
    let ending = Ending { code: status.code(), signal: status.signal(), time, asked, error: None };
    directory.write_ending(&ending).map_err(cannot_write)
}

/// Stays with the engine until it has ended; tells whether we were asked to end it.
async fn attend(
    directory: &Directory,
    care: Care,
    engine: u32,
    ended: impl Future<Output = io::Result<()>>,
    signals: &mut Signals,
) -> io::Result<bool> {
    let mut ended = pin!(ended);
    let mut beats = interval_at(Instant::now() + care.beat, care.beat);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = false;
    let mut kill_at: Option<Instant> = None;
    loop {
        tokio::select! {
            waited = &mut ended => return waited.map(|()| asked),
            () = signals.stop_wanted(), if !asked => {
                asked = true;
                kill_at = Some(Instant::now() + care.grace);
                signal_group(engine, Signal::TERM);
            }
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                kill_at = None;
                signal_group(engine, Signal::KILL);
            }
            _ = beats.tick() => {
                // A full disk must not end the engine; the next beat tries again.
                let _ = directory.beat();
                let _ = log::rotate(&directory.log(), care.log_bytes, care.kept_logs);
                reap_others(engine);
            }
        }
    }
}

/// The signals that would end us, and do not any more once they are listened to.
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

    async fn stop_wanted(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The engine leads a group of its own.
fn start(directory: &Directory, order: &Order) -> io::Result<Child> {
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

/// Writes down who runs; gives what tells the engine's end.
fn introduce(directory: &Directory, engine: &Child, time: Timestamp) -> io::Result<OwnedFd> {
    let identity = |pid| Identity::of(pid).ok_or(io::ErrorKind::NotFound);
    let pids = Pids { shim: identity(std::process::id())?, engine: identity(engine.id())?, time };
    directory.beat()?;
    directory.write_pids(&pids)?;
    let pid = pid_of(engine.id()).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(pid, PidfdFlags::NONBLOCK)?)
}

/// Without taking its exit status.
fn runs(engine: u32) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    pid_of(engine).is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
}

/// Tells whoever waits, and lets go of the pipe on which that happens.
fn announce() {
    let _ = writeln!(io::stdout(), "{STARTED}");
    let _ = io::stdout().flush();
    if let Ok(nothing) = File::options().write(true).open(OsStr::new("/dev/null")) {
        let _ = rustix::stdio::dup2_stdout(&nothing);
    }
}

/// To the group that the engine leads.
fn signal_group(engine: u32, signal: Signal) {
    if let Some(group) = pid_of(engine) {
        let _ = kill_process_group(group, signal);
    }
}

/// Ends what the engine has left behind: the rest of its group, and whoever became our child.
async fn sweep(engine: u32) {
    let deadline = Instant::now() + SWEEP_LIMIT;
    loop {
        signal_group(engine, Signal::KILL);
        let left = others(engine);
        for &pid in &left {
            let _ = pid_of(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
        reap_others(engine);
        if left.is_empty() || Instant::now() >= deadline {
            return;
        }
        sleep(SWEEP_PAUSE).await;
    }
}

fn others(engine: u32) -> Vec<u32> {
    own_children().into_iter().filter(|&pid| pid != engine).collect()
}

fn reap_others(engine: u32) {
    for pid in others(engine) {
        let _ = waitpid(pid_of(pid), WaitOptions::NOHANG);
    }
}
