//! Models as operators send them: entries of the catalogue in camelCase. A change is a JSON merge patch (RFC 7386).

use crate::surface::console::error::ConsoleError;
use config::{CatalogueEntry, EntryProblem, Why, remove_nulls};
use control::CommandError;
use control::catalogue::{KeyChange, ModelDraft};
use domain::model::{Serving, Upstream};
use fleet::Backend;
use fleet::weights::path_problem;
use http::HeaderValue;
use node::catalogue_keeper::CatalogueKeeper;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
use utoipa::ToSchema;

const MAX_KEY_LEN: usize = 4_096;

/// A new model. One of `upstreams`, `engine` and `flavors` is required.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewModel {
    #[schema(example = "acme/tiny-chat")]
    id: String,
    /// Whether the model is served; by default it is.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    #[serde(flatten)]
    #[schema(value_type = CatalogueEntry)]
    members: Map<String, Value>,
}

/// A change of a model: a JSON merge patch. Absent members stay; null means the default. Lists are replaced as a whole.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ModelEdit {
    /// The version that was read.
    pub version: u64,
    /// Whether the model is served; by default it is.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    #[serde(flatten)]
    #[schema(value_type = CatalogueEntry)]
    members: Map<String, Value>,
}

impl NewModel {
    pub(super) async fn draft(self, keeper: &CatalogueKeeper) -> Result<ModelDraft, ConsoleError> {
        let id = Value::String(self.id);
        let definition = Map::from_iter([("id".to_owned(), id)]);
        draft(definition, self.members, self.enabled.unwrap_or(true), keeper).await
    }
}

impl ModelEdit {
    /// The draft of the model with this definition and its changes.
    pub(super) async fn draft(
        self,
        definition: Map<String, Value>,
        enabled: bool,
        keeper: &CatalogueKeeper,
    ) -> Result<ModelDraft, ConsoleError> {
        if self.members.contains_key("id") {
            return Err(ConsoleError::invalid("id", "the id of a model cannot be changed"));
        }
        draft(definition, self.members, self.enabled.unwrap_or(enabled), keeper).await
    }
}

/// `members` are a merge patch of the definition.
async fn draft(
    definition: Map<String, Value>,
    members: Map<String, Value>,
    enabled: bool,
    keeper: &CatalogueKeeper,
) -> Result<ModelDraft, ConsoleError> {
    let mut patch = Value::Object(members);
    use_names_of_tables(&mut patch, "")?;
    let given_keys = take_keys(&mut patch);
    let has_engine = patch.get("engine").is_some();
    let mut merged = Value::Object(definition);
    merge(&mut merged, patch);
    remove_nulls(&mut merged);
    let Value::Object(definition) = merged else { return Err(ConsoleError::INTERNAL) };
    let model = keeper.snapshot().rules().read(&definition).map_err(|problems| first_of(&problems))?;
    let upstreams: &[Upstream] = match &model.serving {
        Serving::Upstreams(upstreams) => upstreams,
        Serving::Engine(_) => &[],
    };
    let mut keys = Vec::new();
    for (index, (given, upstream)) in given_keys.into_iter().zip(upstreams).enumerate() {
        if Backend::new("", upstream.clone()).is_err() {
            return Err(ConsoleError::invalid(&format!("upstreams[{index}].url"), "is not the address of a server"));
        }
        let invalid = |why| ConsoleError::invalid(&format!("upstreams[{index}].apiKey"), why);
        let sealed = match given {
            None => continue,
            Some(Value::Null) => None,
            Some(Value::String(key)) => {
                check_key(&key).map_err(invalid)?;
                Some(keeper.seal(&model.id, &upstream.url, &key).map_err(CommandError::from)?)
            }
            Some(_) => return Err(invalid("is not a text")),
        };
        keys.push(KeyChange { url: upstream.url.clone(), sealed });
    }
    if has_engine {
        check_weights(&model.serving).await?;
    }
    let urls = upstreams.iter().map(|upstream| upstream.url.clone()).collect();
    Ok(ModelDraft { id: model.id, definition, enabled, urls, keys })
}

/// A path has to be right on every node that runs the engine, so on this one, too. The paths of Pods are their own.
async fn check_weights(serving: &Serving) -> Result<(), ConsoleError> {
    if let Serving::Engine(pool) = serving
        && pool.flavor.is_none()
        && pool.weights.starts_with('/')
        && let Some(why) = path_problem(PathBuf::from(&pool.weights)).await
    {
        return Err(ConsoleError::invalid("engine.weights", why));
    }
    Ok(())
}

/// Removes the key of each upstream of the request; `None` if it has none, null if the stored one is to be deleted.
fn take_keys(patch: &mut Value) -> Vec<Option<Value>> {
    let upstreams = patch.get_mut("upstreams").and_then(Value::as_array_mut).into_iter().flatten();
    upstreams.map(|upstream| upstream.as_object_mut()?.remove("api_key")).collect()
}

/// A JSON merge patch as RFC 7386 defines it.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(changes) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().map(|members| members.remove(&key));
        } else {
            merge(&mut target[key], change);
        }
    }
}

fn check_key(key: &str) -> Result<(), &'static str> {
    if key.is_empty() || key.len() > MAX_KEY_LEN {
        return Err("a key has 1 to 4096 characters");
    }
    HeaderValue::from_str(key).map(drop).map_err(|_| "contains characters that are invalid in an HTTP header")
}

fn first_of(problems: &[EntryProblem]) -> ConsoleError {
    let Some(EntryProblem { path, why }) = problems.first() else { return ConsoleError::INTERNAL };
    let (field, text) = (camel_case(path), why.describe("the value"));
    match why {
        Why::Missing(_) => ConsoleError::InvalidPayload { field: Some(field), why: text },
        Why::Unknown(_) => ConsoleError::InvalidValue { field, why: camel_case(&text) },
        Why::Not(_) | Why::Other(_) => ConsoleError::InvalidValue { field, why: text },
    }
}

/// Renames all members from camelCase to the names of tables.
fn use_names_of_tables(value: &mut Value, path: &str) -> Result<(), ConsoleError> {
    match value {
        Value::Object(members) => {
            for (key, mut member) in std::mem::take(members) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if key.contains('_') {
                    return Err(ConsoleError::invalid(&path, "unknown key; keys are in camelCase"));
                }
                use_names_of_tables(&mut member, &path)?;
                members.insert(snake_case(&key), member);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                use_names_of_tables(value, &format!("{path}[{index}]"))?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

/// `maxInFlight` is `max_in_flight` in a table, and `inputPer1m` is `input_per_1m`.
fn snake_case(key: &str) -> String {
    let mut name = String::with_capacity(key.len() + 4);
    for letter in key.chars() {
        if letter.is_ascii_uppercase() || letter.is_ascii_digit() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// `upstreams[0].max_in_flight` is `upstreams[0].maxInFlight` in JSON.
fn camel_case(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut is_start = false;
    for letter in path.chars() {
        match letter {
            '_' => is_start = true,
            letter if std::mem::take(&mut is_start) => text.push(letter.to_ascii_uppercase()),
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_have_the_names_of_tables() {
        let mut body = json!({
            "id": "acme/x", "inputPer1m": "0.10", "contextLength": null,
            "upstreams": [{"url": "http://a/v1", "maxInFlight": 3}],
            "flavors": [{"name": "a", "gpuType": "local/cpu", "pricePerGpuHour": "1.00"}],
        });
        use_names_of_tables(&mut body, "").unwrap();
        let expected = json!({
            "id": "acme/x", "input_per_1m": "0.10", "context_length": null,
            "upstreams": [{"url": "http://a/v1", "max_in_flight": 3}],
            "flavors": [{"name": "a", "gpu_type": "local/cpu", "price_per_gpu_hour": "1.00"}],
        });
        assert_eq!(body, expected);
        for name in ["input_per_1m", "cached_input_per_1m", "per_1k_searches", "price_per_gpu_hour", "url"] {
            assert_eq!(snake_case(&camel_case(name)), name);
        }
        let error = use_names_of_tables(&mut json!({"upstreams": [{"max_in_flight": 3}]}), "").unwrap_err();
        assert!(matches!(error, ConsoleError::InvalidValue { field, .. } if field == "upstreams[0].max_in_flight"));
    }

    #[test]
    fn an_unknown_member_is_answered_with_the_names_of_the_api() {
        let why = Why::Unknown(vec!["id".into(), "context_length".into()]);
        let error = first_of(&[EntryProblem { path: "flavors[0].gpu_kind".into(), why }]);
        let ConsoleError::InvalidValue { field, why } = error else { panic!("{error:?}") };
        assert_eq!(
            (field.as_str(), why.as_str()),
            ("flavors[0].gpuKind", "unknown key; known here: id, contextLength")
        );
    }

    #[test]
    fn a_change_is_a_merge_patch() {
        for (target, patch, expected) in [
            (json!({"a": 1, "b": 2}), json!({"a": null, "c": 3}), json!({"b": 2, "c": 3})),
            (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null, "d": 3}}), json!({"a": {"c": 2, "d": 3}})),
            (json!({}), json!({"a": {"b": null, "c": 1}}), json!({"a": {"c": 1}})),
            (json!({"a": [1]}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}})),
        ] {
            let mut merged = target.clone();
            merge(&mut merged, patch.clone());
            assert_eq!(merged, expected, "{target} {patch}");
        }
    }
}
