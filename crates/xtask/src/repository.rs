//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

pub(crate) struct Repository {
    pub(crate) root: PathBuf,
    /// Tracked files and new files that git does not ignore, relative to the root, in order.
    pub(crate) files: Vec<String>,
}

impl Repository {
    pub(crate) fn open() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let listed = output(Command::new("git").current_dir(&root).args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ]))?;
        let mut files: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
        files.retain(|file| fs::symlink_metadata(root.join(file)).is_ok_and(|found| found.is_file()));
        files.sort();
        Ok(Self { root, files })
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// The text of a file; bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&self, file: &str) -> Result<String> {
        let bytes = fs::read(self.path(file)).with_context(|| format!("cannot read {file}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Copies the files below a folder of the repository; an empty name is the whole repository.
    pub(crate) fn copy(&self, folder: &str, target: &Path) -> Result<()> {
        for file in &self.files {
            let Ok(inside) = Path::new(file).strip_prefix(folder) else { continue };
            let copy = target.join(inside);
            fs::create_dir_all(copy.parent().context("a file has a folder")?)?;
            fs::copy(self.path(file), copy).with_context(|| format!("cannot copy {file}"))?;
        }
        Ok(())
    }

    /// A repository of these files in a temporary folder.
    #[cfg(test)]
    pub(crate) fn sample(files: &[(&str, &str)]) -> (tempfile::TempDir, Self) {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = files.iter().map(|(file, _)| (*file).to_owned()).collect();
        let repository = Self { root: folder.path().to_owned(), files };
        (folder, repository)
    }
}

/// The output of a command that must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command.output().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let errors = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{} failed: {}", command.get_program().display(), errors.trim());
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// An empty folder that is removed at the end.
pub(crate) struct Scratch {
    pub(crate) folder: PathBuf,
}

impl Scratch {
    pub(crate) fn create(name: &str) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("forebay-{name}.{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self { folder })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
