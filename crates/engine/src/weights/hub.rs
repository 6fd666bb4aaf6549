//! Downloads weights from a hub into the cache folder. Cached files are not requested again: once it has its weights, an
//! engine starts without the hub.

use super::WeightsError;
use super::progress::DownloadBar;
use background::Backoff;
use outbound::Connector;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;
use weights::{
    DEFAULT_HUB, FetchError, HUB_VARIABLE, Hub, HubCache, HubError, HubReference, ProxyRules, Repository,
    RepositoryFile, Selection, TOKEN_VARIABLE, engine_reserve,
};

/// Attempts to read the hub's description.
const ATTEMPTS: u32 = 6;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(8));

/// The file or folder of a reference, downloaded if not cached; `progress` receives the completed fraction.
pub(super) async fn fetch(
    reference: &HubReference,
    cache_dir: &Path,
    progress: &(dyn Fn(f32) + Sync),
) -> Result<PathBuf, WeightsError> {
    let cache = HubCache::new(cache_dir);
    if let Some(found) = cache.find(reference) {
        return Ok(found);
    }
    let unreadable = |cause| WeightsError::Unreadable { path: cache_dir.to_owned(), cause };
    let lock = cache.lock(&reference.repository).await.map_err(unreadable)?;
    // Another engine may have downloaded it meanwhile.
    if cache.find(reference).is_none() {
        Download { reference, hub: open_hub(), cache: &cache, cache_dir, progress }.run().await?;
    }
    drop(lock);
    let not_found = || not_fetched(reference, "it does not name a file");
    cache.find(reference).ok_or_else(not_found)
}

fn open_hub() -> Hub {
    let variable = |name: &str| env::var(name).or_else(|_| env::var(name.to_ascii_lowercase())).ok();
    let proxy = ProxyRules::read(variable("HTTPS_PROXY").as_deref(), variable("NO_PROXY").as_deref());
    let url = env::var(HUB_VARIABLE).unwrap_or_else(|_| DEFAULT_HUB.to_owned());
    let token = env::var(TOKEN_VARIABLE).ok();
    Hub::new(Connector::default(), proxy, url.trim_end_matches('/').to_owned(), token.as_deref())
}

struct Download<'a> {
    reference: &'a HubReference,
    hub: Hub,
    cache: &'a HubCache,
    cache_dir: &'a Path,
    progress: &'a (dyn Fn(f32) + Sync),
}

impl Download<'_> {
    async fn run(&self) -> Result<(), WeightsError> {
        let wanted = self.reference.file.as_deref().unwrap_or("the list of its files");
        let found = self.describe().await;
        let found = found.map_err(|error| self.explain(&error.into(), wanted))?;
        let files = self.choose(&found)?;
        let selection = Selection {
            repository: &self.reference.repository,
            revision: &self.reference.revision,
            commit: &found.commit,
            files: &files,
            is_whole: self.reference.file.is_none(),
            reserve: engine_reserve(self.cache_dir),
        };
        let unreadable = |cause| WeightsError::Unreadable { path: self.reference.to_string().into(), cause };
        let bar = DownloadBar::new(self.reference, self.cache, &selection, self.progress).map_err(unreadable)?;
        let fetched = weights::fetch(&self.hub, self.cache, &selection, &bar).await;
        bar.finish();
        fetched.map_err(|error| self.explain(&error, files.first().map_or(wanted, |file| file.name.as_str())))
    }

    async fn describe(&self) -> Result<Repository, HubError> {
        let mut backoff = BACKOFF;
        for _ in 1..ATTEMPTS {
            match self.hub.describe(self.reference).await {
                Err(HubError::Unavailable(_)) => tokio::time::sleep(backoff.next_delay()).await,
                described => return described,
            }
        }
        self.hub.describe(self.reference).await
    }

    fn choose(&self, found: &Repository) -> Result<Vec<RepositoryFile>, WeightsError> {
        match &self.reference.file {
            Some(file) => found.with_parts(file).ok_or_else(|| self.explain(&HubError::NotFound.into(), file)),
            None => found.only_model().map_err(|error| not_fetched(self.reference, &error.to_string())),
        }
    }

    /// One line about what could not be downloaded, with a remedy.
    fn explain(&self, error: &FetchError, what: &str) -> WeightsError {
        let hub = self.hub.url();
        let reason = match error {
            FetchError::Damaged { file } => return WeightsError::DamagedDownload { file: file.clone() },
            FetchError::Hub(HubError::Unauthorized) => format!(
                "{hub} requires authorization for {what}, or the repository does not exist; check the name, or set \
                 {TOKEN_VARIABLE}"
            ),
            FetchError::Hub(HubError::NotFound) => format!("{hub} does not have {what}; check the name"),
            FetchError::Hub(HubError::Unavailable(_) | HubError::Unexpected(_))
            | FetchError::Cancelled
            | FetchError::TooLong
            | FetchError::NoSpace { .. }
            | FetchError::Disk(_) => {
                format!("{what} from {hub}: {error}; the partial download is kept; restart to resume")
            }
        };
        not_fetched(self.reference, &reason)
    }
}

fn not_fetched(reference: &HubReference, reason: &str) -> WeightsError {
    WeightsError::NotFetched { what: reference.to_string(), reason: reason.to_owned() }
}
