//! The two notations of the catalogue: tables of the file, and definitions of the store, which are the same tables as
//! JSON.

use super::table::{from_toml, resolve_paths, tables_of};
use crate::load;
use anyhow::Context;
use domain::Model;
use domain::alias::Alias;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// A model of a file, as the store keeps it.
pub struct Definition {
    /// Without secrets; paths are absolute.
    pub table: Map<String, Value>,
    /// With the keys of its upstreams.
    pub model: Arc<Model>,
}

/// Reads the models and aliases of a configuration file. Keys are read from the environment of this process.
pub fn read_definitions(path: &Path) -> anyhow::Result<(Vec<Definition>, Vec<Alias>)> {
    let config = load(Some(path))?;
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let document = toml_edit::Document::parse(text.as_str()).map_err(|error| anyhow::anyhow!("{error}"))?;
    let folder = std::path::absolute(path.parent().unwrap_or(Path::new("")))?;
    let mut document = from_toml(document.as_table());
    let tables = tables_of(&mut document, "models");
    let definitions = tables.zip(config.catalogue.iter()).map(|(table, model)| {
        adapt(table, &folder);
        Definition { table: std::mem::take(table), model: Arc::clone(model) }
    });
    Ok((definitions.collect(), config.catalogue.aliases().to_vec()))
}

/// Removes the names of environment variables, and makes paths absolute.
fn adapt(table: &mut Map<String, Value>, folder: &Path) {
    resolve_paths(table, folder);
    for upstream in tables_of(table, "upstreams") {
        upstream.remove("api_key_env");
    }
}

/// A definition of the store to be written to a file.
pub struct Exported {
    pub table: Map<String, Value>,
    /// Whether upstreams have keys, which are not exported.
    pub has_keys: bool,
    /// Every model of a file is served, so that others are written as comments.
    pub enabled: bool,
}

impl Exported {
    fn has_id(&self, id: &str) -> bool {
        self.table.get("id").and_then(Value::as_str) == Some(id)
    }
}

/// Writes models and aliases as a file has them. Disabled models and their aliases are comments.
pub fn write_definitions(models: &[Exported], aliases: &[(String, String)]) -> String {
    let mut text = String::new();
    for model in models {
        write_entry(&mut text, &model_tables(model), model.enabled);
    }
    for (name, model) in aliases {
        let is_disabled = models.iter().any(|exported| !exported.enabled && exported.has_id(model));
        let (name, model) = (Value::from(name.as_str()), Value::from(model.as_str()));
        write_entry(&mut text, &format!("[[aliases]]\nname = {name}\nmodel = {model}\n"), !is_disabled);
    }
    text
}

/// Appends the tables of an entry and an empty line.
fn write_entry(text: &mut String, tables: &str, enabled: bool) {
    if !enabled {
        text.push_str("# Disabled in the store:\n");
    }
    for line in tables.lines() {
        if !enabled {
            text.push_str(if line.is_empty() { "#" } else { "# " });
        }
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
}

fn model_tables(Exported { table, has_keys, .. }: &Exported) -> String {
    let mut text = "[[models]]\n".to_owned();
    if *has_keys {
        text.push_str("# The keys of its upstreams are not exported: add api_key_env to them.\n");
    }
    let id = table.get_key_value("id");
    let others = table.iter().filter(|(key, _)| !["id", "flavors"].contains(&key.as_str()));
    write_members(&mut text, id.into_iter().chain(others));
    let flavors = table.get("flavors").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for flavor in flavors.iter().filter_map(Value::as_object) {
        text.push_str("\n[[models.flavors]]\n");
        write_members(&mut text, flavor.iter());
    }
    text
}

fn write_members<'a>(text: &mut String, members: impl Iterator<Item = (&'a String, &'a Value)>) {
    for (key, value) in members.filter(|(_, value)| !value.is_null()) {
        let _ = writeln!(text, "{key} = {}", inline(value));
    }
}

/// A value on one line. Texts of JSON are texts of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(key, value)| format!("{key} = {}", inline(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[models]]
        id = "acme/x"
        name = "A \"quoted\" name"
        context_length = 4096
        optimized = false
        input_per_1m = "0.10"
        upstreams = [ { url = "http://a/v1", max_in_flight = 3 }, { url = "http://b/v1", native = ["messages"] } ]
        [[models.flavors]]
        name = "cpu"
        gpu_type = "local/cpu"
        weights = "x.gguf"

        [[models]]
        id = "acme/y"
        engine = { weights = "hf://acme/y", replicas = 2 }

        [[aliases]]
        name = "gpt-*"
        model = "acme/x"
    "#;

    #[test]
    fn what_is_read_and_written_again_is_the_same_catalogue() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("forebay.toml");
        std::fs::write(&file, FILE).unwrap();
        let (models, aliases) = read_definitions(&file).unwrap();
        let weights = &models[0].table["flavors"][0]["weights"];
        assert_eq!(weights.as_str().unwrap(), folder.path().join("x.gguf").to_str().unwrap());
        let exported: Vec<Exported> =
            models.iter().map(|model| Exported { table: model.table.clone(), has_keys: true, enabled: true }).collect();
        let names: Vec<_> = aliases.iter().map(|alias| (alias.name.to_string(), alias.model.to_string())).collect();
        let written = write_definitions(&exported, &names);
        std::fs::write(&file, &written).unwrap();
        let (again, _) = read_definitions(&file).unwrap();
        for (before, after) in models.iter().zip(&again) {
            assert_eq!((&before.table, &before.model), (&after.table, &after.model), "{written}");
        }
        assert_eq!(again.len(), 2, "{written}");
    }

    #[test]
    fn disabled_models_and_their_aliases_are_written_as_comments() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("forebay.toml");
        std::fs::write(&file, FILE).unwrap();
        let (models, _) = read_definitions(&file).unwrap();
        let exported: Vec<Exported> = models
            .iter()
            .map(|model| Exported {
                table: model.table.clone(),
                has_keys: false,
                enabled: model.model.id.as_str() != "acme/x",
            })
            .collect();
        let written = write_definitions(&exported, &[("gpt-*".to_owned(), "acme/x".to_owned())]);
        let start = "# Disabled in the store:\n# [[models]]\n# id = \"acme/x\"\n";
        assert!(written.starts_with(start), "{written}");
        assert!(written.contains("#\n# [[models.flavors]]\n# "), "{written}");
        std::fs::write(&file, &written).unwrap();
        let (again, aliases) = read_definitions(&file).unwrap();
        let ids: Vec<_> = again.iter().map(|model| model.model.id.as_str()).collect();
        assert_eq!((ids, aliases.len()), (vec!["acme/y"], 0), "{written}");
    }
}
