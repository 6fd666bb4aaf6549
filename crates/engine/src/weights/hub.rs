//! Weights from the Hugging Face hub, in the hub's own cache layout.
//!
//! `hf-hub` speaks with the hub; what has come is kept, so a fetch that broke goes on where it was, in this process or
//! in the next one. What is there is not asked for again: an engine starts without the hub once it has its weights.

use super::listing::{parts, wanted};
use super::progress::Bar;
use super::source::Reference;
use super::{Problem, sha256};
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, CacheRepo, Repo, RepoType};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ENDPOINT: (&str, &str) = ("HF_ENDPOINT", "https://huggingface.co");
const TOKEN: &str = "HF_TOKEN";
const ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Written when a repository is there as a whole.
const WHOLE: &str = ".forebay-whole";

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
