//! One gateway: its disk, its clock, its configuration and its process.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use testkit::http::Client;
use testkit::process::{Child, Launch};

use super::clock::Clock;
use super::disk::Disk;
use super::network::operations;
use crate::schedule::Release;

const START_TIMEOUT: Duration = Duration::from_secs(90);
/// Longer than `server.drain_timeout`.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const WITHOUT_KEYS: &str = "\n[drivers]\nreplica_keys = false\n";

pub(crate) struct Node {
    pub(crate) index: usize,
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) binary: PathBuf,
    pub(super) config: PathBuf,
    pub(super) output: PathBuf,
    pub(super) child: Option<Child>,
    pub(super) runs: usize,
    /// Ends that no fault explains.
    pub(super) unexpected: Vec<String>,
}

impl Node {
    pub(crate) fn data_folder(&self) -> PathBuf {
        self.disk.data_folder()
    }

    /// Starts it and waits until it responds. An early end is recorded, and it is started again, as a supervisor would.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut child = self.launch()?;
        while Instant::now() < deadline {
            if let Some(status) = child.ended() {
                self.unexpected.push(format!("node {} ended while starting: {status}", self.index));
                tokio::time::sleep(Duration::from_secs(1)).await;
                child = self.launch()?;
            }
            let health = Client::new(operations(self.index));
            let request = health.try_send(http::Method::GET, "/healthz", bytes::Bytes::new());
            if let Ok(Ok(response)) = tokio::time::timeout(Duration::from_secs(2), request).await
                && response.status == 200
            {
                self.child = Some(child);
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        bail!("node {} did not start within {START_TIMEOUT:?}; its log is in {}", self.index, self.output.display())
    }

    /// Replaces the program. The previous release calls replicas without keys and does not know the setting.
    pub(crate) fn install(&mut self, binary: PathBuf, release: Release) -> anyhow::Result<()> {
        let text = fs::read_to_string(&self.config)?;
        let common = text.strip_suffix(WITHOUT_KEYS).unwrap_or(&text);
        let own = match release {
            Release::Current => WITHOUT_KEYS,
            Release::Previous => "",
        };
        fs::write(&self.config, [common, own].concat())?;
        self.binary = binary;
        Ok(())
    }

    fn launch(&mut self) -> anyhow::Result<Child> {
        self.runs += 1;
        fs::create_dir_all(self.data_folder()).context("cannot create a data folder")?;
        let mut launch =
            Launch::new(&self.binary).arguments(["serve".as_ref(), "--config".as_ref(), self.config.as_os_str()]);
        launch = launch.arguments(["--data-dir".as_ref(), self.data_folder().as_os_str()]);
        for (name, value) in self.clock.environment() {
            launch = launch.environment(name, value);
        }
        launch.start(&format!("node-{}.run-{}", self.index, self.runs), &self.output)
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill();
        }
    }

    /// SIGTERM, and waits for the end, which must be clean.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.signal("TERM")?;
        match child.wait_for_end(STOP_TIMEOUT).await {
            Some(status) if status.success() => {}
            Some(status) => self.unexpected.push(format!("node {} was stopped and ended with {status}", self.index)),
            None => self.unexpected.push(format!("node {} did not end within {STOP_TIMEOUT:?}", self.index)),
        }
        Ok(())
    }

    pub(crate) fn pause(&self) -> anyhow::Result<()> {
        self.signal("STOP")
    }

    pub(crate) fn resume(&self) -> anyhow::Result<()> {
        self.signal("CONT")
    }

    fn signal(&self, signal: &str) -> anyhow::Result<()> {
        self.child.as_ref().context("the node is not running")?.signal(signal)
    }

    /// Starts the node again if it has ended although no fault has stopped it.
    pub(crate) async fn revive(&mut self) -> anyhow::Result<()> {
        let Some(status) = self.child.as_mut().and_then(Child::ended) else { return Ok(()) };
        self.unexpected.push(format!("node {} ended unasked: {status}", self.index));
        self.start().await
    }

    pub(crate) fn unexpected(&self) -> &[String] {
        &self.unexpected
    }
}
