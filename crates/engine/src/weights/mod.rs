//! Resolves the `--model` option to a GGUF file: a file, a Hugging Face model folder, or either of them on the hub.
//!
//! BERT sentence models are distributed as safetensors and are converted to GGUF once, in the cache folder.
//! Every error is one line with the path and a remedy.

mod bert;
mod gguf;
mod hub;
mod progress;
mod safetensors;
mod source;

pub(crate) use source::Source;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Why the weights cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WeightsError {
    #[error("there are no weights at {}: download the starter models with `make models`, or name another file or folder with --model", .path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a GGUF file ({found}): it is damaged or incomplete; download it again (`make models` for the starter models)", .path.display())]
    NotGguf { path: PathBuf, found: String },
    #[error("{} has neither a GGUF file nor the files of a BERT sentence model ({reason}): convert it with llama.cpp's convert_hf_to_gguf.py and name the GGUF file with --model", .path.display())]
    UnknownFolder { path: PathBuf, reason: String },
    #[error("{} is damaged or incomplete ({reason}): download it again (`make models` for the starter models)", .path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{what} could not be fetched: {reason}")]
    NotFetched { what: String, reason: String },
    #[error("{file} was damaged during download (its SHA-256 differs) and was removed: restart to download it again")]
    DamagedDownload { file: String },
    #[error("cannot read or write {}: {cause}", .path.display())]
    Unreadable { path: PathBuf, cause: std::io::Error },
}

/// Returns the local file or folder. Hub references are downloaded into `cache_dir`; `progress` receives the completed
/// fraction.
pub(crate) async fn obtain(
    source: &Source,
    cache_dir: &Path,
    progress: &(dyn Fn(f32) + Sync),
) -> Result<PathBuf, WeightsError> {
    match source {
        Source::Path(path) => Ok(path.clone()),
        Source::Hub(reference) => hub::fetch(reference, cache_dir, progress).await,
    }
}

/// Returns the GGUF file to load. A folder with safetensors is converted into `cache_dir` unless that is already done.
pub(crate) fn locate(path: &Path, cache_dir: &Path) -> Result<PathBuf, WeightsError> {
    let file = if !path.exists() {
        return Err(WeightsError::Missing { path: path.to_owned() });
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

/// The first GGUF file of a folder, which is the first part of a split model.
fn gguf_in(folder: &Path) -> Result<Option<PathBuf>, WeightsError> {
    let unreadable = |cause| WeightsError::Unreadable { path: folder.to_owned(), cause };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "gguf"));
    files.sort();
    Ok(files.into_iter().next())
}

fn check_magic(file: &Path) -> Result<(), WeightsError> {
    let unreadable = |cause| WeightsError::Unreadable { path: file.to_owned(), cause };
    let mut beginning = Vec::new();
    File::open(file).map_err(unreadable)?.take(16).read_to_end(&mut beginning).map_err(unreadable)?;
    if beginning.starts_with(b"GGUF") {
        return Ok(());
    }
    let found = match beginning.as_slice() {
        [] => "it is empty".to_owned(),
        text if text.starts_with(b"version https") => "it is a Git LFS pointer".to_owned(),
        other => format!("it begins with {:?}", String::from_utf8_lossy(&other[..other.len().min(4)])),
    };
    Err(WeightsError::NotGguf { path: file.to_owned(), found })
}

#[cfg(test)]
mod tests {
    use super::locate;
    use std::fs;

    #[test]
    fn every_error_is_one_line_with_the_path() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("empty.gguf"), "").unwrap();
        fs::write(at("pointer.gguf"), "version https://git-lfs").unwrap();
        fs::create_dir(at("folder")).unwrap();
        for (name, words) in [
            ("none.gguf", "there are no weights"),
            ("empty.gguf", "it is empty"),
            ("pointer.gguf", "Git LFS pointer"),
            ("folder", "convert_hf_to_gguf.py"),
        ] {
            let error = locate(&at(name), scratch.path()).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains(name) && error.lines().count() == 1, "{error}");
        }
    }
}
