//! One engine process of a pool.
//!
//! It stops when its standard input closes, so it ends with the gateway even if that is killed.

use super::{EngineLogs, EngineSpec, Launcher};
use crate::engine::{Family, environment};
use background::Tasks;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::sync::watch;

/// Log lines that are kept, to be shown when it fails.
const KEPT_LINES: usize = 12;
/// Time from closing its standard input to SIGKILL: the engine gives running completions 30 seconds.
const GRACE: Duration = Duration::from_secs(35);
/// The same once the gateway shuts down, whose calls have ended by then.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

type Lines = Arc<Mutex<VecDeque<String>>>;

pub(super) struct Child {
    process: tokio::process::Child,
    stdin: Option<ChildStdin>,
    lines: Lines,
    address_file: PathBuf,
    /// The key of its calls, which only this process and its parent know.
    pub(super) key: String,
}

impl Child {
    pub(super) fn start(launcher: &Launcher, spec: &EngineSpec, tasks: &Tasks, logs: &EngineLogs) -> io::Result<Self> {
        std::fs::create_dir_all(&launcher.run_dir)?;
        let address_file = new_address_file(launcher, spec);
        // One that a killed gateway left behind.
        let _ = std::fs::remove_file(&address_file);
        let key = new_key()?;
        let mut process = Command::new(&launcher.binary)
            .args(arguments(spec, &address_file, &launcher.cache_dir))
            .env_clear()
            .envs(environment::allowed(std::env::vars_os()))
            .env(Family::ForebayEngine.key_variable(), &key)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            // Ctrl-C in a terminal is meant for the gateway, which then stops the engine.
            .process_group(0)
            .spawn()?;
        let lines = Lines::default();
        if let Some(stderr) = process.stderr.take() {
            let (lines, logs) = (Arc::clone(&lines), logs.clone());
            tasks.spawn(keep_last_lines(stderr, lines, logs, spec.clone()));
        }
        Ok(Self { stdin: process.stdin.take(), process, lines, address_file, key })
    }

    /// Its address, once it listens.
    pub(super) fn address(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.address_file).ok()?;
        Some(text.trim().to_owned()).filter(|address| !address.is_empty())
    }

    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    pub(super) async fn wait(&mut self) -> String {
        match self.process.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// The end of its log, on one line.
    pub(super) fn log_tail(&self) -> String {
        let lines = self.lines.lock();
        lines.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    /// Lets it finish its calls. The grace period is shorter once `shutdown` is true.
    pub(super) async fn stop(mut self, shutdown: watch::Receiver<bool>) {
        self.stdin = None;
        let has_ended = tokio::select! {
            _ = self.process.wait() => true,
            () = grace_period(shutdown, GRACE, SHUTDOWN_GRACE) => false,
        };
        if !has_ended {
            let _ = self.process.kill().await;
        }
        let _ = std::fs::remove_file(&self.address_file);
    }
}

/// Waits for `grace`, or for `shutdown_grace` after the start of the shutdown if that is earlier.
async fn grace_period(mut shutdown: watch::Receiver<bool>, grace: Duration, shutdown_grace: Duration) {
    let after_shutdown = async {
        let _ = shutdown.wait_for(|stop| *stop).await;
        tokio::time::sleep(shutdown_grace).await;
    };
    let _ = tokio::time::timeout(grace, after_shutdown).await;
}

fn new_key() -> io::Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The arguments of an engine that writes its address to this file.
pub(super) fn arguments(spec: &EngineSpec, address_file: &Path, cache_dir: &Path) -> Vec<OsString> {
    let fixed = ["--listen", "127.0.0.1:0", "--stop-with-stdin", "--listen-file"].map(OsString::from);
    let own = options(spec).into_iter().map(OsString::from).chain(fixed);
    own.chain([address_file.into(), "--cache-dir".into(), cache_dir.into()]).collect()
}

/// What the engine serves.
fn options(spec: &EngineSpec) -> Vec<String> {
    let EngineSpec { model, number: _, weights, context_length, parallel, args } = spec;
    let served =
        [("--model", weights.clone()), ("--model-name", model.to_string()), ("--ctx", context_length.to_string())];
    let parallel = parallel.map(|parallel| ("--parallel", parallel.to_string()));
    let options = served.into_iter().chain(parallel).flat_map(|(name, value)| [name.to_owned(), value]);
    options.chain(args.iter().cloned()).collect()
}

/// A path that no other child of this gateway has: an engine stops while the one that replaces it starts.
fn new_address_file(launcher: &Launcher, spec: &EngineSpec) -> PathBuf {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let start = STARTED.fetch_add(1, Ordering::Relaxed);
    let model = spec.model.as_str().replace('/', "_");
    launcher.run_dir.join(format!("{model}-{}-{start}.address", spec.number))
}

/// Keeps the last log lines. The task ends with the process.
async fn keep_last_lines(
    stderr: impl AsyncRead + Unpin + Send + 'static,
    lines: Lines,
    logs: EngineLogs,
    spec: EngineSpec,
) {
    let name = spec.name();
    let mut reader = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = reader.next_line().await {
        tracing::debug!(model = %spec.model, "{line}");
        logs.append(&name, &line, SystemTime::now());
        let mut lines = lines.lock();
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ModelId;

    #[test]
    fn an_engine_gets_the_number_of_calls_that_it_computes_at_once() {
        let model = ModelId::parse("acme/tiny").unwrap();
        let spec = EngineSpec::plain(model, "x.gguf");
        let default = ["--model", "x.gguf", "--model-name", "acme/tiny", "--ctx", "4096"];
        assert_eq!(options(&spec), default);
        let few = options(&EngineSpec { parallel: Some(2), args: vec!["--threads=1".to_owned()], ..spec });
        assert_eq!(few[default.len()..], ["--parallel", "2", "--threads=1"]);
    }

    #[tokio::test]
    async fn an_engine_that_stops_leaves_the_address_of_its_replacement() {
        let folder = tempfile::tempdir().unwrap();
        let (run_dir, cache_dir) = (folder.path().join("run"), folder.path().join("cache"));
        let launcher = Launcher { binary: "true".into(), run_dir, cache_dir };
        let model = ModelId::parse("acme/tiny").unwrap();
        let spec = EngineSpec::plain(model, "old.gguf");
        let edited = EngineSpec { weights: "new.gguf".to_owned(), ..spec.clone() };
        let (tasks, logs) = (Tasks::new(tokio::runtime::Handle::current()), EngineLogs::default());
        let old = Child::start(&launcher, &spec, &tasks, &logs).unwrap();
        let new = Child::start(&launcher, &edited, &tasks, &logs).unwrap();
        std::fs::write(&old.address_file, "127.0.0.1:1\n").unwrap();
        std::fs::write(&new.address_file, "127.0.0.1:2\n").unwrap();
        let old_file = old.address_file.clone();
        let (_running, shutdown) = watch::channel(false);
        old.stop(shutdown.clone()).await;
        assert_eq!(new.address().as_deref(), Some("127.0.0.1:2"));
        assert!(!old_file.exists());
        new.stop(shutdown).await;
        tasks.finish().await;
    }

    #[tokio::test]
    async fn a_shutdown_shortens_the_grace_period() {
        const SHORT: Duration = Duration::from_millis(20);
        const LONG: Duration = Duration::from_secs(3600);
        let (stop, shutdown) = watch::channel(false);
        grace_period(shutdown.clone(), SHORT, LONG).await;
        let mut period = Box::pin(grace_period(shutdown, LONG, SHORT));
        assert!(tokio::time::timeout(SHORT * 3, &mut period).await.is_err(), "calls may finish");
        stop.send_replace(true);
        assert!(tokio::time::timeout(LONG / 60, period).await.is_ok());
    }
}
