//! Weights of models that run here: what the hub and the models folder have, what fits on this machine, and downloads.

mod change;
mod disk;
mod downloads;
mod entry;
mod fit;
mod local;
mod record;
mod reference;

pub use change::{ChangeError, decide};
pub use downloads::{Downloads, Turn};
pub use entry::Entry;
pub use fit::{Fit, Verdict};
pub use local::{LocalFile, path_problem};
pub use record::{DownloadState, Order, Record};

use crate::drivers::process::GpuMemory;
use crate::machine::{self, Machine};
use disk::with_files;
use outbound::Connector;
use reference::Reference;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weights::{Hub, HubError, HubReference, ProxyRules, Repository, Variant, VariantKind, pinned, rough};

/// Repositories with more models are listed up to here.
const MAX_VARIANTS: usize = 100;

/// Why weights cannot be used, or a download not be started. `Display` is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("{0}")]
    Reference(String),
    #[error("{0}")]
    HubUnavailable(String),
    #[error("it has {}; [weights] max_download is {}", rough(*bytes), rough(*max))]
    TooLarge { bytes: u64, max: u64 },
    #[error("there is not enough space on the disk: {0}")]
    NoDiskSpace(String),
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error("a file cannot be read or written")]
    Disk(#[from] io::Error),
}

impl From<HubError> for WeightsError {
    fn from(error: HubError) -> Self {
        match error {
            HubError::NotFound | HubError::Unauthorized => Self::Reference(error.to_string()),
            HubError::Unavailable(_) | HubError::Unexpected(_) => Self::HubUnavailable(error.to_string()),
        }
    }
}

/// Where weights come from. `Debug` omits the token and the proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct WeightsConfig {
    /// The folder of model files that the console offers; `None` for `models` in the data directory.
    pub models_dir: Option<PathBuf>,
    /// Most bytes of one download.
    pub max_download: u64,
    /// Without a trailing slash.
    pub hub: String,
    pub hub_token: Option<String>,
    /// The proxy of connections to the hub by https, as the environment names it. It may contain a password.
    pub https_proxy: Option<String>,
    /// Hosts that are reached without it.
    pub no_proxy: Option<String>,
}

impl fmt::Debug for WeightsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { models_dir, max_download, hub, hub_token: _, https_proxy: _, no_proxy: _ } = self;
        write!(f, "WeightsConfig({models_dir:?}, {max_download}, {hub})")
    }
}

/// The weights of this node.
pub struct Weights {
    hub: Arc<Hub>,
    downloads: Arc<Downloads>,
    models_dir: PathBuf,
    cache_dir: PathBuf,
}

/// What a reference leads to.
#[derive(Debug)]
pub struct Lookup {
    /// `owner/name`; `None` for a path.
    pub repository: Option<String>,
    pub license: Option<String>,
    pub is_gated: bool,
    pub architecture: Option<String>,
    pub context_length: Option<u64>,
    /// Models that forebay-engine runs, smallest first.
    pub models: Vec<FoundModel>,
}

/// A model that can run here.
#[derive(Debug)]
pub struct FoundModel {
    /// The file that names it.
    pub name: String,
    pub is_embedding: bool,
    pub bytes: u64,
    /// The text for `weights` of an engine.
    pub weights: String,
    /// Bytes that are not on this machine.
    pub missing_bytes: u64,
    pub fit: Fit,
    /// `None` for a path.
    pub order: Option<Order>,
}

impl Weights {
    pub fn open(config: &WeightsConfig, connector: Connector, data_dir: &Path, cache_dir: &Path) -> io::Result<Self> {
        let models_dir = config.models_dir.clone().unwrap_or_else(|| data_dir.join("models"));
        let proxy = ProxyRules::read(config.https_proxy.as_deref(), config.no_proxy.as_deref());
        let hub = Arc::new(Hub::new(connector, proxy, config.hub.clone(), config.hub_token.as_deref()));
        let downloads = Arc::new(Downloads::open(Arc::clone(&hub), cache_dir, config.max_download));
        Ok(Self { hub, downloads, models_dir: std::path::absolute(models_dir)?, cache_dir: cache_dir.to_owned() })
    }

    pub fn downloads(&self) -> &Arc<Downloads> {
        &self.downloads
    }

    pub fn hub_url(&self) -> &str {
        self.hub.url()
    }

    pub fn has_token(&self) -> bool {
        self.hub.has_token()
    }

    pub fn models_dir(&self) -> &Path {
        &self.models_dir
    }

    /// What this machine has.
    pub async fn machine(&self, gpus: Vec<GpuMemory>) -> Machine {
        let folder = self.cache_dir.clone();
        with_files(move || machine::observe(&folder, gpus)).await
    }

    /// The models in the models folder.
    pub async fn list_local(&self) -> Vec<LocalFile> {
        let folder = self.models_dir.clone();
        with_files(move || local::list(&folder)).await
    }

    /// What a reference or a path leads to, and whether it fits.
    pub async fn look_up(&self, text: &str, machine: &Machine) -> Result<Lookup, WeightsError> {
        let reference = Reference::parse(text, self.hub.url());
        match reference.map_err(|why| WeightsError::Reference(why.to_owned()))? {
            Reference::Path(path) => self.look_up_path(path, machine).await,
            Reference::Hub(reference) => self.look_up_hub(&reference, machine).await,
        }
    }

    async fn look_up_path(&self, path: PathBuf, machine: &Machine) -> Result<Lookup, WeightsError> {
        let folder = self.models_dir.clone();
        let found = with_files(move || local::find(&folder, &path)).await;
        let LocalFile { path, bytes } = found.map_err(WeightsError::Reference)?;
        let weights = path.to_string_lossy().into_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let fit = fit::judge(bytes, 0, machine);
        let model = FoundModel { name, is_embedding: false, bytes, weights, missing_bytes: 0, fit, order: None };
        Ok(Lookup {
            repository: None,
            license: None,
            is_gated: false,
            architecture: None,
            context_length: None,
            models: vec![model],
        })
    }

    async fn look_up_hub(&self, reference: &HubReference, machine: &Machine) -> Result<Lookup, WeightsError> {
        let found = self.hub.describe(reference).await?;
        let mut variants = found.variants();
        if let Some(file) = &reference.file {
            variants.retain(|variant| variant.files.iter().any(|known| known.name == *file));
            if variants.is_empty() {
                let why =
                    format!("the hub has no model file {file} that forebay-engine runs in {}", reference.repository);
                return Err(WeightsError::Reference(why));
            }
        }
        variants.truncate(MAX_VARIANTS);
        let (downloads, machine) = (Arc::clone(&self.downloads), machine.clone());
        let repository = reference.repository.clone();
        let look_up = move || {
            let judge = |variant| judge(&downloads, &repository, &found, variant, &machine);
            let models = variants.into_iter().map(judge).collect();
            let Repository { license, is_gated, architecture, context_length, .. } = found;
            Lookup { repository: Some(repository), license, is_gated, architecture, context_length, models }
        };
        Ok(with_files(look_up).await)
    }
}

/// A model of a repository, with what of it is on the disk.
fn judge(
    downloads: &Downloads,
    repository: &str,
    found: &Repository,
    variant: Variant,
    machine: &Machine,
) -> FoundModel {
    let (name, bytes) = (variant.name().to_owned(), variant.bytes());
    let is_whole = variant.kind == VariantKind::Sentence;
    let weights = pinned(repository, &found.commit, (!is_whole).then_some(name.as_str()));
    let order = Order {
        repository: repository.to_owned(),
        commit: found.commit.clone(),
        files: variant.files,
        is_whole,
        weights: weights.clone(),
        license: found.license.clone(),
    };
    let missing_bytes = downloads.missing(&order);
    let fit = fit::judge(bytes, missing_bytes, machine);
    FoundModel { name, is_embedding: is_whole, bytes, weights, missing_bytes, fit, order: Some(order) }
}
