//! From what the operator named to a GGUF file: a file as it is, a folder in the layout of Hugging Face, or either of
//! them on the hub.
//!
//! Sentence models of the BERT family come as safetensors; they are written as GGUF once, into the cache folder.
//! Every problem here is one line with the path and what to do.

mod bert;
mod gguf;
mod hub;
mod listing;
mod progress;
mod safetensors;
mod source;

pub(crate) use source::Source;

use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Why there are no weights to load.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("there are no weights at {}: fetch the starter models with `make models`, or give another file or folder with --model", .path.display())]
    Missing { path: PathBuf },
    #[error("{} is no GGUF file ({found}): it is damaged or was not fetched whole; fetch it again (`make models` for the starter models)", .path.display())]
    NotGguf { path: PathBuf, found: String },
    #[error("{} has neither a GGUF file nor the files of a BERT sentence model ({reason}): convert it with llama.cpp's convert_hf_to_gguf.py and give the GGUF file with --model", .path.display())]
    UnknownFolder { path: PathBuf, reason: String },
    #[error("{} is damaged or was not fetched whole ({reason}): fetch it again (`make models` for the starter models)", .path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{what} could not be fetched: {reason}")]
    NotFetched { what: String, reason: String },
    #[error("{} came damaged from the hub, its SHA-256 is another one: {reason}, and start again to fetch it anew", .path.display())]
    DamagedInCache { path: PathBuf, reason: &'static str },
    #[error("cannot read or write {}: {cause}", .path.display())]
    Unreadable { path: PathBuf, cause: std::io::Error },
}

/// The file or folder that was named, here on this machine; what is on the hub is fetched into `cache_dir`, and
/// `progress` is told the part that is done.
pub(crate) fn bring(source: &Source, cache_dir: &Path, progress: &dyn Fn(f32)) -> Result<PathBuf, Problem> {
    match source {
        Source::Path(path) => Ok(path.clone()),
        Source::Hub(reference) => hub::fetch(reference, cache_dir, progress),
    }
}

/// The GGUF file to load; a folder with safetensors is converted into `cache_dir` if it has not been yet.
pub(crate) fn locate(path: &Path, cache_dir: &Path) -> Result<PathBuf, Problem> {
    let file = if !path.exists() {
        return Err(Problem::Missing { path: path.to_owned() });
    } else if path.is_dir() {
        match gguf_in(path)? {
            Some(file) => file,
            None => bert::converted(path, cache_dir)?,
        }
    } else {
        path.to_owned()
    };
    check_magic(&file)?;
    Ok(file)
}

/// The only GGUF file of a folder; the first part of one that is split.
fn gguf_in(folder: &Path) -> Result<Option<PathBuf>, Problem> {
    let unreadable = |cause| Problem::Unreadable { path: folder.to_owned(), cause };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "gguf"));
    files.sort();
    Ok(files.into_iter().next())
}

fn check_magic(file: &Path) -> Result<(), Problem> {
    let unreadable = |cause| Problem::Unreadable { path: file.to_owned(), cause };
    let mut beginning = Vec::new();
    File::open(file).map_err(unreadable)?.take(16).read_to_end(&mut beginning).map_err(unreadable)?;
    if beginning.starts_with(b"GGUF") {
        return Ok(());
    }
    let found = match beginning.as_slice() {
        [] => "it is empty".to_owned(),
        text if text.starts_with(b"version https") => "it is a pointer of Git LFS".to_owned(),
        other => format!("it begins with {:?}", String::from_utf8_lossy(&other[..other.len().min(4)])),
    };
    Err(Problem::NotGguf { path: file.to_owned(), found })
}

/// The SHA-256 of a file, in hexadecimal digits.
fn sha256(file: &Path) -> Result<String, Problem> {
    let unreadable = |cause| Problem::Unreadable { path: file.to_owned(), cause };
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
    let mut input = File::open(file).map_err(unreadable)?;
    loop {
        match input.read(&mut piece).map_err(unreadable)? {
            0 => break,
            length => hash.update(&piece[..length]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::locate;
    use std::fs;

    #[test]
    fn every_problem_is_one_line_with_the_path() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("empty.gguf"), "").unwrap();
        fs::write(at("pointer.gguf"), "version https://git-lfs").unwrap();
        fs::create_dir(at("folder")).unwrap();
        for (name, words) in [
            ("none.gguf", "there are no weights"),
            ("empty.gguf", "it is empty"),
            ("pointer.gguf", "pointer of Git LFS"),
            ("folder", "convert_hf_to_gguf.py"),
        ] {
            let problem = locate(&at(name), scratch.path()).unwrap_err().to_string();
            assert!(problem.contains(words) && problem.contains(name) && problem.lines().count() == 1, "{problem}");
        }
    }
}
