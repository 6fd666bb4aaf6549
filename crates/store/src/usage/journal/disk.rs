//! The file operations of the journal, in one place, so that tests can replace the disk with a model that fails, fills up
//! and loses power (`model_disk.rs`). Names are relative to the journal's folder.

#[cfg(test)]
use super::model_disk::{ModelDisk, ModelFile};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Zeros that are written at once where the file system cannot allocate.
const ZEROS: &[u8] = &[0; 64 << 10];

/// The folder of a journal.
pub(super) enum Disk {
    Folder(PathBuf),
    #[cfg(test)]
    Model(ModelDisk),
}

/// An open file of the journal.
pub(super) enum DiskFile {
    File(File),
    #[cfg(test)]
    Model(ModelFile),
}

impl Disk {
    pub(super) fn folder(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Ok(Self::Folder(path.to_owned()))
    }

    /// Creates an empty file, in place of one that exists.
    pub(super) fn create(&self, name: &str) -> io::Result<DiskFile> {
        match self {
            Self::Folder(folder) => File::create(folder.join(name)).map(DiskFile::File),
            #[cfg(test)]
            Self::Model(model) => model.create(name).map(DiskFile::Model),
        }
    }

    /// Opens a file for reading.
    pub(super) fn open(&self, name: &str) -> io::Result<DiskFile> {
        match self {
            Self::Folder(folder) => File::open(folder.join(name)).map(DiskFile::File),
            #[cfg(test)]
            Self::Model(model) => model.open(name).map(DiskFile::Model),
        }
    }

    /// The names and sizes of all files.
    pub(super) fn list(&self) -> io::Result<Vec<(String, u64)>> {
        match self {
            Self::Folder(folder) => {
                let mut found = Vec::new();
                for entry in std::fs::read_dir(folder)? {
                    let entry = entry?;
                    if let Ok(name) = entry.file_name().into_string() {
                        found.push((name, entry.metadata()?.len()));
                    }
                }
                Ok(found)
            }
            #[cfg(test)]
            Self::Model(model) => model.list(),
        }
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match self {
            Self::Folder(folder) => std::fs::remove_file(folder.join(name)),
            #[cfg(test)]
            Self::Model(model) => model.remove(name),
        }
    }

    /// Makes the names of files survive a power failure.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        match self {
            Self::Folder(folder) => File::open(folder)?.sync_all(),
            #[cfg(test)]
            Self::Model(model) => model.sync_names(),
        }
    }

    /// Adds to the end of a file that is not part of the journal.
    pub(super) fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Folder(folder) => {
                OpenOptions::new().create(true).append(true).open(folder.join(name))?.write_all(bytes)
            }
            #[cfg(test)]
            Self::Model(model) => model.append(name, bytes),
        }
    }
}

impl DiskFile {
    /// Sets blocks aside, so that writes to the first `bytes` bytes cannot fail for lack of space. The size of the file
    /// does not change, except where the file system cannot allocate: there it is filled with zeros.
    pub(super) fn allocate(&self, bytes: u64) -> io::Result<()> {
        match self {
            Self::File(file) => match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill_with_zeros(file, bytes),
                allocated => Ok(allocated?),
            },
            #[cfg(test)]
            Self::Model(file) => file.allocate(bytes),
        }
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all_at(bytes, offset),
            #[cfg(test)]
            Self::Model(file) => file.write_at(bytes, offset),
        }
    }

    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(bytes, offset),
            #[cfg(test)]
            Self::Model(file) => file.read_at(bytes, offset),
        }
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_data(),
            #[cfg(test)]
            Self::Model(file) => file.sync(),
        }
    }
}

fn fill_with_zeros(file: &File, bytes: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes {
        let count = usize::try_from(bytes - filled).unwrap_or(ZEROS.len()).min(ZEROS.len());
        file.write_all_at(&ZEROS[..count], filled)?;
        filled += count as u64;
    }
    Ok(())
}
