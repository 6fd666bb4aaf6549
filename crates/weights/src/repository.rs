//! A repository of the hub, and which of its files make up a model that `forebay-engine` runs.

use crate::reference::is_hub_source;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Repositories with more files are read up to here.
const MAX_FILES: usize = 10_000;
/// Larger files do not exist; the sizes of all files of a repository together stay below 2^64.
const MAX_FILE_BYTES: u64 = 1 << 50;
const MAX_TEXT_CHARS: usize = 100;
/// Files of a sentence model, in addition to its weights.
const SENTENCE_MODEL: [&str; 5] =
    ["config.json", "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json", "sentence_bert_config.json"];
const SENTENCE_WEIGHTS: &str = "model.safetensors";
/// The type of sentence models that the engine converts.
const SENTENCE_TYPE: &str = "bert";
/// The most names in an error.
const MAX_LISTED_NAMES: usize = 8;
/// GGUF files other than models: projectors of images, and statistics for quantization.
const NO_MODELS: [&str; 2] = ["mmproj", "imatrix"];

/// What the hub says about a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    pub commit: String,
    pub license: Option<String>,
    /// Whether its owner has to grant access.
    pub is_gated: bool,
    pub architecture: Option<String>,
    /// The context length that the model was trained with.
    pub context_length: Option<u64>,
    is_sentence_model: bool,
    /// By name.
    files: Vec<RepositoryFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryFile {
    pub name: String,
    pub bytes: u64,
    /// The hash of a large file.
    pub sha256: Option<String>,
}

/// A model in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    pub kind: VariantKind,
    /// All parts of a split model, in order.
    pub files: Vec<RepositoryFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariantKind {
    Gguf,
    /// A BERT model that the engine converts.
    Sentence,
}

/// Why a repository does not name a model. `Display` continues a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("it has neither a GGUF file nor model.safetensors")]
    None,
    #[error("it has several GGUF files; add the name of one: {0}")]
    Several(String),
}

impl Variant {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The file that names it.
    pub fn name(&self) -> &str {
        let named = match self.kind {
            VariantKind::Gguf => self.files.first(),
            VariantKind::Sentence => self.files.last(),
        };
        named.map_or("", |file| file.name.as_str())
    }
}

impl Repository {
    /// Reads the hub's description; `None` if it is not one.
    pub fn read(description: &Value) -> Option<Self> {
        let commit = description["sha"].as_str().filter(|text| is_commit(text))?.to_owned();
        let files = description["siblings"].as_array()?.iter().take(MAX_FILES);
        let mut files: Vec<RepositoryFile> = files.filter_map(file_of).collect();
        files.sort_by(|one, other| one.name.cmp(&other.name));
        files.dedup_by(|one, other| one.name == other.name);
        let gated = &description["gated"];
        Some(Self {
            commit,
            license: license_of(description),
            is_gated: gated.as_bool() == Some(true) || gated.is_string(),
            architecture: description["gguf"]["architecture"].as_str().map(shorten),
            context_length: description["gguf"]["context_length"].as_u64(),
            is_sentence_model: description["config"]["model_type"].as_str() == Some(SENTENCE_TYPE),
            files,
        })
    }

    /// The models that the engine runs, smallest first.
    pub fn variants(&self) -> Vec<Variant> {
        let mut variants: Vec<Variant> = self.files.iter().filter_map(|file| self.gguf_from(file)).collect();
        variants.extend(self.sentence_model());
        variants.sort_by_key(Variant::bytes);
        variants
    }

    /// The model whose first file this is.
    fn gguf_from(&self, first: &RepositoryFile) -> Option<Variant> {
        let base = first.name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        if !base.ends_with(".gguf") || NO_MODELS.iter().any(|part| base.contains(part)) {
            return None;
        }
        if split_name(&first.name).is_some_and(|(_, number, count)| number != 1 || count == 0) {
            return None;
        }
        // Ends at the first part that is missing: a name can promise 99,999 of them.
        Some(Variant { kind: VariantKind::Gguf, files: self.with_parts(&first.name)? })
    }

    fn sentence_model(&self) -> Option<Variant> {
        let files = self.sentence_files().filter(|_| self.is_sentence_model)?;
        Some(Variant { kind: VariantKind::Sentence, files })
    }

    /// The files that a reference to the whole repository means: those of its only GGUF model, or of its sentence model.
    pub fn only_model(&self) -> Result<Vec<RepositoryFile>, ChoiceError> {
        let mut models: Vec<Variant> = self.files.iter().filter_map(|file| self.gguf_from(file)).collect();
        match models.len() {
            0 => self.sentence_files().ok_or(ChoiceError::None),
            1 => Ok(models.swap_remove(0).files),
            _ => {
                let names = models.iter().map(|model| model.name().to_owned());
                Err(ChoiceError::Several(names.take(MAX_LISTED_NAMES).collect::<Vec<_>>().join(", ")))
            }
        }
    }

    /// A file, with the other parts if it is one of a split model; `None` if one of them is missing.
    pub fn with_parts(&self, name: &str) -> Option<Vec<RepositoryFile>> {
        let files: Option<Vec<RepositoryFile>> = part_names(name).map(|part| self.file(&part).cloned()).collect();
        files.filter(|files| !files.is_empty())
    }

    fn sentence_files(&self) -> Option<Vec<RepositoryFile>> {
        let weights = self.file(SENTENCE_WEIGHTS)?.clone();
        let further = SENTENCE_MODEL.iter().filter_map(|name| self.file(name).cloned());
        Some(further.chain([weights]).collect())
    }

    fn file(&self, name: &str) -> Option<&RepositoryFile> {
        let index = self.files.binary_search_by(|file| file.name.as_str().cmp(name)).ok()?;
        self.files.get(index)
    }
}

/// It becomes part of a path.
pub(crate) fn is_commit(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn shorten(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

/// The license of the model card, or else that of the tags. `other` has a name of its own.
fn license_of(description: &Value) -> Option<String> {
    let card = &description["cardData"];
    let tags = description["tags"].as_array().map_or(&[][..], Vec::as_slice);
    let tagged = || tags.iter().filter_map(Value::as_str).find_map(|tag| tag.strip_prefix("license:"));
    let license = card["license"].as_str().or_else(tagged)?;
    let name = card["license_name"].as_str().filter(|_| license == "other");
    Some(shorten(name.unwrap_or(license)))
}

/// `None` for names that cannot be in a reference, and files without a possible size.
fn file_of(entry: &Value) -> Option<RepositoryFile> {
    let name = entry["rfilename"].as_str().filter(|name| is_hub_source(&format!("owner/{name}")))?;
    let bytes = entry["lfs"]["size"].as_u64().or_else(|| entry["size"].as_u64())?;
    if bytes > MAX_FILE_BYTES {
        return None;
    }
    let is_hash = |text: &&str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let sha256 = entry["lfs"]["sha256"].as_str().filter(is_hash).map(str::to_ascii_lowercase);
    Some(RepositoryFile { name: name.to_owned(), bytes, sha256 })
}

/// The names of all parts of the split model that a file belongs to, or its own name.
pub(crate) fn part_names(file: &str) -> impl Iterator<Item = String> {
    let (beginning, count) = split_name(file).map_or((None, 1), |(beginning, _, count)| (Some(beginning), count));
    (1..=count).map(move |part| match beginning {
        Some(beginning) => format!("{beginning}-{part:05}-of-{count:05}.gguf"),
        None => file.to_owned(),
    })
}

/// Splits `name-00002-of-00003.gguf` into `name`, 2 and 3.
fn split_name(file: &str) -> Option<(&str, u32, u32)> {
    let (rest, count) = file.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (beginning, number) = rest.rsplit_once('-')?;
    let five_digits = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !five_digits(number) || !five_digits(count) {
        return None;
    }
    Some((beginning, number.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn described(files: &[(&str, u64)]) -> Value {
        let siblings = files.iter().map(|(name, bytes)| json!({"rfilename": name, "size": bytes})).collect::<Vec<_>>();
        json!({"sha": "0123456789abcdef", "siblings": siblings})
    }

    fn names(description: &Value) -> Vec<Vec<String>> {
        let variants = Repository::read(description).unwrap().variants();
        let names = |variant: Variant| variant.files.into_iter().map(|file| file.name).collect();
        variants.into_iter().map(names).collect()
    }

    #[test]
    fn models_are_whole_and_smallest_first() {
        let files = [
            ("README.md", 1),
            ("big.Q8_0.gguf", 80),
            ("small.Q2_K.gguf", 20),
            ("mmproj-model-f16.gguf", 5),
            ("s/m-00001-of-00002.gguf", 20),
            ("s/m-00002-of-00002.gguf", 30),
            ("lost-00001-of-00002.gguf", 1),
            ("../evil.gguf", 1),
        ];
        let split = vec!["s/m-00001-of-00002.gguf".to_owned(), "s/m-00002-of-00002.gguf".to_owned()];
        let expected = [vec!["small.Q2_K.gguf".to_owned()], split, vec!["big.Q8_0.gguf".to_owned()]];
        assert_eq!(names(&described(&files)), expected);
        assert!(names(&described(&[("pytorch_model.bin", 1), ("model.safetensors", 2)])).is_empty());
    }

    #[test]
    fn a_reference_without_a_file_means_the_only_model() {
        let chosen = |files: &[(&str, u64)]| {
            let found = Repository::read(&described(files)).unwrap().only_model();
            found.map(|files| files.into_iter().map(|file| file.name).collect::<Vec<_>>())
        };
        let split = [("README.md", 1), ("m-00001-of-00002.gguf", 1), ("m-00002-of-00002.gguf", 1)];
        assert_eq!(chosen(&split).unwrap(), ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
        let sentence = [("onnx/model.onnx", 1), ("model.safetensors", 1), ("config.json", 1), ("tokenizer.json", 1)];
        assert_eq!(chosen(&sentence).unwrap(), ["config.json", "tokenizer.json", "model.safetensors"]);
        let several = chosen(&[("a.gguf", 1), ("b.gguf", 1)]).unwrap_err().to_string();
        assert_eq!(several, "it has several GGUF files; add the name of one: a.gguf, b.gguf");
        assert_eq!(chosen(&[("pytorch_model.bin", 1)]), Err(ChoiceError::None));
    }

    #[test]
    fn a_file_of_a_split_model_stands_for_all_its_parts() {
        let files = [("a/m-00001-of-00002.gguf", 1), ("a/m-00002-of-00002.gguf", 1), ("m-2-of-3.gguf", 1)];
        let found = Repository::read(&described(&files)).unwrap();
        assert_eq!(found.with_parts("a/m-00002-of-00002.gguf").map(|files| files.len()), Some(2));
        assert_eq!(found.with_parts("m-2-of-3.gguf").map(|files| files.len()), Some(1));
        assert_eq!(found.with_parts("other.gguf"), None);
    }

    #[test]
    fn sizes_cannot_add_up_to_less_and_missing_parts_cost_nothing() {
        let half = 1 << 63;
        let wrapping = [("m-00001-of-00002.gguf", half), ("m-00002-of-00002.gguf", half), ("ok.gguf", 1)];
        assert_eq!(names(&described(&wrapping)), [["ok.gguf"]]);
        assert!(names(&described(&[("m-00001-of-00000.gguf", 1)])).is_empty(), "a model without files");
        let promising: Vec<String> = (0..MAX_FILES).map(|number| format!("m{number}-00001-of-99999.gguf")).collect();
        let promising: Vec<(&str, u64)> = promising.iter().map(|name| (name.as_str(), 1)).collect();
        let start = std::time::Instant::now();
        assert!(names(&described(&promising)).is_empty());
        assert!(start.elapsed().as_secs() < 10, "parts that no file has were listed");
    }

    #[test]
    fn a_sentence_model_is_recognized_by_its_configuration() {
        let files = [("onnx/model.onnx", 9), ("model.safetensors", 7), ("tokenizer.json", 2), ("config.json", 1)];
        let mut description = described(&files);
        description["config"] = json!({"model_type": "bert"});
        assert_eq!(names(&description), [["config.json", "tokenizer.json", "model.safetensors"]]);
        let variant = Repository::read(&description).unwrap().variants().remove(0);
        assert_eq!((variant.name(), variant.bytes()), ("model.safetensors", 10));
    }

    #[test]
    fn the_license_and_hashes_are_those_of_the_hub() {
        let hash = "AB".repeat(32);
        let mut description = json!({
            "sha": "0123456789abcdef", "tags": ["gguf", "license:mit"], "gated": "manual",
            "gguf": {"architecture": "llama", "context_length": 8192},
            "siblings": [{"rfilename": "a.gguf", "size": 130, "lfs": {"sha256": hash, "size": 1000}}],
        });
        let found = Repository::read(&description).unwrap();
        assert_eq!((found.license.as_deref(), found.is_gated), (Some("mit"), true));
        assert_eq!((found.architecture.as_deref(), found.context_length), (Some("llama"), Some(8192)));
        let file = RepositoryFile { name: "a.gguf".to_owned(), bytes: 1000, sha256: Some("ab".repeat(32)) };
        assert_eq!(found.files, [file]);
        description["cardData"] = json!({"license": "other", "license_name": "acme-license"});
        assert_eq!(Repository::read(&description).unwrap().license.as_deref(), Some("acme-license"));
        for bad in [json!({}), json!({"sha": "../../x", "siblings": []}), json!({"sha": "0123456789abcdef"})] {
            assert_eq!(Repository::read(&bad), None, "{bad}");
        }
    }
}
