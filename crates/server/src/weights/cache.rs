//! The folder where `forebay-engine` looks for files of the hub: `hub/models--owner--name/snapshots/<commit>/<file>`, with
//! `refs/<revision>` naming the commit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Marker of a repository of which all needed files are there, as the engine writes it.
const COMPLETE_MARKER: &str = ".forebay-whole";

#[derive(Debug, Clone)]
pub(super) struct HubCache {
    folder: PathBuf,
}

impl HubCache {
    /// The cache in the folder that engines are started with.
    pub(super) fn new(cache_dir: &Path) -> Self {
        Self { folder: cache_dir.join("hub") }
    }

    fn repository(&self, repository: &str) -> PathBuf {
        self.folder.join(format!("models--{}", repository.replace('/', "--")))
    }

    fn snapshot(&self, repository: &str, commit: &str) -> PathBuf {
        self.repository(repository).join("snapshots").join(commit)
    }

    pub(super) fn file(&self, repository: &str, commit: &str, name: &str) -> PathBuf {
        self.snapshot(repository, commit).join(name)
    }

    /// Whether the file is there with this size.
    pub(super) fn has(&self, repository: &str, commit: &str, name: &str, bytes: u64) -> bool {
        self.file(repository, commit, name).metadata().is_ok_and(|found| found.is_file() && found.len() == bytes)
    }

    /// Moves a whole file to its place.
    pub(super) fn place(&self, part: &Path, repository: &str, commit: &str, name: &str) -> io::Result<()> {
        let target = self.file(repository, commit, name);
        fs::create_dir_all(target.parent().unwrap_or(&self.folder))?;
        fs::rename(part, target)
    }

    /// Lets engines find the files of a commit; `is_whole` if they may look for the repository as a whole.
    pub(super) fn publish(&self, repository: &str, commit: &str, is_whole: bool) -> io::Result<()> {
        let refs = self.repository(repository).join("refs");
        fs::create_dir_all(&refs)?;
        let new = refs.join(format!("{commit}.new"));
        fs::write(&new, commit)?;
        fs::rename(new, refs.join(commit))?;
        if is_whole {
            fs::write(self.file(repository, commit, COMPLETE_MARKER), "")?;
        }
        Ok(())
    }

    /// Deletes files of a commit, and its folders that are empty then.
    pub(super) fn remove<'a>(
        &self,
        repository: &str,
        commit: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> io::Result<()> {
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
pub(super) fn or_gone(deleted: io::Result<()>) -> io::Result<()> {
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
            cache.place(&part, "acme/tiny", "abc", name).unwrap();
        }
        cache.publish("acme/tiny", "abc", true).unwrap();
        let root = folder.path().join("hub/models--acme--tiny");
        assert_eq!(fs::read_to_string(root.join("refs/abc")).unwrap(), "abc");
        assert!(root.join("snapshots/abc/.forebay-whole").exists() && cache.has("acme/tiny", "abc", "sub/b.gguf", 4));
        assert!(!cache.has("acme/tiny", "abc", "sub/b.gguf", 5) && !cache.has("acme/tiny", "abc", "sub", 4));
        cache.remove("acme/tiny", "abc", ["sub/b.gguf"].into_iter()).unwrap();
        assert!(cache.has("acme/tiny", "abc", "a.gguf", 4) && !root.join("snapshots/abc/sub").exists());
        cache.remove("acme/tiny", "abc", ["a.gguf", "gone.gguf"].into_iter()).unwrap();
        assert!(!root.join("snapshots/abc").exists());
    }
}
