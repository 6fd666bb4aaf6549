//! One engine process.
//!
//! It stops when its standard input closes, so it ends with us even if we are killed.

use super::{Launcher, Place};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{ChildStdin, Command};

/// Lines of its log that are kept, to be shown when it fails.
const KEPT_LINES: usize = 12;
/// How long it may take to stop by itself.
const GRACE: Duration = Duration::from_secs(5);

type Lines = Arc<Mutex<VecDeque<String>>>;

pub(super) struct Child {
    process: tokio::process::Child,
    leash: Option<ChildStdin>,
    lines: Lines,
    address_file: PathBuf,
}

impl Child {
    pub(super) fn start(launcher: &Launcher, place: &Place) -> io::Result<Self> {
        std::fs::create_dir_all(&launcher.run_dir)?;
        let name = format!("{}-{}.address", place.model.as_str().replace('/', "_"), place.number);
        let address_file = launcher.run_dir.join(name);
        let _ = std::fs::remove_file(&address_file);
        let mut process = Command::new(&launcher.binary)
            .arg("--model")
            .arg(&place.weights)
            .args(["--model-name", place.model.as_str()])
            .args(["--ctx", &place.context_length.to_string()])
            .args(["--listen", "127.0.0.1:0", "--stop-with-stdin"])
            .arg("--listen-file")
            .arg(&address_file)
            .arg("--cache-dir")
            .arg(&launcher.cache_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            // Ctrl-C in a terminal is for us; its end comes from us.
            .process_group(0)
            .spawn()?;
        let lines = Lines::default();
        if let Some(stderr) = process.stderr.take() {
            follow(stderr, Arc::clone(&lines), place.model.to_string());
        }
        Ok(Self { leash: process.stdin.take(), process, lines, address_file })
    }

    /// Where it listens, once it does.
    pub(super) fn address(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.address_file).ok()?;
        Some(text.trim().to_owned()).filter(|address| !address.is_empty())
    }

    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    pub(super) async fn wait(&mut self) -> String {
        match self.process.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// The end of its log, on one line.
    pub(super) fn last_words(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    pub(super) async fn stop(mut self) {
        self.leash = None;
        if tokio::time::timeout(GRACE, self.process.wait()).await.is_err() {
            let _ = self.process.kill().await;
        }
        let _ = std::fs::remove_file(&self.address_file);
    }
}

/// Keeps the last lines; the task ends with the process.
fn follow(stderr: impl AsyncRead + Unpin + Send + 'static, lines: Lines, model: String) {
    tokio::runtime::Handle::current().spawn(async move {
        let mut reader = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = reader.next_line().await {
            tracing::debug!(model, "{line}");
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == KEPT_LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    });
}
