//! The folder of one replica, which its shim and every control plane after the first one read and write.
//!
//! `spec.json` is the order, written before anything starts. The shim writes `pids.json` when the engine runs,
//! touches `heartbeat`, and writes `exit.json` when the engine has ended. Files that count are whole or absent: they are
//! synced under another name and renamed.

use super::clock;
use super::failure::Reached;
use super::health::Engine;
use super::process_table::Identity;
use crate::drivers::{Binding, DeviceId, Family};
use domain::Timestamp;
use domain::model::Modality;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the shim is to run, and what the driver must know about it later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Order {
    pub(super) argv: Vec<String>,
    /// Beside what the shim itself got.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) model: String,
    pub(super) embeds: bool,
    pub(super) family: Family,
    pub(super) port: u16,
    pub(super) devices: Vec<DeviceId>,
    pub(super) care: Care,
}

impl Order {
    pub(super) fn binding(&self) -> Binding {
        Binding::here(self.devices.clone(), self.port)
    }

    pub(super) const fn address(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port)
    }

    pub(super) fn engine(&self) -> Engine {
        let modality = if self.embeds { Modality::Embedding } else { Modality::Chat };
        Engine { address: self.address(), family: self.family, model: self.model.clone(), modality }
    }
}

/// How a shim looks after its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Care {
    /// Between two heartbeats; the log is looked at as often.
    pub beat: Duration,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// The log is put aside when it is larger.
    pub log_bytes: u64,
    /// Logs put aside that are kept.
    pub kept_logs: u32,
}

impl Default for Care {
    fn default() -> Self {
        Self { beat: Duration::from_secs(5), grace: Duration::from_secs(30), log_bytes: 16 << 20, kept_logs: 3 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pids {
    pub(super) shim: Identity,
    pub(super) engine: Identity,
    #[serde(with = "clock::text")]
    pub(super) time: Timestamp,
}

/// How the engine ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::drivers) struct Ending {
    pub(in crate::drivers) code: Option<i32>,
    pub(in crate::drivers) signal: Option<i32>,
    #[serde(with = "clock::text")]
    pub(in crate::drivers) time: Timestamp,
    /// Whether the shim had been told to end it.
    #[serde(default)]
    pub(in crate::drivers) asked: bool,
    /// Why it could not even be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::drivers) error: Option<String>,
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
        self.path.join("log")
    }

    pub(super) fn shim_log(&self) -> PathBuf {
        self.path.join("shim.log")
    }

    pub(super) fn order(&self) -> Option<Order> {
        self.read("spec.json")
    }

    pub(super) fn write_order(&self, order: &Order) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        self.write("spec.json", order)
    }

    pub(super) fn pids(&self) -> Option<Pids> {
        self.read("pids.json")
    }

    pub(super) fn write_pids(&self, pids: &Pids) -> io::Result<()> {
        self.write("pids.json", pids)
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        self.read("exit.json")
    }

    pub(super) fn write_ending(&self, ending: &Ending) -> io::Result<()> {
        self.write("exit.json", ending)
    }

    /// Its moment is the file's own.
    pub(super) fn beat(&self) -> io::Result<()> {
        let file = File::options().create(true).truncate(false).write(true).open(self.path.join("heartbeat"))?;
        file.set_modified(std::time::SystemTime::now())
    }

    pub(super) fn last_seen(&self) -> Option<Timestamp> {
        modified(&self.path.join("heartbeat"))
    }

    /// Notes that it has served, once.
    pub(super) fn mark_ready(&self) -> io::Result<()> {
        create_once(&self.path.join("ready"))
    }

    pub(super) fn reached(&self) -> Reached {
        if self.path.join("ready").exists() { Reached::Ready } else { Reached::Start }
    }

    /// Notes the beginning of the drain, once.
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

    /// The right to be this replica's shim, or nothing if another one has it. It ends with the file's closing.
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
            .inspect_err(|error| tracing::warn!(folder = %self.path.display(), %error, "{name} is damaged"))
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
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok().map(clock::moment)
}
