//! Models as operators see them.

use config::CatalogueEntry;
use domain::capabilities::{Capabilities, Capability, Support};
use domain::{Model, Timestamp};
use fleet::backend::{Backend, Health};
use fleet::drivers::kubernetes::Settings;
use fleet::drivers::{CommandPreview, preview, preview_pool};
use fleet::routes::Table;
use node::catalogue_keeper::StoreEntry;
use serde::Serialize;
use std::iter;
use store::SortBy;
use store::capabilities::EngineRecord;
use store::catalogue::Uses;
use utoipa::ToSchema;

/// A model of the catalogue, with the effective value of every member.
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
    #[serde(flatten)]
    entry: CatalogueEntry,
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
    /// What its engines have shown that they can do, and cannot. Only in the response about a single model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    capabilities: Option<Vec<CapabilityView>>,
    /// The last probe of its engines. Only in the response about a single model; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    probe_result: Option<ProbeResultView>,
    /// How the engines of the model and the replicas of each flavor are started. Only in the response about a single model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    commands: Option<Vec<CommandView>>,
}

/// What models can be sorted by. Models of equal value are sorted by their ids.
#[derive(Clone, Copy)]
pub(crate) enum ModelOrder {
    Name,
    Status,
    Source,
}

impl SortBy for ModelOrder {
    const ALL: &'static [Self] = &[Self::Name, Self::Status, Self::Source];

    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Status => "status",
            Self::Source => "source",
        }
    }
}

impl ModelOrder {
    pub(super) fn value(self, model: &OperatorModelView) -> String {
        match self {
            Self::Name => model.sorted_name(),
            Self::Status => model.status.to_owned(),
            Self::Source => model.source.to_owned(),
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

#[derive(Serialize, ToSchema)]
#[schema(as = OperatorCapability)]
pub(crate) struct CapabilityView {
    #[schema(example = "tools")]
    name: &'static str,
    /// `yes`, `no` or `unknown`.
    support: &'static str,
    /// What was seen, such as the message of an error.
    note: Option<String>,
}

impl CapabilityView {
    fn all(capabilities: &Capabilities) -> Vec<Self> {
        let view = |capability: Capability| Self {
            name: capability.as_str(),
            support: match capabilities.get(capability) {
                Support::Yes => "yes",
                Support::No => "no",
                Support::Unknown => "unknown",
            },
            note: capabilities.note_of(capability).map(str::to_owned),
        };
        Capability::ALL.into_iter().map(view).collect()
    }
}

/// The last probe of an engine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorProbeResult)]
pub(crate) struct ProbeResultView {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The version of the engine, if it says one.
    engine_version: Option<String>,
    /// Whether all calls were made. If not, it is repeated.
    is_complete: bool,
}

impl From<&EngineRecord> for ProbeResultView {
    fn from(record: &EngineRecord) -> Self {
        Self { at: record.probed_at, engine_version: record.version.clone(), is_complete: record.is_complete() }
    }
}

/// How an engine of the model, or a replica of a flavor, is started. What is known only then is in braces, such as `{port}`.
#[derive(Serialize, ToSchema)]
#[schema(as = OperatorCommand)]
pub(crate) struct CommandView {
    /// Null for the engines of the model itself.
    flavor: Option<String>,
    argv: Vec<String>,
    /// Names of the environment variables that it gets, as this node has them.
    environment: Vec<String>,
}

impl CommandView {
    /// The commands of the model and of all flavors that can be started.
    pub(super) fn of(model: &Model, cluster: Option<&Settings>) -> Vec<Self> {
        let own = iter::once((None, preview_pool(model, cluster)));
        let flavors = model.flavors.iter().map(|flavor| (Some(&flavor.name), preview(model, flavor, cluster)));
        let view = |(flavor, command): (Option<&String>, Option<CommandPreview>)| {
            let CommandPreview { argv, environment } = command?;
            Some(Self { flavor: flavor.cloned(), argv, environment })
        };
        own.chain(flavors).filter_map(view).collect()
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
            None => Self::new(&Model { context_length: 0, ..Model::plain(stored.id.clone()) }, "store", table),
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

    pub(super) fn with_details(
        self,
        uses: UsesView,
        commands: Vec<CommandView>,
        capabilities: &Capabilities,
        last_probe: Option<&EngineRecord>,
    ) -> Self {
        Self {
            used_by: Some(uses),
            commands: Some(commands),
            capabilities: Some(CapabilityView::all(capabilities)),
            probe_result: last_probe.map(ProbeResultView::from),
            ..self
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether the id or the name has this text in lower case.
    pub(super) fn contains(&self, searched: &str) -> bool {
        self.id.to_lowercase().contains(searched) || self.sorted_name().contains(searched)
    }

    fn sorted_name(&self) -> String {
        self.entry.name.as_deref().unwrap_or(&self.id).to_lowercase()
    }

    fn new(model: &Model, source: &'static str, table: &Table) -> Self {
        let pool = table.get(model.id.as_str()).map(|route| &route.pool);
        let replicas = pool.map_or(&[][..], |pool| pool.replicas());
        Self {
            id: model.id.to_string(),
            source,
            enabled: true,
            version: None,
            created_at: None,
            updated_at: None,
            entry: model.into(),
            status: pool.map_or("unavailable", |pool| pool.availability().as_str()),
            replicas: replicas.iter().map(|backend| ServerView::from(&**backend)).collect(),
            problem: None,
            used_by: None,
            capabilities: None,
            probe_result: None,
            commands: None,
        }
    }
}
