//! The folder where `forebay-engine` looks for files of the hub: `hub/models--owner--name/snapshots/<commit>/<file>`, with
//! `refs/<revision>` naming the commit.

use crate::reference::HubReference;
use crate::repository::{is_commit, part_names};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK_POLL_PERIOD: Duration = Duration::from_millis(500);
/// Marker of a repository of which all needed files are there.
const COMPLETE_MARKER: &str = ".forebay-whole";

#[derive(Debug, Clone)]
pub struct HubCache {
    folder: PathBuf,
}

impl HubCache {
    /// The cache in the folder that engines are started with.
    pub fn new(cache_dir: &Path) -> Self {
        Self { folder: cache_dir.join("hub") }
    }

    fn repository(&self, repository: &str) -> PathBuf {
        self.folder.join(format!("models--{}", repository.replace('/', "--")))
    }

    fn snapshot(&self, repository: &str, commit: &str) -> PathBuf {
        self.repository(repository).join("snapshots").join(commit)
    }

    pub fn file(&self, repository: &str, commit: &str, name: &str) -> PathBuf {
        self.snapshot(repository, commit).join(name)
    }

    /// Whether the file is there with this size.
    pub fn has(&self, repository: &str, commit: &str, name: &str, bytes: u64) -> bool {
        self.file(repository, commit, name).metadata().is_ok_and(|found| found.is_file() && found.len() == bytes)
    }

    /// Moves a whole file to its place.
    pub fn place(&self, part: &Path, repository: &str, commit: &str, name: &str) -> io::Result<()> {
        let target = self.file(repository, commit, name);
        fs::create_dir_all(target.parent().unwrap_or(&self.folder))?;
        fs::rename(part, target)
    }

    /// The file of a reference, or the folder of its repository, if all of it is there.
    pub fn find(&self, reference: &HubReference) -> Option<PathBuf> {
        let HubReference { repository, revision, file } = reference;
        let commit = fs::read_to_string(self.repository(repository).join("refs").join(revision)).ok()?;
        let commit = Some(commit.trim()).filter(|commit| is_commit(commit))?;
        let at = |name: &str| Some(self.file(repository, commit, name)).filter(|path| path.is_file());
        match file {
            Some(file) => part_names(file).map(|part| at(&part)).collect::<Option<Vec<_>>>()?.into_iter().next(),
            None => at(COMPLETE_MARKER).map(|_| self.snapshot(repository, commit)),
        }
    }

    /// Where a file of an engine's own download is until it is whole.
    pub fn part(&self, repository: &str, commit: &str, name: &str) -> io::Result<PathBuf> {
        let part = self.repository(repository).join("parts").join(commit).join(format!("{name}.part"));
        fs::create_dir_all(part.parent().unwrap_or(&self.folder))?;
        Ok(part)
    }

    /// Waits until no other process downloads files of the repository by itself. Ends when the file is dropped.
    pub async fn lock(&self, repository: &str) -> io::Result<File> {
        let folder = self.repository(repository);
        fs::create_dir_all(&folder)?;
        let file = File::create(folder.join("lock"))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL_PERIOD).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Lets engines find the files of a commit; `is_whole` if they may look for the repository as a whole.
    pub fn publish(&self, repository: &str, revision: &str, commit: &str, is_whole: bool) -> io::Result<()> {
        if is_whole {
            fs::write(self.file(repository, commit, COMPLETE_MARKER), "")?;
        }
        let refs = self.repository(repository).join("refs");
        fs::create_dir_all(&refs)?;
        let new = refs.join(format!("{revision}.new"));
        fs::write(&new, commit)?;
        fs::rename(new, refs.join(revision))
    }

    /// Deletes files of a commit, and its folders that are empty then.
    pub fn remove<'a>(&self, repository: &str, commit: &str, names: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let snapshot = self.snapshot(repository, commit);
        for name in names.chain([COMPLETE_MARKER]) {
            let file = snapshot.join(name);
            or_gone(fs::remove_file(&file))?;
            let empty = file.ancestors().skip(1).take_while(|folder| folder.starts_with(&snapshot));
            for folder in empty {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// What is gone already is as good as deleted.
pub fn or_gone(deleted: io::Result<()>) -> io::Result<()> {
    match deleted {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_where_the_engine_looks_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let cache = HubCache::new(folder.path());
        let part = folder.path().join("0.part");
        for name in ["a.gguf", "sub/b.gguf"] {
            fs::write(&part, "GGUF").unwrap();
            cache.place(&part, "acme/tiny", "abcdef0", name).unwrap();
        }
        for revision in ["abcdef0", "main"] {
            cache.publish("acme/tiny", revision, "abcdef0", true).unwrap();
        }
        let root = folder.path().join("hub/models--acme--tiny");
        assert_eq!(fs::read_to_string(root.join("refs/main")).unwrap(), "abcdef0");
        assert!(
            root.join("snapshots/abcdef0/.forebay-whole").exists()
                && cache.has("acme/tiny", "abcdef0", "sub/b.gguf", 4)
        );
        assert!(!cache.has("acme/tiny", "abcdef0", "sub/b.gguf", 5) && !cache.has("acme/tiny", "abcdef0", "sub", 4));
        let find = |text: &str| cache.find(&HubReference::parse(text).unwrap());
        let snapshot = root.join("snapshots/abcdef0");
        assert_eq!(find("hf://acme/tiny"), Some(snapshot.clone()));
        assert_eq!(find("hf://acme/tiny@abcdef0/sub/b.gguf"), Some(snapshot.join("sub/b.gguf")));
        assert_eq!((find("hf://acme/tiny@v2"), find("hf://acme/tiny/c.gguf")), (None, None));
        cache.remove("acme/tiny", "abcdef0", ["sub/b.gguf"].into_iter()).unwrap();
        assert!(cache.has("acme/tiny", "abcdef0", "a.gguf", 4) && !root.join("snapshots/abcdef0/sub").exists());
        cache.remove("acme/tiny", "abcdef0", ["a.gguf", "gone.gguf"].into_iter()).unwrap();
        assert!(!root.join("snapshots/abcdef0").exists());
    }
}
