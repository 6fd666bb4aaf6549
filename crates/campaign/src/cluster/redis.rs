//! Redis, which loses its data whenever it dies.

use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::process::{Child, Launch};

use super::network::{REDIS_PORT, services};
use crate::schedule::NODES;

const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Redis {
    output: PathBuf,
    child: Child,
}

impl Redis {
    pub(super) async fn start(output: &Path) -> anyhow::Result<Self> {
        Ok(Self { output: output.to_owned(), child: launch(output).await? })
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill();
    }

    pub(crate) async fn restart(&mut self) -> anyhow::Result<()> {
        self.child = launch(&self.output).await?;
        Ok(())
    }

    pub(crate) fn pause(&self) -> anyhow::Result<()> {
        self.child.signal("STOP")
    }

    pub(crate) fn resume(&self) -> anyhow::Result<()> {
        self.child.signal("CONT")
    }
}

async fn launch(output: &Path) -> anyhow::Result<Child> {
    let launch = Launch::new("redis-server").arguments(["--port", &REDIS_PORT.to_string(), "--protected-mode", "no"]);
    let launch = launch.arguments(["--save", "", "--appendonly", "no", "--bind"]);
    let launch = launch.arguments((0..NODES).map(|node| services(node).to_string()));
    let mut child = launch.start("redis", output)?;
    let ready = |child: &Child| child.stdout().contains("Ready to accept connections").then_some(());
    child.wait_for("Redis is ready", START_TIMEOUT, ready).await?;
    Ok(child)
}
