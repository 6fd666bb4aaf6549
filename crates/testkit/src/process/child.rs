//! One child process with its output in files.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Polling interval while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Characters of a child's output in an error message.
const SHOWN_OUTPUT: usize = 4_000;

/// A process to start.
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

    /// Pins the process to one core with `taskset`, which then executes the program.
    #[must_use]
    pub fn core(mut self, core: Option<usize>) -> Self {
        self.core = core;
        self
    }

    /// Starts it, with output in `NAME.stdout` and `NAME.stderr` in `folder`.
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

/// A child process; dropping it kills it.
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

    /// The exit status, if it ends within the timeout.
    pub async fn wait_for_end(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + timeout;
        loop {
            let ended = self.ended();
            if ended.is_some() || Instant::now() >= deadline {
                return ended;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Polls until `check` returns a value. An early exit or a timeout is an error with the child's output.
    pub async fn wait_for<T>(
        &mut self,
        what: &str,
        timeout: Duration,
        mut check: impl FnMut(&Self) -> Option<T>,
    ) -> anyhow::Result<T> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(found) = check(self) {
                return Ok(found);
            }
            if let Some(status) = self.ended() {
                bail!("the process ended ({status}) before {what}:\n{}", self.shown_output());
            }
            if Instant::now() >= deadline {
                bail!("no {what} within {timeout:?}:\n{}", self.shown_output());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
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

    /// Kills and reaps it, even if it has already ended.
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
