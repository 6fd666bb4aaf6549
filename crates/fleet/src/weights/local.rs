//! Model files in the models folder of this machine.

use super::disk::with_files;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

const MAX_FILES: usize = 200;
/// Entries that a listing looks at.
const MAX_ENTRIES: usize = 20_000;
const MAX_DEPTH: usize = 6;

/// A GGUF file, or the first part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    pub path: PathBuf,
    /// The size of all parts.
    pub bytes: u64,
}

/// The GGUF files below a folder, by path. Links are not followed.
pub(crate) fn list(folder: &Path) -> Vec<LocalFile> {
    let (mut found, mut folders, mut seen) = (Vec::new(), vec![(folder.to_owned(), 0)], 0);
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES || found.len() >= MAX_FILES {
                break;
            }
            let (path, kind) = (entry.path(), entry.file_type().ok());
            if kind.is_some_and(|kind| kind.is_dir()) && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if kind.is_some_and(|kind| kind.is_file()) && is_first_gguf(&path) {
                found.push(LocalFile { bytes: size_of(&path), path });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The file at a path, if it is below the folder and a model.
pub(crate) fn find(folder: &Path, path: &Path) -> Result<LocalFile, String> {
    let outside = || format!("is not below the models folder {}", folder.display());
    if !path.starts_with(folder) {
        return Err(outside());
    }
    // Links and `..` must not lead out of it.
    let (Ok(real_folder), Ok(real)) = (folder.canonicalize(), path.canonicalize()) else {
        return Err("does not exist on this machine".to_owned());
    };
    if !real.starts_with(&real_folder) {
        return Err(outside());
    }
    if !is_gguf(&real) {
        return Err("is not a GGUF file, which forebay-engine runs".to_owned());
    }
    Ok(LocalFile { bytes: size_of(path), path: path.to_owned() })
}

/// Why forebay-engine cannot load the weights at a path; `None` if they look right.
pub async fn path_problem(path: PathBuf) -> Option<&'static str> {
    with_files(move || find_problem(&path)).await
}

/// One response for everything else, so that it does not tell which files a machine has.
fn find_problem(path: &Path) -> Option<&'static str> {
    let is_model = if path.is_dir() { has_model(path) } else { is_gguf(path) };
    (!is_model).then_some(
        "is neither a GGUF file nor a folder with one or with a BERT sentence model on the machine of the node that \
         responds; it has to be on every node",
    )
}

/// Whether a folder has a GGUF file, or the description of a model in Hugging Face layout.
fn has_model(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES).map(|entry| entry.path());
    let mut files = entries.filter(|path| path.is_file());
    files.any(|path| path.extension().is_some_and(|end| end == "gguf") || path.ends_with("config.json"))
}

/// Whether it is a file that begins like GGUF. Nothing else is opened: a pipe would wait for its writer.
fn is_gguf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let is_read = path.is_file() && fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    is_read && &magic == b"GGUF"
}

/// Whether it is a whole model or the first part of one.
fn is_first_gguf(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_later_part = name.contains("-of-") && !name.contains("-00001-of-");
    name.ends_with(".gguf") && !is_later_part && !name.contains("mmproj")
}

/// The size of a file with all its parts.
fn size_of(path: &Path) -> u64 {
    let size = |path: &Path| path.metadata().map_or(0, |found| found.len());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((beginning, end)) = name.split_once("-00001-of-") else { return size(path) };
    let count: u32 = end.strip_suffix(".gguf").and_then(|count| count.parse().ok()).unwrap_or(1);
    let part = |number: u32| path.with_file_name(format!("{beginning}-{number:05}-of-{end}"));
    (1..=count.min(1_000)).map(|number| size(&part(number))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_models_below_the_folder_are_offered() {
        let scratch = tempfile::tempdir().unwrap();
        let (models, outside) = (scratch.path().join("models"), scratch.path().join("secret.gguf"));
        fs::create_dir_all(models.join("acme")).unwrap();
        fs::write(&outside, "GGUF secret").unwrap();
        fs::write(models.join("acme/tiny.gguf"), "GGUF tiny").unwrap();
        fs::write(models.join("big-00001-of-00002.gguf"), "GGUF 1").unwrap();
        fs::write(models.join("big-00002-of-00002.gguf"), "GGUF 22").unwrap();
        fs::write(models.join("notes.txt"), "no model").unwrap();
        std::os::unix::fs::symlink(&outside, models.join("link.gguf")).unwrap();
        let piped = std::process::Command::new("mkfifo").arg(models.join("pipe.gguf")).status();
        assert!(piped.is_ok_and(|status| status.success()));
        let listed: Vec<_> = list(&models).into_iter().map(|file| (file.path, file.bytes)).collect();
        assert_eq!(listed, [(models.join("acme/tiny.gguf"), 9), (models.join("big-00001-of-00002.gguf"), 13)]);
        assert_eq!(find(&models, &models.join("acme/tiny.gguf")).unwrap().bytes, 9);
        for (path, why) in [
            (outside, "not below"),
            (models.join("../secret.gguf"), "not below"),
            (models.join("link.gguf"), "not below"),
            (models.join("none.gguf"), "does not exist"),
            (models.join("notes.txt"), "not a GGUF file"),
            (models.join("acme"), "not a GGUF file"),
            (models.join("pipe.gguf"), "not a GGUF file"),
        ] {
            let error = find(&models, &path).unwrap_err();
            assert!(error.contains(why), "{}: {error}", path.display());
        }
        assert_eq!(list(&scratch.path().join("nowhere")), []);
    }

    #[test]
    fn weights_at_a_path_look_like_a_model() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        for folder in ["gguf", "bert", "empty"] {
            fs::create_dir(at(folder)).unwrap();
        }
        fs::write(at("gguf/tiny.gguf"), "GGUF tiny").unwrap();
        fs::write(at("bert/config.json"), "{}").unwrap();
        fs::write(at("notes.gguf"), "no model").unwrap();
        for right in ["gguf/tiny.gguf", "gguf", "bert"] {
            assert_eq!(find_problem(&at(right)), None, "{right}");
        }
        for wrong in ["none.gguf", "notes.gguf", "empty"] {
            assert!(find_problem(&at(wrong)).is_some_and(|found| found.starts_with("is neither")), "{wrong}");
        }
    }
}
