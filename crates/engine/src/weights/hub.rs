//! Weights from the Hugging Face hub, in the hub's own cache layout.
//!
//! `hf-hub` speaks with the hub; what has come is kept, so a fetch that broke goes on where it was, in this process or
//! in the next one. What is there is not asked for again: an engine starts without the hub once it has its weights.

use super::source::Reference;
use super::{Problem, sha256};
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, CacheRepo, Repo, RepoType};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ENDPOINT: (&str, &str) = ("HF_ENDPOINT", "https://huggingface.co");
const TOKEN: &str = "HF_TOKEN";
const ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Files of a sentence model beside its weights, as far as the repository has them.
const SENTENCE_MODEL: [&str; 5] =
    ["config.json", "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json", "sentence_bert_config.json"];
const SENTENCE_WEIGHTS: &str = "model.safetensors";
/// Written when a repository is there as a whole.
const WHOLE: &str = ".forebay-whole";
/// Names that are told when one must be chosen.
const NAMES_TOLD: usize = 8;

/// The file or folder of a reference, fetched now if it is not in the cache; `progress` is told the part that is done.
pub(super) fn fetch(reference: &Reference, cache_dir: &Path, progress: &dyn Fn(f32)) -> Result<PathBuf, Problem> {
    let hub = Hub::new(reference, cache_dir, progress)?;
    match &reference.file {
        Some(file) => hub.all_of(&parts(file)),
        None => hub.folder(),
    }
}

struct Hub<'a> {
    reference: &'a Reference,
    endpoint: String,
    api: Api,
    remote: ApiRepo,
    cached: CacheRepo,
    progress: &'a dyn Fn(f32),
}

impl<'a> Hub<'a> {
    fn new(reference: &'a Reference, cache_dir: &Path, progress: &'a dyn Fn(f32)) -> Result<Self, Problem> {
        let endpoint = std::env::var(ENDPOINT.0).unwrap_or_else(|_| ENDPOINT.1.to_owned());
        let cache = Cache::new(cache_dir.join("hub"));
        let repository = Repo::with_revision(reference.repository.clone(), RepoType::Model, reference.revision.clone());
        let mut builder = ApiBuilder::from_cache(cache.clone()).with_endpoint(endpoint.clone());
        if let Ok(token) = std::env::var(TOKEN) {
            builder = builder.with_token(Some(token));
        }
        let refused = |error: ApiError| Problem::NotFetched { what: reference.to_string(), reason: error.to_string() };
        let api = builder.build().map_err(refused)?;
        let remote = api.repo(repository.clone());
        Ok(Self { reference, endpoint, remote, api, cached: cache.repo(repository), progress })
    }

    /// The first of several files, when all are there.
    fn all_of(&self, names: &[String]) -> Result<PathBuf, Problem> {
        let files: Vec<PathBuf> = names.iter().map(|name| self.file(name)).collect::<Result<_, _>>()?;
        files.into_iter().next().ok_or_else(|| self.not_fetched("it names no file"))
    }

    /// A folder with what this engine can load of the repository.
    fn folder(&self) -> Result<PathBuf, Problem> {
        if let Some(whole) = self.cached.get(WHOLE) {
            return Ok(folder_of(&whole));
        }
        let listing = self.remote.info().map_err(|error| self.problem(&error, "the list of its files"))?;
        let names: Vec<String> = listing.siblings.into_iter().map(|file| file.rfilename).collect();
        let wanted = wanted(&names).map_err(|reason| self.not_fetched(&reason))?;
        let folder = folder_of(&self.all_of(&wanted)?);
        let whole = folder.join(WHOLE);
        File::create(&whole).map_err(|cause| Problem::Unreadable { path: whole, cause })?;
        Ok(folder)
    }

    fn file(&self, name: &str) -> Result<PathBuf, Problem> {
        if let Some(path) = self.cached.get(name) {
            return Ok(path);
        }
        let metadata = self.again(name, || self.api.metadata(&self.remote.url(name)))?;
        let bar = Bar::new(self.progress);
        let path = self.again(name, || self.remote.download_with_progress(name, bar.clone()))?;
        // The hub names large files after their SHA-256.
        let is_hash = metadata.etag().len() == 64;
        if is_hash && sha256(&path)? != metadata.etag() {
            let removed = fs::canonicalize(&path).and_then(fs::remove_file).and_then(|()| fs::remove_file(&path));
            let reason = if removed.is_ok() { "it was removed" } else { "remove it" };
            return Err(Problem::DamagedInCache { path, reason });
        }
        Ok(path)
    }

    /// Tries again while the connection is to blame; another process that fetches the same is waited for.
    fn again<T>(&self, name: &str, attempt: impl Fn() -> Result<T, ApiError>) -> Result<T, Problem> {
        let mut pause = FIRST_PAUSE;
        let mut left = ATTEMPTS;
        loop {
            let error = match attempt() {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !matches!(error, ApiError::LockAcquisition(_)) {
                left -= 1;
                if left == 0 || status(&error).is_some_and(|status| status < 500) {
                    return Err(self.problem(&error, name));
                }
            }
            wait(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn problem(&self, error: &ApiError, what: &str) -> Problem {
        match status(error) {
            Some(401 | 403) => self.not_fetched(&format!(
                "{} does not give out {what} to everyone, or has no such repository; check the name, or set {TOKEN}",
                self.endpoint
            )),
            Some(404) => self.not_fetched(&format!("{} does not have {what}; check the name", self.endpoint)),
            _ => {
                let again = "what has come is kept: start again to go on";
                self.not_fetched(&format!("{what} from {}: {error}; {again}", self.endpoint))
            }
        }
    }

    fn not_fetched(&self, reason: &str) -> Problem {
        Problem::NotFetched { what: self.reference.to_string(), reason: reason.to_owned() }
    }
}

#[expect(clippy::disallowed_methods, reason = "the thread that loads has nothing else to do")]
fn wait(pause: Duration) {
    std::thread::sleep(pause);
}

fn status(error: &ApiError) -> Option<u16> {
    match error {
        ApiError::RequestError(error) => match **error {
            ureq::Error::StatusCode(status) => Some(status),
            _ => None,
        },
        _ => None,
    }
}

fn folder_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(file).to_owned()
}

/// The files to fetch of a repository: its only GGUF, or a sentence model. The first one is at the top.
fn wanted(names: &[String]) -> Result<Vec<String>, String> {
    let is_first = |name: &&String| name.ends_with(".gguf") && (!is_part(name) || name.contains("-00001-of-"));
    let models: Vec<&String> = names.iter().filter(is_first).collect();
    match models.as_slice() {
        [] if names.iter().any(|name| name == SENTENCE_WEIGHTS) => {
            let there = SENTENCE_MODEL.iter().filter(|wanted| names.iter().any(|name| name == *wanted));
            Ok(there.copied().chain([SENTENCE_WEIGHTS]).map(str::to_owned).collect())
        }
        [] => Err("it has neither a GGUF file nor model.safetensors".to_owned()),
        [only] => Ok(parts(only)),
        several => {
            let told: Vec<&str> = several.iter().take(NAMES_TOLD).map(|name| name.as_str()).collect();
            Err(format!("it has several GGUF files; add the name of one: {}", told.join(", ")))
        }
    }
}

/// All files of a model that is split into several, of which `file` is one.
fn parts(file: &str) -> Vec<String> {
    let Some((beginning, count)) = split_name(file) else { return vec![file.to_owned()] };
    (1..=count).map(|part| format!("{beginning}-{part:05}-of-{count:05}.gguf")).collect()
}

fn is_part(file: &str) -> bool {
    split_name(file).is_some()
}

/// `name-00002-of-00003.gguf` as `name` and 3.
fn split_name(file: &str) -> Option<(&str, u32)> {
    let (rest, count) = file.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (beginning, number) = rest.rsplit_once('-')?;
    let five_digits = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    (five_digits(number) && five_digits(count)).then(|| Some((beginning, count.parse().ok()?)))?
}

/// A bar on the terminal, where there is one, and the same for `/health`.
#[derive(Clone)]
struct Bar<'a> {
    bar: ProgressBar,
    progress: &'a dyn Fn(f32),
}

impl<'a> Bar<'a> {
    fn new(progress: &'a dyn Fn(f32)) -> Self {
        Self { bar: ProgressBar::no_length(), progress }
    }
}

impl hf_hub::api::Progress for Bar<'_> {
    fn init(&mut self, size: usize, name: &str) {
        let style = "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
        self.bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar.set_message(name.to_owned());
        self.bar.set_length(size as u64);
        self.bar.set_position(0);
    }

    fn update(&mut self, size: usize) {
        self.bar.inc(size as u64);
        let whole = self.bar.length().unwrap_or(0).max(1);
        (self.progress)(self.bar.position() as f32 / whole as f32);
    }

    fn finish(&mut self) {
        self.bar.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::{parts, wanted};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_split_model_is_all_its_parts() {
        assert_eq!(parts("a/m-00002-of-00003.gguf")[2], "a/m-00003-of-00003.gguf");
        assert_eq!(parts("m-2-of-3.gguf"), ["m-2-of-3.gguf"]);
        assert_eq!(parts("m.gguf"), ["m.gguf"]);
    }

    #[test]
    fn a_repository_has_one_model_or_says_which_it_has() {
        let split = names(&["README.md", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
        assert_eq!(wanted(&split), Ok(names(&["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"])));
        let sentence = names(&["onnx/model.onnx", "model.safetensors", "config.json", "tokenizer.json"]);
        assert_eq!(wanted(&sentence), Ok(names(&["config.json", "tokenizer.json", "model.safetensors"])));
        assert!(wanted(&names(&["a.gguf", "b.gguf"])).unwrap_err().contains("a.gguf, b.gguf"));
        assert!(wanted(&names(&["pytorch_model.bin"])).is_err());
    }
}
