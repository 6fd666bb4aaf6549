//! Runs the gateway's binary with a given configuration and its own data folder.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::child::{Child, Launch};

const START_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct ListenFile {
    public: SocketAddr,
    ops: SocketAddr,
}

/// How to start the gateway.
#[derive(Default)]
pub struct ForebayLaunch {
    binary: Option<PathBuf>,
    core: Option<usize>,
    environment: Vec<(String, String)>,
    data_dir: Option<PathBuf>,
    data: Option<PathBuf>,
}

impl ForebayLaunch {
    /// Sets the binary, such as `env!("CARGO_BIN_EXE_forebay")`, if [`Forebay::start`] cannot find it.
    #[must_use]
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    #[must_use]
    pub fn core(mut self, core: Option<usize>) -> Self {
        self.core = core;
        self
    }

    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a data folder that outlives this gateway; the default is a scratch folder.
    #[must_use]
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(path.into());
        self
    }

    /// Copies the files of this folder into the scratch folder of the data.
    #[must_use]
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// Writes the configuration, starts the gateway, and waits until both listeners accept.
    pub async fn start(self, config_toml: &str) -> anyhow::Result<Forebay> {
        let scratch = tempfile::Builder::new().prefix("forebay-").tempdir()?;
        let config = scratch.path().join("forebay.toml");
        fs::write(&config, config_toml)?;
        let data_dir = self.data_dir.clone().unwrap_or_else(|| scratch.path().join("data"));
        fs::create_dir_all(&data_dir)?;
        for file in self.data.iter().flat_map(fs::read_dir).flatten() {
            let file = file?;
            fs::copy(file.path(), data_dir.join(file.file_name()))?;
        }
        let (child, listen) = self.spawn(&config, &data_dir, scratch.path()).await?;
        Ok(Forebay { public: listen.public, ops: listen.ops, data_dir, config, child, launch: self, scratch })
    }

    async fn spawn(&self, config: &Path, data_dir: &Path, output: &Path) -> anyhow::Result<(Child, ListenFile)> {
        let listen_file = data_dir.join("listen.json");
        // A file from an earlier run would be mistaken for the new one.
        if listen_file.exists() {
            fs::remove_file(&listen_file)?;
        }
        let mut launch = Launch::new(self.binary.clone().unwrap_or_else(find_binary)).core(self.core);
        launch = launch.arguments(["serve".as_ref(), "--config".as_ref(), config.as_os_str()]);
        launch = launch.arguments(["--data-dir".as_ref(), data_dir.as_os_str()]);
        for (name, value) in &self.environment {
            launch = launch.environment(name, value);
        }
        let mut child = launch.start("forebay", output)?;
        let read = |_: &Child| serde_json::from_slice(&fs::read(&listen_file).ok()?).ok();
        let listen = child.wait_for("listen.json", START_TIMEOUT, read).await?;
        Ok((child, listen))
    }
}

/// A running gateway; dropping it kills it and removes its scratch folder.
pub struct Forebay {
    pub public: SocketAddr,
    pub ops: SocketAddr,
    pub data_dir: PathBuf,
    pub config: PathBuf,
    pub child: Child,
    launch: ForebayLaunch,
    scratch: TempDir,
}

impl Forebay {
    /// Starts the binary named by `FOREBAY_BIN`, else the one beside the running test.
    pub async fn start(config_toml: &str) -> anyhow::Result<Self> {
        ForebayLaunch::default().start(config_toml).await
    }

    /// Contents of `bootstrap.json`; null if there is none.
    pub fn bootstrap(&self) -> Value {
        fs::read(self.data_dir.join("bootstrap.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or(Value::Null)
    }

    /// The first API key.
    pub fn api_key(&self) -> anyhow::Result<String> {
        self.bootstrap()["apiKey"].as_str().map(ToOwned::to_owned).context("bootstrap.json has no apiKey")
    }

    /// Replaces the configuration; the gateway reads it at its next start or at SIGHUP.
    pub fn write_config(&self, config_toml: &str) -> anyhow::Result<()> {
        Ok(fs::write(&self.config, config_toml)?)
    }

    /// Restarts with these environment variables instead of the previous ones.
    pub async fn restart_with(&mut self, environment: &[(&str, &str)]) -> anyhow::Result<()> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        self.launch.environment = environment.iter().map(owned).collect();
        self.restart().await
    }

    /// Kills the gateway if it is running, and starts it again with the same data.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.child.kill();
        let (child, listen) = self.launch.spawn(&self.config, &self.data_dir, self.scratch.path()).await?;
        (self.child, self.public, self.ops) = (child, listen.public, listen.ops);
        Ok(())
    }
}

fn find_binary() -> PathBuf {
    if let Some(named) = env::var_os("FOREBAY_BIN").or_else(|| env::var_os("CARGO_BIN_EXE_forebay")) {
        return PathBuf::from(named);
    }
    // Both target/debug/deps/test-… and target/debug/forebay-bench find it in their folder or the one above.
    let beside =
        |exe: &Path| exe.ancestors().skip(1).take(2).map(|dir| dir.join("forebay")).find(|path| path.is_file());
    env::current_exe().ok().and_then(|exe| beside(&exe)).unwrap_or_else(|| PathBuf::from("forebay"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::OnceLock;

    use super::*;

    /// Writes the same files as the gateway, and waits.
    const STAND_IN: &str = r#"#!/bin/sh
[ "$1 $2 $4" = "serve --config --data-dir" ] || exit 2
grep -q fail "$3" && { echo "no such model" >&2; exit 1; }
echo '{"apiKey":"sk-1"}' > "$5/bootstrap.json"
echo '{"public":"127.0.0.1:1","ops":"127.0.0.1:2"}' > "$5/listen.tmp" && mv "$5/listen.tmp" "$5/listen.json"
exec sleep 60
"#;

    /// Written once, before any process starts: a file still open for writing in a forked child cannot be executed.
    fn stand_in() -> ForebayLaunch {
        static FOLDER: OnceLock<TempDir> = OnceLock::new();
        let folder = FOLDER.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("forebay");
            fs::write(&path, STAND_IN).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            folder
        });
        ForebayLaunch::default().binary(folder.path().join("forebay"))
    }

    #[tokio::test]
    async fn a_gateway_starts_restarts_and_ends_on_a_signal() {
        let mut forebay = stand_in().start("").await.unwrap();
        assert_eq!((forebay.public.port(), forebay.ops.port()), (1, 2));
        assert_eq!(forebay.api_key().unwrap(), "sk-1");
        let first = forebay.child.pid();
        forebay.restart().await.unwrap();
        assert_ne!(forebay.child.pid(), first);
        forebay.child.signal("TERM").unwrap();
        assert!(forebay.child.wait_for_end(Duration::from_secs(5)).await.is_some());
    }

    #[tokio::test]
    async fn a_failed_start_reports_the_output() {
        let error = stand_in().start("fail").await.err().unwrap().to_string();
        assert!(error.contains("no such model"), "{error}");
    }
}
