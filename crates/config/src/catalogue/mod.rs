//! The catalogue in the configuration: `[[models]]`, their upstreams or engine, and their flavors; `[[aliases]]`.
//!
//! A model is written as an entry (`entry.rs`), which the file, the store and the API share. `table.rs` reads entries,
//! `model.rs` checks them and makes models of them.

mod definitions;
mod entry;
mod model;
mod stored;
mod table;

pub use definitions::{Definition, Exported, read_definitions, write_definitions};
pub use entry::{CatalogueEntry, OPENAI_ENGINE};
pub use stored::ModelRules;
pub use table::{EntryProblem, Why, remove_nulls};

use super::reader::Section;
use domain::alias::{Alias, AliasName};
use domain::{Catalogue, Model, ModelId, SecretHash};
use model::{Checks, Found};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::Path;

const SHOWN_HASH_LEN: usize = 16;

/// The settings that a table of the file or of the store is read with.
struct Source<'a> {
    operator_prefix: &'a str,
    environment: &'a dyn Fn(&str) -> Option<String>,
    /// Checks what only tables of this source may not have.
    check: &'a dyn Fn(&CatalogueEntry, &Checks<'_>),
}

impl Source<'_> {
    /// Reads the table of a model, with all of its problems. There is a model if the table has a valid id.
    fn read(&self, mut table: Map<String, Value>) -> (Option<Model>, Vec<EntryProblem>) {
        let id = table.remove("id");
        let (mut entry, invalid) = table::read(table);
        let found = Found::new(invalid);
        let checks = Checks::new(&found);
        let id = model::id_of(id.as_ref(), &checks);
        // The prefix marks optimized builds.
        let has_prefix = id.as_ref().is_some_and(|id| id.provider() == self.operator_prefix);
        if *entry.optimized.get_or_insert(has_prefix) && id.is_some() && !has_prefix {
            let prefix = self.operator_prefix;
            let why = format!("only ids under the operator's prefix `{prefix}/` may be optimized builds");
            checks.report("optimized", why);
        }
        self.read_keys(&mut entry, &checks);
        (self.check)(&entry, &checks);
        let model = model::model_of(id, &entry, &checks);
        (model, found.all())
    }

    /// Reads the keys of upstreams from the environment.
    fn read_keys(&self, entry: &mut CatalogueEntry, checks: &Checks<'_>) {
        for (index, upstream) in entry.upstreams.iter_mut().flatten().enumerate() {
            let Some(variable) = &upstream.api_key_env else { continue };
            upstream.api_key = (self.environment)(variable);
            let problem = match &upstream.api_key {
                None => "is not set",
                Some(key) if http::HeaderValue::from_str(key).is_err() => {
                    "contains characters that are invalid in an HTTP header"
                }
                Some(_) => continue,
            };
            let why = format!("the environment variable {variable} {problem}");
            checks.element("upstreams", index).report("api_key_env", why);
        }
    }
}

/// Reads the catalogue of the file.
pub(super) fn read(root: &Section<'_>, operator_prefix: &str) -> Catalogue {
    let reader = root.reader;
    let environment = |name: &str| reader.variable(name);
    let source = Source { operator_prefix, environment: &environment, check: &|_, _| {} };
    let mut seen = HashSet::new();
    let mut models = Vec::new();
    for mut section in root.sections("models") {
        let mut table = section.whole().map(table::from_toml).unwrap_or_default();
        table::resolve_paths(&mut table, reader.folder);
        let (model, problems) = source.read(table);
        if let Some(id) = model.as_ref().map(|model| &model.id) {
            section.label(id.as_str());
            if !seen.insert(id.clone()) {
                section.report(section.line("id"), "id", "duplicates the id of a model above");
            }
        }
        for EntryProblem { path, why } in problems {
            section.report_at(&path, |shown| why.describe(shown));
        }
        models.extend(model);
    }
    let aliases = read_aliases(root, &seen);
    let hash = hash_of(&models, &aliases, reader.folder);
    Catalogue::new(models, &hash).with_aliases(aliases)
}

/// The catalogue `base` with further models and aliases. Without them it has the same hash, so that an empty store changes
/// nothing.
pub fn extend_catalogue(base: &Catalogue, models: Vec<Model>, aliases: Vec<Alias>) -> Catalogue {
    let is_same = models.is_empty() && aliases.is_empty() && !base.hash.is_empty();
    let hash = match is_same {
        true => base.hash.to_string(),
        false => shorten(&format!("{} {}", base.hash, hash_of(&models, &aliases, Path::new("")))),
    };
    let models = base.iter().map(|model| (**model).clone()).chain(models).collect();
    let aliases = base.aliases().iter().cloned().chain(aliases).collect();
    Catalogue::new(models, &hash).with_aliases(aliases)
}

/// A digest of models and aliases, to detect nodes that serve different ones. It covers every member of their entries and no
/// secret. Paths count as written in the file, so that nodes with the same file in different folders agree.
fn hash_of(models: &[Model], aliases: &[Alias], folder: &Path) -> String {
    let as_written = |path: &mut Option<String>| {
        let Some(path) = path else { return };
        if let Ok(relative) = Path::new(path.as_str()).strip_prefix(folder) {
            *path = relative.to_string_lossy().into_owned();
        }
    };
    let canonical = |model: &Model| {
        let mut entry = CatalogueEntry::from(model);
        entry.upstreams.iter_mut().flatten().for_each(|upstream| upstream.has_key = false);
        entry.engine.iter_mut().for_each(|engine| as_written(&mut engine.weights));
        entry.flavors.iter_mut().flatten().for_each(|flavor| {
            as_written(&mut flavor.weights);
            as_written(&mut flavor.chat_template);
        });
        let mut value = serde_json::to_value(entry).expect("entries have only text keys");
        // A new optional member does not change the hash where it is not set.
        remove_nulls(&mut value);
        format!("{} {value}\n", model.id)
    };
    let alias = |alias: &Alias| format!("alias {} {}\n", alias.name, alias.model);
    shorten(&models.iter().map(canonical).chain(aliases.iter().map(alias)).collect::<String>())
}

fn shorten(canonical: &str) -> String {
    let mut digest = SecretHash::of(canonical).to_hex();
    digest.truncate(SHOWN_HASH_LEN);
    digest
}

fn read_aliases(root: &Section<'_>, models: &HashSet<ModelId>) -> Vec<Alias> {
    let sections = root.sections("aliases");
    let names: HashSet<&str> = sections.iter().filter_map(|section| section.entry("name")?.item.as_str()).collect();
    let is_model = |name: &str| ModelId::parse(name).is_ok_and(|id| models.contains(&id));
    let mut seen = HashSet::new();
    let mut aliases = Vec::new();
    for mut section in sections {
        section.require("name", "\"claude-sonnet-4-5\"");
        section.require("model", "\"acme/tiny-chat\"");
        let name = section.text("name");
        let problem = name.and_then(|name| match AliasName::parse(name) {
            Err(error) => Some(error.to_string()),
            Ok(_) if is_model(name) => Some("is the id of a model".into()),
            Ok(_) if !seen.insert(name) => Some("duplicates the name of an alias above".into()),
            Ok(_) => None,
        });
        if let Some(problem) = problem {
            section.report(section.line("name"), "name", problem);
        }
        section.label(name.unwrap_or_default());
        let model = section.text("model");
        match model {
            Some(model) if is_model(model) => {}
            Some(model) if names.contains(model) => {
                section.report(section.line("model"), "model", "is an alias; name the model that it stands for");
            }
            Some(_) => section.report(section.line("model"), "model", "is not the id of a model of this file"),
            None => {}
        }
        let name = name.and_then(|name| AliasName::parse(name).ok());
        let model = model.and_then(|model| ModelId::parse(model).ok());
        aliases.extend(name.zip(model).map(|(name, model)| Alias { name, model }));
    }
    aliases
}
