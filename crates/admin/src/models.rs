//! `forebay admin models …`: moves the catalogue between the file and the store.

use super::context::AdminContext;
use super::output;
use anyhow::Context;
use config::{Config, Definition, Exported, ModelRules, read_definitions, write_definitions};
use control::CatalogueError;
use control::catalogue::{self, FixedPart, Import, KeyChange, ModelDraft};
use domain::Model;
use domain::alias::Alias;
use domain::model::{Serving, Upstream};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
use store::ContentKeys;
use store::catalogue::StoredCatalogue;

#[derive(Debug, clap::Subcommand)]
pub(super) enum ModelCommand {
    /// Print the models and aliases of the store as tables of a configuration file. Keys are not exported, and disabled
    /// models are comments.
    Export,
    /// Put the models and aliases of a configuration file into the store. Keys are read from the environment, as the
    /// server would.
    Import {
        /// The file with `[[models]]` and `[[aliases]]`.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Replace entries that the store has already. Disabled models stay disabled.
        #[arg(long)]
        replace: bool,
    },
}

#[derive(Serialize)]
struct Imported {
    models: usize,
    aliases: usize,
}

pub(super) async fn run(
    context: &AdminContext<'_>,
    config: &Config,
    keys: Option<&ContentKeys>,
    command: ModelCommand,
) -> anyhow::Result<String> {
    let stored = store::catalogue::read(context.store).await?;
    match command {
        ModelCommand::Export => export(&stored),
        ModelCommand::Import { file, replace } => {
            let (models, aliases) = read_definitions(&file)?;
            import(context, config, keys, &stored, (&models[..], &aliases[..]), replace).await?;
            let imported = Imported { models: models.len(), aliases: aliases.len() };
            if context.json {
                return output::record_as_json(&imported);
            }
            Ok(format!("imported {} models and {} aliases\n", imported.models, imported.aliases))
        }
    }
}

fn export(stored: &StoredCatalogue) -> anyhow::Result<String> {
    let mut models = Vec::new();
    for model in &stored.models {
        let mut table: Map<String, Value> =
            serde_json::from_str(&model.definition).with_context(|| format!("the definition of {}", model.id))?;
        table.insert("id".to_owned(), model.id.as_str().into());
        let has_keys = stored.keys.iter().any(|key| key.model == model.id);
        models.push(Exported { table, has_keys, enabled: model.enabled });
    }
    let aliases: Vec<(String, String)> =
        stored.aliases.iter().map(|alias| (alias.name.to_string(), alias.model.to_string())).collect();
    Ok(write_definitions(&models, &aliases))
}

/// Puts all entries into the store, or none and reports the problems of all.
async fn import(
    context: &AdminContext<'_>,
    config: &Config,
    keys: Option<&ContentKeys>,
    stored: &StoredCatalogue,
    (models, aliases): (&[Definition], &[Alias]),
    replace: bool,
) -> anyhow::Result<()> {
    let fixed = FixedPart { mode: config.server.catalogue, file: &config.catalogue };
    let mut problems = problems_of(config, keys, models);
    let drafts: Vec<ModelDraft> = models.iter().map(|definition| draft(keys, definition)).collect();
    let import = Import { models: &drafts, aliases, replace };
    if !problems.is_empty() {
        problems.extend(import.problems(fixed, stored).iter().map(ToString::to_string));
        anyhow::bail!("nothing was imported: {}", problems.join("\n"));
    }
    catalogue::import(context.command(), fixed, import).await.context("nothing was imported")
}

/// The problems of the models by themselves: what the file may have and the store may not, and keys without a content key.
fn problems_of(config: &Config, keys: Option<&ContentKeys>, models: &[Definition]) -> Vec<String> {
    let rules = ModelRules::of(config);
    let mut problems = Vec::new();
    for Definition { table, model } in models {
        if let Err(found) = rules.read(table) {
            problems.extend(found.iter().map(|problem| format!("model {}: {problem}", model.id)));
        }
        if keys.is_none() && upstreams_of(model).iter().any(|upstream| upstream.api_key.is_some()) {
            problems.push(format!("model {}: {}", model.id, CatalogueError::NoContentKey));
        }
    }
    problems
}

fn upstreams_of(model: &Model) -> &[Upstream] {
    match &model.serving {
        Serving::Upstreams(upstreams) => upstreams,
        Serving::Engine(_) => &[],
    }
}

/// With the keys that can be encrypted.
fn draft(keys: Option<&ContentKeys>, Definition { table, model }: &Definition) -> ModelDraft {
    let upstreams = upstreams_of(model);
    let keys = upstreams.iter().filter_map(|upstream| {
        let sealed = keys?.seal_upstream_key(&model.id, &upstream.url, upstream.api_key.as_ref()?);
        Some(KeyChange { url: upstream.url.clone(), sealed: Some(sealed) })
    });
    ModelDraft {
        id: model.id.clone(),
        definition: table.clone(),
        enabled: true,
        urls: upstreams.iter().map(|upstream| upstream.url.clone()).collect(),
        keys: keys.collect(),
    }
}
