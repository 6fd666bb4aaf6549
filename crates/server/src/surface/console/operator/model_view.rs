//! Models as operators see them.

use crate::node::catalogue_keeper::StoreEntry;
use domain::model::{EnginePool, Flavor, Launch, Serving, Upstream};
use domain::{Model, ModelId, NanoUsd, Timestamp};
use fleet::backend::{Backend, Health};
use fleet::routes::Table;
use serde::Serialize;
use store::catalogue::Uses;
use utoipa::ToSchema;

/// A model of the catalogue, with the values in force.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorModel)]
pub(crate) struct OperatorModelView {
    id: String,
    /// `file` or `store`. Models of the file can only be changed there.
    source: &'static str,
    enabled: bool,
    /// Increases with every change. Null for models of the file.
    version: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    updated_at: Option<Timestamp>,
    name: String,
    /// `chat` or `embedding`.
    modality: &'static str,
    context_length: u64,
    #[schema(value_type = String, example = "0.10")]
    input_per_1m: NanoUsd,
    #[schema(value_type = String, example = "0.05")]
    cached_input_per_1m: NanoUsd,
    #[schema(value_type = String, example = "0.40")]
    output_per_1m: NanoUsd,
    optimized: bool,
    share_prefix_cache: bool,
    /// Whether a stream whose replica is lost goes on at another one.
    failover: bool,
    media_urls: bool,
    merge_system: bool,
    thinking: Option<&'static str>,
    refused_members: Option<Vec<String>>,
    upstreams: Vec<UpstreamView>,
    engine: Option<EngineView>,
    flavors: Vec<OfferedFlavorView>,
    /// `available`, `degraded`, `unavailable` or `disabled`.
    status: &'static str,
    /// The servers behind the model, as this node sees them.
    replicas: Vec<ServerView>,
    /// Why this node does not serve the model, although it is enabled.
    problem: Option<String>,
    /// Only in the response about a single model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    used_by: Option<UsesView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorUpstream)]
struct UpstreamView {
    url: String,
    model: String,
    /// Whether a key is sent to it. The key itself is never shown.
    has_key: bool,
    max_in_flight: Option<u32>,
    health_path: String,
    continuous_usage: bool,
    engine: Option<&'static str>,
    /// The APIs whose calls are passed through to it: `messages`, `responses`.
    native: Vec<&'static str>,
}

impl From<&Upstream> for UpstreamView {
    fn from(upstream: &Upstream) -> Self {
        Self {
            url: upstream.url.clone(),
            model: upstream.model.clone(),
            has_key: upstream.api_key.is_some(),
            max_in_flight: upstream.max_in_flight,
            health_path: upstream.health_path.clone(),
            continuous_usage: upstream.continuous_usage,
            engine: upstream.engine.map(|engine| engine.as_str()),
            native: upstream.native.iter().map(|api| api.as_str()).collect(),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorEngine)]
struct EngineView {
    weights: String,
    replicas: u32,
    /// Calls that one engine computes at once; null for its default.
    parallel: Option<u32>,
    flavor: Option<String>,
}

impl From<&EnginePool> for EngineView {
    fn from(pool: &EnginePool) -> Self {
        let flavor = pool.flavor.as_ref().map(|flavor| flavor.name.clone());
        Self { weights: pool.weights.clone(), replicas: pool.replicas, parallel: pool.parallel, flavor }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorFlavor)]
struct OfferedFlavorView {
    name: String,
    gpu_type: String,
    gpu_count: u32,
    precision: String,
    /// `process` or `kubernetes`.
    driver: &'static str,
    engine: Option<&'static str>,
    /// The command that starts the engine, if the file names one.
    argv: Option<Vec<String>>,
    image: Option<String>,
    #[schema(value_type = String, example = "2.50")]
    price_per_gpu_hour: NanoUsd,
    weights: Option<String>,
    default_target: Option<u32>,
    /// Prompt tokens in flight per replica above which an endpoint scales up; 0 means never.
    prefill_target: Option<u64>,
    max_len: Option<u64>,
}

impl From<&Flavor> for OfferedFlavorView {
    fn from(flavor: &Flavor) -> Self {
        let (engine, argv) = match &flavor.launch {
            Launch::Engine(kind) => (Some(kind.as_str()), None),
            Launch::Argv(argv) => (None, Some(argv.clone())),
        };
        Self {
            name: flavor.name.clone(),
            gpu_type: flavor.gpu_type.to_string(),
            gpu_count: flavor.gpu_count,
            precision: flavor.precision.clone(),
            driver: flavor.driver.as_str(),
            engine,
            argv,
            image: flavor.image.clone(),
            price_per_gpu_hour: flavor.price_per_gpu_hour,
            weights: flavor.weights.clone(),
            default_target: flavor.default_target,
            prefill_target: flavor.prefill_target,
            max_len: flavor.max_len,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorServer)]
struct ServerView {
    name: String,
    /// `up`, `down` or `unknown`.
    health: &'static str,
    in_flight: u32,
}

impl From<&Backend> for ServerView {
    fn from(backend: &Backend) -> Self {
        let health = match backend.health() {
            Health::Unknown => "unknown",
            Health::Up => "up",
            Health::Down => "down",
        };
        Self { name: backend.name.to_string(), health, in_flight: backend.in_flight() }
    }
}

/// What refers to a model.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorModelUses)]
pub(crate) struct UsesView {
    /// Aliases of the catalogue.
    aliases: Vec<String>,
    /// The number of aliases of workspaces.
    workspace_aliases: u64,
    /// The number of dedicated endpoints.
    endpoints: u64,
    /// The same by flavor. An endpoint keeps its flavor when the model no longer offers it.
    flavors: Vec<FlavorUsesView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OperatorFlavorUses)]
struct FlavorUsesView {
    flavor: String,
    endpoints: u64,
}

impl UsesView {
    /// `aliases` are those of the catalogue.
    pub(super) fn new(aliases: Vec<String>, uses: Uses) -> Self {
        let endpoints = uses.endpoints.iter().map(|(_, endpoints)| endpoints).sum();
        let flavors = uses.endpoints.into_iter().map(|(flavor, endpoints)| FlavorUsesView { flavor, endpoints });
        Self { aliases, workspace_aliases: uses.workspace_aliases, endpoints, flavors: flavors.collect() }
    }
}

impl OperatorModelView {
    /// A model of the file.
    pub(super) fn of_file(model: &Model, table: &Table) -> Self {
        Self::new(model, "file", table)
    }

    /// A model of the store. If its definition is not valid on this node, only `id` and `problem` tell something.
    pub(super) fn of_store(entry: &StoreEntry, table: &Table) -> Self {
        let stored = &entry.stored;
        let view = match &entry.model {
            Some(model) => Self::new(model, "store", table),
            None => Self::new(&without_definition(&stored.id), "store", table),
        };
        Self {
            enabled: stored.enabled,
            status: if stored.enabled { view.status } else { "disabled" },
            version: Some(stored.version),
            created_at: Some(stored.created_at),
            updated_at: Some(stored.updated_at),
            problem: entry.problem.clone().filter(|_| stored.enabled),
            ..view
        }
    }

    pub(super) fn used_by(self, uses: UsesView) -> Self {
        Self { used_by: Some(uses), ..self }
    }

    fn new(model: &Model, source: &'static str, table: &Table) -> Self {
        let (upstreams, engine) = match &model.serving {
            Serving::Upstreams(upstreams) => (upstreams.iter().map(UpstreamView::from).collect(), None),
            Serving::Engine(pool) => (Vec::new(), Some(pool.into())),
        };
        let pool = table.get(model.id.as_str()).map(|route| &route.pool);
        let replicas = pool.map_or(&[][..], |pool| pool.replicas());
        Self {
            id: model.id.to_string(),
            source,
            enabled: true,
            version: None,
            created_at: None,
            updated_at: None,
            name: model.name.clone(),
            modality: model.modality.as_str(),
            context_length: model.context_length,
            input_per_1m: model.price.input_per_1m,
            cached_input_per_1m: model.price.cached_input_per_1m,
            output_per_1m: model.price.output_per_1m,
            optimized: model.optimized,
            share_prefix_cache: model.share_prefix_cache,
            failover: model.failover,
            media_urls: model.rules.media_urls,
            merge_system: model.chat.merge_system,
            thinking: model.chat.thinking.map(|switch| switch.as_str()),
            refused_members: model.rules.refused_members.clone(),
            upstreams,
            engine,
            flavors: model.flavors.iter().map(OfferedFlavorView::from).collect(),
            status: pool.map_or("unavailable", |pool| pool.availability().as_str()),
            replicas: replicas.iter().map(|backend| ServerView::from(&**backend)).collect(),
            problem: None,
            used_by: None,
        }
    }
}

fn without_definition(id: &ModelId) -> Model {
    Model { context_length: 0, ..Model::plain(id.clone()) }
}
