//! One child process with its output in files.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// How often a waiting test looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The end of a child's output that goes into an error message.
const SHOWN_OUTPUT: usize = 4_000;

/// What to start.
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    core: Option<usize>,
}

impl Launch {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), environment: Vec::new(), core: None }
    }

    #[must_use]
    pub fn arguments<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Pins the process to one core with `taskset`, which replaces itself by the program.
    #[must_use]
    pub fn core(mut self, core: Option<usize>) -> Self {
        self.core = core;
        self
    }

    /// Starts it; `NAME.stdout` and `NAME.stderr` are written in `folder`.
    pub fn start(self, name: &str, folder: &Path) -> anyhow::Result<Child> {
        let mut command = match self.core {
            Some(core) => {
                let mut taskset = Command::new("taskset");
                taskset.arg("-c").arg(core.to_string()).arg(&self.program);
                taskset
            }
            None => Command::new(&self.program),
        };
        let stdout = folder.join(format!("{name}.stdout"));
        let stderr = folder.join(format!("{name}.stderr"));
        command.args(self.arguments).envs(self.environment).stdin(Stdio::null());
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let process = command.spawn().with_context(|| format!("start {}", self.program.display()))?;
        Ok(Child { process, stdout, stderr })
    }
}

/// A running (or ended) child; dropping it kills it.
pub struct Child {
    process: std::process::Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Child {
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn stdout(&self) -> String {
        read(&self.stdout)
    }

    pub fn stderr(&self) -> String {
        read(&self.stderr)
    }

    /// Sends a signal by name: `TERM`, `INT`, `HUP`, `KILL`.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status()?;
        if !status.success() {
            bail!("no process {} to send {name} to", self.pid());
        }
        Ok(())
    }

    /// The exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    /// The exit status, if it ends within the time given.
    pub async fn wait_for_end(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + timeout;
        loop {
            let ended = self.ended();
            if ended.is_some() || Instant::now() >= deadline {
                return ended;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until `look` finds what it looks for; an early end or a timeout is told with the child's output.
    pub async fn wait_for<T>(
        &mut self,
        what: &str,
        timeout: Duration,
        mut look: impl FnMut(&Self) -> Option<T>,
    ) -> anyhow::Result<T> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(found) = look(self) {
                return Ok(found);
            }
            if let Some(status) = self.ended() {
                bail!("the process ended ({status}) before {what}:\n{}", self.shown_output());
            }
            if Instant::now() >= deadline {
                bail!("no {what} within {timeout:?}:\n{}", self.shown_output());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn shown_output(&self) -> String {
        let output = self.stdout() + &self.stderr();
        let skipped = output.chars().count().saturating_sub(SHOWN_OUTPUT);
        output.chars().skip(skipped).collect()
    }

    /// Blocks until it has ended.
    pub fn wait(&mut self) {
        let _ = self.process.wait();
    }

    /// Kills it and takes its exit status; a process that ended before is fine.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
