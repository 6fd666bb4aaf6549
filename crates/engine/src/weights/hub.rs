//! Downloads weights from the Hugging Face hub into the hub's cache layout.
//!
//! `hf-hub` talks to the hub. Partial downloads are kept, so an interrupted download resumes in this process or the next
//! one. Cached files are not requested again: once it has its weights, an engine starts without the hub.

use super::listing::{files_to_fetch, parts};
use super::progress::DownloadBar;
use super::source::HubReference;
use super::{WeightsError, sha256};
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, CacheRepo, Repo, RepoType};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ENDPOINT: (&str, &str) = ("HF_ENDPOINT", "https://huggingface.co");
const TOKEN: &str = "HF_TOKEN";
const ATTEMPTS: u32 = 6;
const MIN_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// Marker file of a completely downloaded repository.
const COMPLETE_MARKER: &str = ".forebay-whole";

/// The file or folder of a reference, downloaded if not cached; `progress` receives the completed fraction.
pub(super) fn fetch(
    reference: &HubReference,
    cache_dir: &Path,
    progress: &dyn Fn(f32),
) -> Result<PathBuf, WeightsError> {
    let hub = Hub::new(reference, cache_dir, progress)?;
    match &reference.file {
        Some(file) => hub.fetch_all(&parts(file)),
        None => hub.folder(),
    }
}

struct Hub<'a> {
    reference: &'a HubReference,
    endpoint: String,
    api: Api,
    remote: ApiRepo,
    cached: CacheRepo,
    progress: &'a dyn Fn(f32),
}

impl<'a> Hub<'a> {
    fn new(reference: &'a HubReference, cache_dir: &Path, progress: &'a dyn Fn(f32)) -> Result<Self, WeightsError> {
        let endpoint = std::env::var(ENDPOINT.0).unwrap_or_else(|_| ENDPOINT.1.to_owned());
        let cache = Cache::new(cache_dir.join("hub"));
        let repository = Repo::with_revision(reference.repository.clone(), RepoType::Model, reference.revision.clone());
        let mut builder = ApiBuilder::from_cache(cache.clone()).with_endpoint(endpoint.clone());
        if let Ok(token) = std::env::var(TOKEN) {
            builder = builder.with_token(Some(token));
        }
        let failed =
            |error: ApiError| WeightsError::NotFetched { what: reference.to_string(), reason: error.to_string() };
        let api = builder.build().map_err(failed)?;
        let remote = api.repo(repository.clone());
        Ok(Self { reference, endpoint, remote, api, cached: cache.repo(repository), progress })
    }

    /// Downloads all files and returns the first one.
    fn fetch_all(&self, names: &[String]) -> Result<PathBuf, WeightsError> {
        let files: Vec<PathBuf> = names.iter().map(|name| self.file(name)).collect::<Result<_, _>>()?;
        files.into_iter().next().ok_or_else(|| self.not_fetched("it does not name a file"))
    }

    /// Downloads the files of the repository that this engine can load, and returns their folder.
    fn folder(&self) -> Result<PathBuf, WeightsError> {
        if let Some(marker) = self.cached.get(COMPLETE_MARKER) {
            return Ok(folder_of(&marker));
        }
        let listing = self.remote.info().map_err(|error| self.fetch_error(&error, "the list of its files"))?;
        let names: Vec<String> = listing.siblings.into_iter().map(|file| file.rfilename).collect();
        let wanted = files_to_fetch(&names).map_err(|reason| self.not_fetched(&reason))?;
        let folder = folder_of(&self.fetch_all(&wanted)?);
        let marker = folder.join(COMPLETE_MARKER);
        File::create(&marker).map_err(|cause| WeightsError::Unreadable { path: marker, cause })?;
        Ok(folder)
    }

    fn file(&self, name: &str) -> Result<PathBuf, WeightsError> {
        if let Some(path) = self.cached.get(name) {
            return Ok(path);
        }
        let metadata = self.retry(name, || self.api.metadata(&self.remote.url(name)))?;
        let bar = DownloadBar::new(self.progress);
        let path = self.retry(name, || self.remote.download_with_progress(name, bar.clone()))?;
        // The ETag of a large file is its SHA-256.
        let is_hash = metadata.etag().len() == 64;
        if is_hash && sha256(&path)? != metadata.etag() {
            let removed = fs::canonicalize(&path).and_then(fs::remove_file).and_then(|()| fs::remove_file(&path));
            let reason = if removed.is_ok() { "it was removed" } else { "remove it" };
            return Err(WeightsError::DamagedInCache { path, reason });
        }
        Ok(path)
    }

    /// Retries connection and server errors with backoff, and waits while another process downloads the same file.
    fn retry<T>(&self, name: &str, attempt: impl Fn() -> Result<T, ApiError>) -> Result<T, WeightsError> {
        let mut backoff = MIN_BACKOFF;
        let mut left = ATTEMPTS;
        loop {
            let error = match attempt() {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !matches!(error, ApiError::LockAcquisition(_)) {
                left -= 1;
                if left == 0 || status(&error).is_some_and(|status| status < 500) {
                    return Err(self.fetch_error(&error, name));
                }
            }
            wait(backoff);
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    fn fetch_error(&self, error: &ApiError, what: &str) -> WeightsError {
        match status(error) {
            Some(401 | 403) => self.not_fetched(&format!(
                "{} requires authorization for {what}, or the repository does not exist; check the name, or set {TOKEN}",
                self.endpoint
            )),
            Some(404) => self.not_fetched(&format!("{} does not have {what}; check the name", self.endpoint)),
            _ => {
                let resume = "the partial download is kept; restart to resume";
                self.not_fetched(&format!("{what} from {}: {error}; {resume}", self.endpoint))
            }
        }
    }

    fn not_fetched(&self, reason: &str) -> WeightsError {
        WeightsError::NotFetched { what: self.reference.to_string(), reason: reason.to_owned() }
    }
}

#[expect(clippy::disallowed_methods, reason = "the loading thread has nothing else to do")]
fn wait(backoff: Duration) {
    std::thread::sleep(backoff);
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
