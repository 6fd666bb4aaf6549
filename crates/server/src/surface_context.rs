//! State that the console and the `/v1` surfaces share: the store, the runtime it lives on, and configured defaults.

use background::Tasks;
use bucket::Bucket;
use config::Config;
use control::CommandError;
use control::batches::{BatchBounds, BatchStorage};
use control::responses::{Bounds, ResponseStorage};
use control::sessions::{self, ActiveSession};
use domain::allotment::Defaults;
use domain::session::{Lifetimes, SessionToken};
use domain::workspace::Limits;
use domain::{Retention, Timestamp};
use edge::throttle::{Throttled, Throttles};
use fleet::Connector;
use fleet::drivers::kubernetes::KubernetesDriver;
use fleet::logs::MachineLogs;
use fleet::weights::Weights;
use node::catalogue_keeper::CatalogueKeeper;
use node::clock;
use node::doctor::ResidentDoctor;
use node::downloads::DownloadCommands;
use std::net::IpAddr;
use std::sync::Arc;
use store::stored_bytes::MaxBytes;
use store::{ContentKeys, Store};
use tokio::runtime::Handle;
use view::OrganizationDefaults;

pub(crate) struct SurfaceContext {
    /// With the connections that are kept for people.
    pub store: Store,
    /// The runtime that owns the store's connections.
    pub background: Handle,
    /// Running exports, which shutdown stops.
    pub exports: Tasks,
    pub defaults: Limits,
    /// Caps of organizations without caps of their own.
    pub allotment_defaults: Defaults,
    /// Most dedicated endpoints of a workspace.
    pub max_endpoints: u64,
    /// Bounds of organizations without bounds of their own.
    pub organization_defaults: OrganizationDefaults,
    pub lifetimes: Lifetimes,
    /// How far back series and the request log go.
    pub retention: Retention,
    /// The console's public address, without a trailing slash.
    pub console_url: String,
    /// Whether `console_url` was configured; else it is an address of this machine.
    pub has_public_url: bool,
    pub throttles: Arc<Throttles>,
    pub operator: OperatorParts,
    /// The effective catalogue.
    pub catalogue: Arc<CatalogueKeeper>,
    /// `None` if the operator has set none.
    pub content_keys: Option<ContentKeys>,
    pub responses: ResponseStorage,
    pub batches: BatchStorage,
    /// Seals reasoning that clients keep for us.
    pub reasoning_keys: ContentKeys,
}

/// Parts of this node that only the operator's routes use.
pub(crate) struct OperatorParts {
    pub node_id: String,
    /// Connections to model servers, for probes.
    pub connector: Connector,
    pub doctor: ResidentDoctor,
    pub weights: Weights,
    /// The logs of engines on this machine.
    pub logs: MachineLogs,
    /// `None` if no cluster is configured.
    pub cluster: Option<KubernetesDriver>,
}

/// A session cannot be looked up.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum SessionError {
    Throttled(#[from] Throttled),
    Command(#[from] CommandError),
}

impl SurfaceContext {
    pub(crate) fn new(
        store: &Store,
        background: Handle,
        config: &Config,
        console_url: String,
        catalogue: Arc<CatalogueKeeper>,
        operator: OperatorParts,
        reasoning_keys: ContentKeys,
    ) -> Self {
        let lifetimes = config.sessions.lifetimes();
        // Content is large: it must not keep calls from their keys and leases.
        let store = store.console_pool();
        let content_keys = config.content_keys.clone();
        let bounds = Bounds {
            workspace_bytes: config.store.responses_max_bytes,
            organization_bytes: config.store.responses_organization_bytes,
            total_bytes: config.store.responses_total_bytes,
            conversation_bytes: config.edge.body_limit,
        };
        let batch_bounds = BatchBounds {
            file_bytes: config.files.max_file_bytes,
            file_lines: config.files.max_lines_per_file,
            max_bytes: MaxBytes {
                workspace: config.files.max_bytes_per_workspace,
                organization: config.store.responses_organization_bytes,
                total: config.files.max_total_bytes,
            },
            retention: config.files.retention,
            open_batches: config.files.max_open_batches_per_workspace,
            queued_lines: config.files.max_queued_lines_per_workspace,
            line_bytes: config.edge.body_limit,
        };
        let bucket = config.files.bucket.clone();
        let bucket = bucket.map(|bucket| Bucket::new(bucket, operator.connector.clone(), clock::now));
        Self {
            batches: BatchStorage::new(store.clone(), content_keys.clone(), batch_bounds, bucket),
            responses: ResponseStorage::new(store.clone(), content_keys.clone(), bounds),
            store,
            exports: Tasks::new(background.clone()),
            background,
            defaults: config.workspace_defaults,
            allotment_defaults: config.allotment_defaults.clone(),
            max_endpoints: config.server.max_endpoints_per_workspace,
            organization_defaults: OrganizationDefaults {
                max_workspaces: config.server.max_workspaces_per_organization,
                max_stored_bytes: config.store.responses_organization_bytes,
            },
            lifetimes,
            retention: config.retention,
            console_url,
            has_public_url: config.server.public_url.is_some(),
            operator,
            catalogue,
            content_keys,
            reasoning_keys,
            throttles: Arc::new(Throttles::new(config.limits.throttles(config.workspace_defaults))),
        }
    }

    /// Changes of this node's downloads.
    pub(crate) fn download_commands(&self) -> DownloadCommands<'_> {
        DownloadCommands {
            store: &self.store,
            node: &self.operator.node_id,
            downloads: self.operator.weights.downloads(),
            catalogue: self.catalogue.snapshot(),
        }
    }

    /// The session of a token, or `None` if it has ended.
    pub(crate) async fn identify(
        &self,
        token: SessionToken,
        client: IpAddr,
        now: Timestamp,
    ) -> Result<Option<ActiveSession>, SessionError> {
        let counted = self.throttles.count_session(token.hash(), client)?;
        let found = sessions::identify(&self.store, token, &self.lifetimes, now).await;
        match &found {
            Ok(Some(_)) => counted.valid(),
            Ok(None) => counted.invalid(),
            Err(_) => counted.unchecked(),
        }
        Ok(found?)
    }

    /// Whether browsers reach the console by https, so that cookies can be marked `Secure`.
    pub(crate) fn is_https(&self) -> bool {
        self.console_url.starts_with("https:")
    }
}
