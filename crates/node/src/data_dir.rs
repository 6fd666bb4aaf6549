//! The data directory: locked by one process at a time, and private to its user.

use anyhow::Context;
use rustix::fs::Mode;
use std::fs::{File, TryLockError};
use std::path::Path;

const LOCK: &str = "lock";

/// The lock on the directory, held until dropped.
pub struct Claim {
    _file: File,
}

/// Makes new files private to the user of this process: the store contains hashes of secrets.
pub fn keep_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Whether a process is serving from the directory.
pub fn is_claimed(data_dir: &Path) -> bool {
    File::open(data_dir.join(LOCK)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Locks the directory. Fails if another process holds the lock.
pub fn claim(data_dir: &Path) -> anyhow::Result<Claim> {
    let shown = data_dir.display();
    std::fs::create_dir_all(data_dir).with_context(|| format!("cannot create {shown}"))?;
    let file = File::create(data_dir.join(LOCK)).with_context(|| format!("cannot write to {shown}"))?;
    match file.try_lock() {
        Ok(()) => Ok(Claim { _file: file }),
        Err(TryLockError::WouldBlock) => {
            anyhow::bail!("another forebay is serving from {shown}; use a separate --data-dir for each")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {shown}")),
    }
}
