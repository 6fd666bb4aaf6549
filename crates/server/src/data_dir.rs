//! The data directory: ours alone while we run, and closed to others.

use anyhow::Context;
use rustix::fs::Mode;
use std::fs::{File, TryLockError};
use std::path::Path;

const LOCK: &str = "lock";

/// Held as long as this process serves from the directory.
pub(crate) struct Claim {
    _file: File,
}

/// What is written from now on is for our own user: the store has hashes of secrets in it.
pub(crate) fn keep_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Whether a process serves from the directory now.
pub(crate) fn is_claimed(data_dir: &Path) -> bool {
    File::open(data_dir.join(LOCK)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Takes the directory, or tells that another process has it.
pub(crate) fn claim(data_dir: &Path) -> anyhow::Result<Claim> {
    let shown = data_dir.display();
    std::fs::create_dir_all(data_dir).with_context(|| format!("cannot create {shown}"))?;
    let file = File::create(data_dir.join(LOCK)).with_context(|| format!("cannot write to {shown}"))?;
    match file.try_lock() {
        Ok(()) => Ok(Claim { _file: file }),
        Err(TryLockError::WouldBlock) => {
            anyhow::bail!("another forebay serves from {shown}; give each its own --data-dir")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {shown}")),
    }
}
