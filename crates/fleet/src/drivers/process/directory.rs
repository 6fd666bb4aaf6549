//! The folder of one replica, shared by its shim and by every gateway process that manages it.
//!
//! `spec.json` is the order, written before anything starts. The shim writes `pids.json` when the engine runs, touches
//! `heartbeat`, and writes `exit.json` when the engine has ended. JSON files are complete or absent: they are written and
//! synced under another name, then renamed.

use super::log::LOG;
use super::process_table::Identity;
use crate::clock;
use crate::drivers::{Binding, DeviceId};
use crate::engine::failure::{ExitRecord, Reached};
use crate::engine::{Engine, Family};
use domain::Timestamp;
use domain::model::Modality;
use outbound::{Address, UNIX_SCHEME};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The kernel takes 108 bytes with the end.
const MAX_SOCKET_PATH: usize = 107;

/// Content of `spec.json`: what the shim runs, and what the driver needs to know about it later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShimOrder {
    pub(super) argv: Vec<String>,
    /// Added to the environment of the shim itself.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) model: String,
    pub(super) embeds: bool,
    pub(super) family: Family,
    pub(super) port: u16,
    /// Where the engine listens instead of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) socket: Option<PathBuf>,
    pub(super) devices: Vec<DeviceId>,
    #[serde(rename = "care")]
    pub(super) policy: ShimPolicy,
}

impl ShimOrder {
    pub(super) fn binding(&self) -> Binding {
        Binding::here(self.devices.clone(), self.port)
    }

    /// `HOST:PORT`, or `unix:SOCKET:PORT`.
    pub(super) fn address(&self) -> String {
        match &self.socket {
            Some(socket) => format!("{UNIX_SCHEME}{}:{}", socket.display(), self.port),
            None => format!("127.0.0.1:{}", self.port),
        }
    }

    pub(super) fn engine(&self, key: Option<String>) -> Engine {
        let modality = if self.embeds { Modality::Embedding } else { Modality::Chat };
        let local = Address::from(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port));
        let address = Address { socket: self.socket.clone(), ..local };
        Engine { address, family: self.family, model: self.model.clone(), modality, key }
    }
}

/// Intervals and limits of a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShimPolicy {
    /// Period of heartbeats and log rotation.
    pub beat: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub grace: Duration,
    /// Size at which the log is rotated.
    pub log_bytes: u64,
    /// Number of rotated logs that are kept.
    pub kept_logs: u32,
}

impl Default for ShimPolicy {
    fn default() -> Self {
        Self { beat: Duration::from_secs(5), grace: Duration::from_secs(30), log_bytes: 16 << 20, kept_logs: 3 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pids {
    pub(super) shim: Identity,
    pub(super) engine: Identity,
    pub(super) time: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct Directory {
    path: PathBuf,
}

impl Directory {
    pub(super) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    pub(super) fn shim_log(&self) -> PathBuf {
        self.path.join("shim.log")
    }

    pub(super) fn order(&self) -> Option<ShimOrder> {
        self.read("spec.json")
    }

    pub(super) fn write_order(&self, order: &ShimOrder) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        self.write("spec.json", order)
    }

    /// A socket that only this user can reach; `None` if its path is too long for one.
    pub(super) fn socket(&self) -> io::Result<Option<PathBuf>> {
        let folder = std::path::absolute(self.path.join("socket"))?;
        let socket = folder.join("http");
        if socket.as_os_str().len() > MAX_SOCKET_PATH || socket.to_str().is_none() {
            return Ok(None);
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Some(socket))
    }

    /// Options of SGLang that must not show in the list of processes.
    pub(super) fn key_file(&self) -> PathBuf {
        self.path.join("key.yaml")
    }

    /// Writes the key for an engine that reads it from a file, which only its user can read.
    pub(super) fn write_key(&self, key: &str) -> io::Result<()> {
        let path = self.key_file();
        let mut file = File::options().create(true).write(true).truncate(true).mode(0o600).open(path)?;
        writeln!(file, "api-key: \"{key}\"")
    }

    pub(super) fn pids(&self) -> Option<Pids> {
        self.read("pids.json")
    }

    pub(super) fn write_pids(&self, pids: &Pids) -> io::Result<()> {
        self.write("pids.json", pids)
    }

    pub(super) fn exit(&self) -> Option<ExitRecord> {
        self.read("exit.json")
    }

    pub(super) fn write_exit(&self, exit: &ExitRecord) -> io::Result<()> {
        self.write("exit.json", exit)
    }

    /// Records a heartbeat as the modification time of a file.
    pub(super) fn beat(&self) -> io::Result<()> {
        let file = File::options().create(true).truncate(false).write(true).open(self.path.join("heartbeat"))?;
        file.set_modified(std::time::SystemTime::now())
    }

    pub(super) fn last_seen(&self) -> Option<Timestamp> {
        modified(&self.path.join("heartbeat"))
    }

    /// Records that the replica has served. Idempotent.
    pub(super) fn mark_ready(&self) -> io::Result<()> {
        create_once(&self.path.join("ready"))
    }

    pub(super) fn reached(&self) -> Reached {
        if self.path.join("ready").exists() { Reached::Ready } else { Reached::Start }
    }

    /// Records the start of the drain. Idempotent.
    pub(super) fn mark_draining(&self) -> io::Result<Timestamp> {
        create_once(&self.path.join("draining"))?;
        self.draining_since().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn draining_since(&self) -> Option<Timestamp> {
        modified(&self.path.join("draining"))
    }

    pub(super) fn unmark_draining(&self) -> io::Result<()> {
        match fs::remove_file(self.path.join("draining")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes the lock of this replica's shim; `None` if another process has it. Released when the file is closed.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        let file = File::create(self.path.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let bytes = fs::read(self.path.join(name)).ok()?;
        serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::warn!(folder = %self.path.display(), %error, "{name} is invalid"))
            .ok()
    }

    fn write<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let new = self.path.join(format!("{name}.new"));
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec_pretty(value)?)?;
        file.sync_all()?;
        fs::rename(&new, self.path.join(name))?;
        File::open(&self.path)?.sync_all()
    }
}

fn create_once(path: &Path) -> io::Result<()> {
    match File::create_new(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn modified(path: &Path) -> Option<Timestamp> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok().map(clock::timestamp)
}
