//! The configuration: one TOML file, secrets by environment, parsed once into typed sections.
//!
//! Every key is optional and has its default here. Unknown keys are errors. All problems are reported together, each with
//! its line. `config/example.toml` lists every key, and a test keeps it equal to the defaults.

mod catalogue;
mod files;
mod kubernetes;
mod oidc;
mod problems;
mod reader;
mod sections;
mod telemetry;
#[cfg(test)]
mod tests;
mod units;
mod weights;

pub use self::telemetry::TelemetryConfig;
pub use catalogue::{
    CatalogueEntry, Definition, EntryProblem, Exported, ModelRules, OPENAI_ENGINE, Why, extend_catalogue,
    read_definitions, remove_nulls, write_definitions,
};
pub use files::FilesConfig;
pub use oidc::OidcConfig;
pub use problems::{Problem, Problems};
pub use sections::http_url;
pub use sections::{
    DriversConfig, EdgeConfig, JournalConfig, LimitsConfig, MAX_KEEP_ALIVE, ServerConfig, SessionsConfig, StoreConfig,
    WORKSPACE_DEFAULTS,
};
pub use units::show_size;

use domain::Catalogue;
use fleet::weights::WeightsConfig;
use reader::{Reader, Section};
use std::cell::RefCell;
use std::path::Path;

/// Reads the configuration file, with secrets from the environment of this process.
pub fn load(path: Option<&Path>) -> anyhow::Result<Config> {
    Config::load(path, &|name| std::env::var(name).ok()).map_err(|problems| anyhow::anyhow!("{problems}"))
}

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Config {
    pub server: ServerConfig,
    pub store: StoreConfig,
    pub limits: LimitsConfig,
    pub journal: JournalConfig,
    pub edge: EdgeConfig,
    pub files: FilesConfig,
    pub sessions: SessionsConfig,
    /// Single sign-on; `None` if not configured.
    pub oidc: Option<OidcConfig>,
    pub workspace_defaults: domain::workspace::Limits,
    /// GPUs that an organization may commit, per type, unless the operator has set its allotment.
    pub allotment_defaults: domain::allotment::Defaults,
    pub drivers: DriversConfig,
    pub retention: domain::Retention,
    pub telemetry: TelemetryConfig,
    pub weights: WeightsConfig,
    /// The models and aliases of the file.
    pub catalogue: Catalogue,
    /// The keys of stored content; `None` if not set.
    pub content_keys: Option<store::ContentKeys>,
}

impl Config {
    /// Reads a file; without a path, returns the defaults.
    pub fn load(path: Option<&Path>, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, Problems> {
        let Some(path) = path else {
            return Self::parse("", Path::new("."), environment);
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| Problems::one(None, format!("cannot be read: {error}")).in_file(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder, environment).map_err(|problems| problems.in_file(path))
    }

    /// Parses a text; relative paths are relative to `folder`.
    pub fn parse(text: &str, folder: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, Problems> {
        let document = toml_edit::Document::parse(text).map_err(|error| {
            let line = error.span().and_then(|span| reader::line_of(text, span.start));
            Problems::one(line, error.message().lines().collect::<Vec<_>>().join("; "))
        })?;
        let reader = Reader { text, folder, environment, problems: RefCell::default() };
        let config = Self::read(&Section::root(&reader, document.as_table()));
        config.check_flavors(&reader);
        let problems = reader.problems.take();
        if problems.is_empty() { Ok(config) } else { Err(Problems::new(problems)) }
    }

    fn read(root: &Section<'_>) -> Self {
        let server = ServerConfig::read(&root.section("server"));
        let catalogue = catalogue::read(root, &server.operator_prefix);
        Self {
            store: StoreConfig::read(&root.section("store")),
            limits: LimitsConfig::read(&root.section("limits")),
            journal: JournalConfig::read(&root.section("journal")),
            edge: EdgeConfig::read(&root.section("edge")),
            files: FilesConfig::read(&root.section("files")),
            sessions: SessionsConfig::read(&root.section("sessions")),
            oidc: OidcConfig::read(root),
            workspace_defaults: sections::read_workspace_defaults(&root.section("workspace_defaults")),
            allotment_defaults: sections::read_counts_by_gpu_type(&root.section("allotment_defaults"))
                .into_iter()
                .collect(),
            drivers: DriversConfig::read(&root.section("drivers")),
            retention: sections::read_retention(&root.section("retention")),
            telemetry: TelemetryConfig::read(&root.section("telemetry")),
            weights: self::weights::read(&root.section("weights")),
            content_keys: sections::read_content_keys(root.reader),
            server,
            catalogue,
        }
    }

    /// Checks flavors against the configured drivers.
    fn check_flavors(&self, reader: &Reader<'_>) {
        for model in self.catalogue.iter() {
            for flavor in &model.flavors {
                if let Some((key, why)) = kubernetes::problem_of(flavor, self.drivers.kubernetes.as_ref()) {
                    reader.report(None, format!("[[models]] {} flavor {} {key}: {why}", model.id, flavor.name));
                }
            }
        }
    }
}
