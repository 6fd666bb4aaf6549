//! `forebay admin models …`: moves the catalogue between the file and the store.

use super::context::AdminContext;
use super::output;
use crate::config::{Config, Definition, Exported, ModelRules, read_definitions, write_definitions};
use anyhow::Context;
use control::CatalogueError;
use control::catalogue::{self, FixedPart, KeyChange, ModelDraft};
use domain::alias::Alias;
use domain::model::Serving;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
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

pub(super) async fn run(context: &AdminContext<'_>, config: &Config, command: ModelCommand) -> anyhow::Result<String> {
    let stored = store::catalogue::read(context.store).await?;
    match command {
        ModelCommand::Export => export(&stored),
        ModelCommand::Import { file, replace } => {
            let (models, aliases) = read_definitions(&file)?;
            let import = Import { context, config, stored: &stored, replace };
            import.check(&models, &aliases)?;
            let drafts = import.drafts(&models)?;
            for draft in &drafts {
                import.model(draft).await.with_context(|| format!("model {}", draft.id))?;
            }
            for alias in &aliases {
                import.alias(alias).await.with_context(|| format!("alias {}", alias.name))?;
            }
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

struct Import<'a> {
    context: &'a AdminContext<'a>,
    config: &'a Config,
    stored: &'a StoredCatalogue,
    replace: bool,
}

impl Import<'_> {
    fn fixed(&self) -> FixedPart<'_> {
        FixedPart { mode: self.config.server.catalogue, file: &self.config.catalogue }
    }

    /// Finds what cannot be imported before anything is.
    fn check(&self, models: &[Definition], aliases: &[Alias]) -> anyhow::Result<()> {
        let rules = ModelRules::of(self.config);
        for definition in models {
            let id = &definition.model.id;
            rules.read(&definition.table).map_err(|problems| anyhow::anyhow!("model {id}: {problems}"))?;
            let is_new = self.stored.model(id.as_str()).is_none();
            anyhow::ensure!(is_new || self.replace, "the store has the model {id} already; --replace replaces it");
            let is_alias = self.stored.alias(id.as_str()).is_some();
            anyhow::ensure!(!is_alias, "model {id}: the store has an alias of this name; delete it first");
        }
        for alias in aliases {
            let is_new = self.stored.alias(alias.name.as_str()).is_none();
            let name = &alias.name;
            anyhow::ensure!(is_new || self.replace, "the store has the alias {name} already; --replace replaces it");
            let is_model = self.stored.model(name.as_str()).is_some();
            anyhow::ensure!(!is_model, "alias {name}: the store has a model of this name; delete it first");
        }
        let served = self.config.server.catalogue.has_file();
        let mut names =
            models.iter().map(|model| model.model.id.as_str()).chain(aliases.iter().map(|alias| alias.name.as_str()));
        let clash = names.find(|name| served && self.config.catalogue.has_name(name));
        match clash {
            Some(name) => anyhow::bail!(
                "{name} is in the configuration file that the server reads; remove it there, or set `[server] \
                 catalogue = \"store\"` first"
            ),
            None => Ok(()),
        }
    }

    /// All drafts, so that a key that cannot be encrypted is found before anything is written.
    fn drafts(&self, models: &[Definition]) -> anyhow::Result<Vec<ModelDraft>> {
        let draft =
            |definition: &Definition| self.draft(definition).with_context(|| format!("model {}", definition.model.id));
        models.iter().map(draft).collect()
    }

    async fn model(&self, draft: &ModelDraft) -> anyhow::Result<()> {
        let AdminContext { store, author, now, .. } = self.context;
        match self.stored.model(draft.id.as_str()) {
            Some(current) => {
                catalogue::change_model(store, author, self.fixed(), draft, current.version, *now).await?;
            }
            None => _ = catalogue::create_model(store, author, self.fixed(), draft, *now).await?,
        }
        Ok(())
    }

    fn draft(&self, definition: &Definition) -> anyhow::Result<ModelDraft> {
        let Definition { table, model } = definition;
        let upstreams = match &model.serving {
            Serving::Upstreams(upstreams) => &upstreams[..],
            Serving::Engine(_) => &[],
        };
        let mut keys = Vec::new();
        for upstream in upstreams {
            let Some(key) = &upstream.api_key else { continue };
            let content_keys = self.config.content_keys.as_ref().ok_or(CatalogueError::NoContentKey)?;
            let sealed = Some(content_keys.seal_upstream_key(&model.id, &upstream.url, key));
            keys.push(KeyChange { url: upstream.url.clone(), sealed });
        }
        let urls = upstreams.iter().map(|upstream| upstream.url.clone()).collect();
        let enabled = self.stored.model(model.id.as_str()).is_none_or(|stored| stored.enabled);
        Ok(ModelDraft { id: model.id.clone(), definition: table.clone(), enabled, urls, keys })
    }

    async fn alias(&self, alias: &Alias) -> anyhow::Result<()> {
        let AdminContext { store, author, now, .. } = self.context;
        let names = (alias.name.as_str(), alias.model.as_str());
        match self.stored.alias(alias.name.as_str()) {
            Some(current) => {
                catalogue::change_alias(store, author, self.fixed(), names, current.version, *now).await?;
            }
            None => _ = catalogue::create_alias(store, author, self.fixed(), names, *now).await?,
        }
        Ok(())
    }
}
