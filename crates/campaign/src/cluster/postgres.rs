//! PostgreSQL: a primary, a streaming replica that has every commit, and an address that follows the primary.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use testkit::process::{Child, Launch};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::network::{POSTGRES_PORT, services};
use crate::namespace::run;
use crate::schedule::NODES;

const OWNER: &str = "postgres";
/// Servers listen on the following ports, one after the other.
const FIRST_PORT: u16 = 5_501;
const TRIES: usize = 300;
const TRY_EVERY: Duration = Duration::from_millis(100);
/// Processes die here, machines do not: what was written need not be synced.
const SETTINGS: [&str; 9] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "shared_buffers=32MB",
    "fsync=off",
    "full_page_writes=off",
    "wal_level=replica",
    "max_wal_size=128MB",
    "wal_receiver_status_interval=1s",
];

struct Server {
    child: Child,
    port: u16,
}

pub(crate) struct Postgres {
    binaries: PathBuf,
    scratch: PathBuf,
    output: PathBuf,
    primary: Server,
    standby: Option<Server>,
    servers: u16,
    address: watch::Sender<u16>,
    _forwarder: JoinSet<()>,
}

impl Postgres {
    /// Starts a primary and its replica, with a clock that is `ahead` seconds ahead of the machine's.
    pub(super) async fn start(scratch: &Path, output: &Path, ahead: i64) -> anyhow::Result<Self> {
        let binaries = find_binaries()?;
        let folder = scratch.join("postgres-0");
        create_folder(&folder)?;
        let initdb = binaries.join("initdb");
        as_owner(&[
            text(&initdb)?,
            "-D",
            text(&folder)?,
            "-U",
            "forebay",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ])?;
        let primary = launch(&binaries, &folder, output, FIRST_PORT)?;
        let (address, follows) = watch::channel(FIRST_PORT);
        let mut forwarder = JoinSet::new();
        for host in (0..NODES).map(services).chain([Ipv4Addr::LOCALHOST]) {
            let listener = TcpListener::bind((host, POSTGRES_PORT)).await?;
            forwarder.spawn(forward(listener, follows.clone()));
        }
        let (scratch, output) = (scratch.to_owned(), output.to_owned());
        let mut postgres =
            Self { binaries, scratch, output, primary, standby: None, servers: 1, address, _forwarder: forwarder };
        postgres.wait_for(FIRST_PORT, "SELECT 1", "1").await?;
        postgres.ask(FIRST_PORT, &clock(ahead)).await?;
        postgres.add_standby().await?;
        Ok(postgres)
    }

    /// Copies the primary and follows it. From then on, a commit is acknowledged once the replica has it.
    pub(crate) async fn add_standby(&mut self) -> anyhow::Result<()> {
        let (port, folder) = (FIRST_PORT + self.servers, self.scratch.join(format!("postgres-{}", self.servers)));
        self.servers += 1;
        create_folder(&folder)?;
        let (program, from) = (self.binaries.join("pg_basebackup"), self.primary.port.to_string());
        let arguments = ["-h", "127.0.0.1", "-U", "forebay", "-R", "-c", "fast", "-X", "stream", "--no-sync", "-p"];
        let mut command = vec![text(&program)?];
        command.extend(arguments);
        command.extend([from.as_str(), "-D", text(&folder)?]);
        as_owner(&command)?;
        // Once promoted, it has no replica to wait for.
        let settings = folder.join("postgresql.auto.conf");
        let kept = fs::read_to_string(&settings)?;
        let kept: Vec<&str> = kept.lines().filter(|line| !line.starts_with("synchronous_standby_names")).collect();
        fs::write(&settings, kept.join("\n") + "\n")?;
        self.standby = Some(launch(&self.binaries, &folder, &self.output, port)?);
        self.wait_for(self.primary.port, "SELECT state FROM pg_stat_replication", "streaming").await?;
        self.ask(self.primary.port, "ALTER SYSTEM SET synchronous_standby_names = '*'").await?;
        self.ask(self.primary.port, "SELECT pg_reload_conf()").await?;
        self.wait_for(self.primary.port, "SELECT sync_state FROM pg_stat_replication", "sync").await
    }

    /// The primary crashes, and its replica takes over.
    pub(crate) async fn fail_over(&mut self) -> anyhow::Result<()> {
        let standby = self.standby.take().context("there is no replica to promote")?;
        self.primary.child.signal("QUIT")?;
        let ended = self.primary.child.wait_for_end(Duration::from_secs(30)).await;
        ensure!(ended.is_some(), "the primary did not end");
        self.ask(standby.port, "SELECT pg_promote()").await?;
        self.primary = standby;
        self.address.send_replace(self.primary.port);
        Ok(())
    }

    /// Freezes the primary with all of its processes.
    pub(crate) fn pause(&self) -> anyhow::Result<()> {
        self.signal_all("STOP")
    }

    pub(crate) fn resume(&self) -> anyhow::Result<()> {
        self.signal_all("CONT")
    }

    fn signal_all(&self, signal: &str) -> anyhow::Result<()> {
        // The parent first: it starts no further children.
        self.primary.child.signal(signal)?;
        let pid = self.primary.child.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        for child in children.split_whitespace() {
            // It may have ended.
            let _ = run("kill", [format!("-{signal}").as_str(), child]);
        }
        Ok(())
    }

    /// The port of the primary, for those that need no forwarder.
    pub(crate) fn port(&self) -> watch::Receiver<u16> {
        self.address.subscribe()
    }

    async fn ask(&self, port: u16, sql: &str) -> anyhow::Result<String> {
        query(&self.binaries, port, sql).await
    }

    async fn wait_for(&self, port: u16, sql: &str, expected: &str) -> anyhow::Result<()> {
        for _ in 0..TRIES {
            if self.ask(port, sql).await.is_ok_and(|found| found.trim() == expected) {
                return Ok(());
            }
            tokio::time::sleep(TRY_EVERY).await;
        }
        bail!("PostgreSQL on port {port}: `{sql}` is not {expected}")
    }
}

/// Rows as lines of text, from psql.
pub(crate) async fn query(binaries: &Path, port: u16, sql: &str) -> anyhow::Result<String> {
    let mut command = tokio::process::Command::new(binaries.join("psql"));
    command.args(["-h", "127.0.0.1", "-U", "forebay", "-d", "postgres", "-X", "-q", "-At", "-c", sql, "-p"]);
    let output = command.arg(port.to_string()).env("PGCONNECT_TIMEOUT", "5").kill_on_drop(true).output().await?;
    ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// The newest installed version.
pub(crate) fn find_binaries() -> anyhow::Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").context("PostgreSQL is missing")?;
    let mut folders: Vec<PathBuf> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
    folders.retain(|folder| folder.join("postgres").is_file());
    let version = |folder: &PathBuf| folder.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    folders.sort_by_key(version);
    folders.pop().context("PostgreSQL is missing: run scripts/system-packages campaign")
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is not text", path.display()))
}

/// PostgreSQL refuses to run as root.
fn as_owner(command: &[&str]) -> anyhow::Result<String> {
    let user = [format!("--reuid={OWNER}"), format!("--regid={OWNER}")];
    let words = user.iter().map(String::as_str).chain(["--init-groups", "--"]).chain(command.iter().copied());
    run("setpriv", words)
}

fn create_folder(folder: &Path) -> anyhow::Result<()> {
    run("install", ["-d", "-m", "700", "-o", OWNER, "-g", OWNER, text(folder)?])?;
    Ok(())
}

fn launch(binaries: &Path, folder: &Path, output: &Path, port: u16) -> anyhow::Result<Server> {
    // setpriv becomes the program, so the child is the server itself.
    let user = [format!("--reuid={OWNER}"), format!("--regid={OWNER}"), "--init-groups".to_owned(), "--".to_owned()];
    let mut launch = Launch::new("setpriv").arguments(user).arguments([binaries.join("postgres")]);
    launch = launch.arguments(["-D", text(folder)?, "-c", &format!("port={port}")]);
    for setting in SETTINGS {
        launch = launch.arguments(["-c", setting]);
    }
    Ok(Server { child: launch.start(&format!("postgres-{port}"), output)?, port })
}

/// Moves the clock that queries read: a function of our own hides the built-in one. Under libfaketime, the timeouts of
/// PostgreSQL would never end: it reads the clock in signal handlers, where libfaketime shows the machine's.
fn clock(ahead: i64) -> String {
    format!(
        "CREATE SCHEMA campaign; ALTER ROLE forebay SET search_path = public, campaign, pg_catalog;
         CREATE FUNCTION campaign.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
         AS $$ SELECT pg_catalog.clock_timestamp() + interval '{ahead} seconds' $$"
    )
}

/// Carries connections to the primary of the moment they are made.
async fn forward(listener: TcpListener, port: watch::Receiver<u16>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((mut client, _)) = listener.accept().await else { continue };
        let port = *port.borrow();
        connections.spawn(async move {
            if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}
