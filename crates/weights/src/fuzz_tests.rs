//! Fuzz target for what a hub says about a repository.

use crate::repository::{Repository, RepositoryFile, Variant, VariantKind};
use crate::{HubReference, pinned};
use fuzz::Fuzz;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Component, Path};

const WORDS: &[&str] = &[
    ",{\"rfilename\":\"b.gguf\",\"size\":1}",
    ",{\"rfilename\":\"config.json\",\"size\":1}",
    ",{\"rfilename\":\"model.safetensors\",\"lfs\":{\"size\":2}}",
    ",\"lfs\":{\"sha256\":\"\",\"size\":3}",
    ",\"config\":{\"model_type\":\"bert\"}",
    "\"siblings\":",
    "\"sha\":\"..\"",
    "../",
    "..",
    "/",
    "\\\\",
    "\\u0000",
    "\\u002f",
    "@",
    " ",
    "-00001-of-00002.gguf",
    "-00002-of-00002.gguf",
    "-00001-of-00000.gguf",
    "-00001-of-99999.gguf",
    "99999",
    ".gguf",
    "mmproj",
    "18446744073709551615",
    "1e3",
    "-1",
    "null",
    "\u{e9}",
];
const MAX_TEXT_CHARS: usize = 100;

/// Whether the name stays in the folder that it is put into, and cannot be an option of a command.
fn is_safe(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.@".contains(letter);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with(['-', '.']) && part.chars().all(is_plain);
    let stays_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    stays_inside && name.split('/').all(is_part)
}

/// Whether the description has a file with this name and size.
fn is_described(file: &RepositoryFile, description: &Value) -> bool {
    let siblings = description["siblings"].as_array().expect("it was read");
    siblings.iter().any(|entry| {
        let size = entry["lfs"]["size"].as_u64().or_else(|| entry["size"].as_u64());
        entry["rfilename"] == file.name.as_str() && size == Some(file.bytes)
    })
}

/// The files of a model are described, each once, with names that are safe in paths and in references.
fn check_files(files: &[RepositoryFile], commit: &str, description: &Value) {
    assert!(!files.is_empty());
    let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names.len(), files.len(), "{names:?}");
    for file in files {
        assert!(is_safe(&file.name), "{:?}", file.name);
        assert!(is_described(file, description), "{file:?}");
        let is_hash = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(file.sha256.as_ref().is_none_or(is_hash), "{file:?}");
        let reference = HubReference::parse(&pinned("acme/tiny", commit, Some(&file.name)));
        let reference = reference.expect("a name is part of a reference");
        assert_eq!((reference.revision.as_str(), reference.file.as_ref()), (commit, Some(&file.name)));
    }
}

/// Whatever a hub says, its models are whole, and no name leads out of a folder.
#[test]
fn hub_descriptions() {
    Fuzz::new("hub-description").words(WORDS).run(|bytes| {
        let Ok(description) = serde_json::from_slice::<Value>(bytes) else { return };
        let Some(repository) = Repository::read(&description) else { return };
        let commit = repository.commit.as_str();
        assert!(is_safe(commit) && (7..=64).contains(&commit.len()), "{commit:?}");
        for text in [&repository.license, &repository.architecture].into_iter().flatten() {
            assert!(text.chars().count() <= MAX_TEXT_CHARS, "{text}");
        }
        let variants = repository.variants();
        assert!(variants.is_sorted_by_key(Variant::bytes), "the smallest first");
        for variant in &variants {
            check_files(&variant.files, commit, &description);
            assert!(variant.files.iter().any(|file| file.name == variant.name()));
            if variant.kind == VariantKind::Gguf {
                for part in &variant.files {
                    assert_eq!(
                        repository.with_parts(&part.name).as_ref(),
                        Some(&variant.files),
                        "each part is of one model"
                    );
                }
            }
        }
        if let Ok(files) = repository.only_model() {
            check_files(&files, commit, &description);
        }
    });
}
