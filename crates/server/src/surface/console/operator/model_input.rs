//! Models as operators send them.
//!
//! The members are those of a `[[models]]` table, in camelCase. They become such a table, which the reader of the
//! configuration file checks.

use crate::config::{ModelRules, Problems};
use crate::node::catalogue_keeper::CatalogueKeeper;
use crate::surface::console::error::ConsoleError;
use control::CommandError;
use control::catalogue::{KeyChange, ModelDraft};
use domain::model::{Serving, Upstream};
use fleet::Backend;
use fleet::weights::path_problem;
use http::HeaderValue;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use utoipa::ToSchema;

const MAX_KEY_LEN: usize = 4_096;

/// Distinguishes null from absent.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// For members that do not belong into a table of the file.
fn is_left_out<T>(_: &T) -> bool {
    true
}

/// A body with these members and all that a model can have.
macro_rules! model_body {
    ($(#[$attribute:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        #[derive(Deserialize, Serialize, ToSchema)]
        #[serde(deny_unknown_fields, rename_all(serialize = "snake_case", deserialize = "camelCase"))]
        #[schema(rename_all = "camelCase")]
        pub(crate) struct $name {
            $($own)*
            /// Whether the model is served; by default it is.
            #[serde(skip_serializing_if = "is_left_out")]
            #[schema(nullable = false)]
            pub enabled: Option<bool>,
            /// Default: the id.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<String>, min_length = 1, max_length = 100)]
            name: Option<Option<String>>,
            /// `chat` (default) or `embedding`.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<String>, example = "chat")]
            modality: Option<Option<String>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000)]
            context_length: Option<Option<u64>>,
            /// USD per million tokens, decimal text; default 0.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<String>, example = "0.10")]
            input_per_1m: Option<Option<String>>,
            /// Default: `inputPer1m`.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<String>, example = "0.05")]
            cached_input_per_1m: Option<Option<String>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<String>, example = "0.40")]
            output_per_1m: Option<Option<String>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<bool>)]
            optimized: Option<Option<bool>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<bool>)]
            share_prefix_cache: Option<Option<bool>>,
            /// Whether a stream whose replica is lost goes on at another one.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<bool>)]
            failover: Option<Option<bool>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<bool>)]
            media_urls: Option<Option<bool>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<bool>)]
            merge_system: Option<Option<bool>>,
            /// `reasoning_effort`, `enable_thinking` or `none`; default: by the kind of the engine.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<String>)]
            thinking: Option<Option<String>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<Vec<String>>)]
            refused_members: Option<Option<Vec<String>>>,
            /// `process` (default) or `kubernetes`: what runs the flavors.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<String>)]
            driver: Option<Option<String>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<Vec<UpstreamInput>>)]
            upstreams: Option<Option<Vec<UpstreamInput>>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<EngineInput>)]
            engine: Option<Option<EngineInput>>,
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
            #[schema(value_type = Option<Vec<FlavorInput>>)]
            flavors: Option<Option<Vec<FlavorInput>>>,
        }

        impl $name {
            fn upstreams(&self) -> &[UpstreamInput] {
                self.upstreams.as_ref().and_then(Option::as_deref).unwrap_or_default()
            }

            fn engine(&self) -> Option<&EngineInput> {
                self.engine.as_ref().and_then(Option::as_ref)
            }

            fn members(&self) -> Map<String, Value> {
                match serde_json::to_value(self) {
                    Ok(Value::Object(members)) => members,
                    _ => Map::new(),
                }
            }
        }
    };
}

model_body! {
    /// A new model. One of `upstreams`, `engine` and `flavors` is required.
    NewModel {
        #[schema(example = "acme/tiny-chat")]
        id: String,
    }
}

model_body! {
    /// A change of a model. Absent members stay; null means the default. Lists are replaced as a whole.
    ModelEdit {
        /// The version that was read.
        #[serde(skip_serializing_if = "is_left_out")]
        #[schema(required = true)]
        pub version: u64,
    }
}

/// A model server outside of Forebay.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "snake_case", deserialize = "camelCase"))]
#[schema(rename_all = "camelCase")]
pub(crate) struct UpstreamInput {
    #[schema(example = "http://127.0.0.1:9001/v1")]
    url: String,
    /// The model's name there; default: the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Stored encrypted for this address, and never shown again. Absent: the stored key stays; null: it is deleted.
    #[serde(default, skip_serializing_if = "is_left_out", deserialize_with = "given")]
    #[schema(value_type = Option<String>, format = Password, max_length = 4096)]
    api_key: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    max_in_flight: Option<u64>,
    /// Default: `/health`.
    #[serde(skip_serializing_if = "Option::is_none")]
    health_path: Option<String>,
    /// Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    continuous_usage: Option<bool>,
    /// `forebay-engine`, `vllm`, `sglang` or `llama-server`, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    /// The APIs that it speaks itself, `messages` and `responses`: their calls are passed through instead of translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<Vec<String>>,
}

/// Engines that Forebay runs itself.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "snake_case", deserialize = "camelCase"))]
#[schema(rename_all = "camelCase")]
pub(crate) struct EngineInput {
    /// An absolute path that exists on every node, or a reference such as `hf://owner/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 64)]
    replicas: Option<u64>,
    /// Calls that one engine computes at once; default 8. Not beside a flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 64)]
    parallel: Option<u64>,
    /// A flavor that runs on a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    flavor: Option<String>,
}

/// A hardware shape for dedicated endpoints.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "snake_case", deserialize = "camelCase"))]
#[schema(rename_all = "camelCase")]
pub(crate) struct FlavorInput {
    #[schema(example = "h100-1x-fp8")]
    name: String,
    #[schema(example = "nvidia/h100-sxm-80gb")]
    gpu_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1024)]
    gpu_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2.50")]
    price_per_gpu_hour: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1024)]
    default_target: Option<u64>,
    /// Prompt tokens in flight per replica above which an endpoint scales up; 0 means never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1_000_000_000)]
    prefill_target: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    max_len: Option<u64>,
}

impl NewModel {
    pub(super) async fn draft(&self, keeper: &CatalogueKeeper) -> Result<ModelDraft, ConsoleError> {
        let draft = draft(self.members(), self.enabled.unwrap_or(true), self.upstreams(), keeper)?;
        check_weights(self.engine()).await?;
        Ok(draft)
    }
}

impl ModelEdit {
    /// The draft of the model with this definition and its changes.
    pub(super) async fn draft(
        &self,
        mut definition: Map<String, Value>,
        enabled: bool,
        keeper: &CatalogueKeeper,
    ) -> Result<ModelDraft, ConsoleError> {
        for (key, value) in self.members() {
            match value {
                Value::Null => _ = definition.remove(&key),
                value => _ = definition.insert(key, value),
            }
        }
        let draft = draft(definition, self.enabled.unwrap_or(enabled), self.upstreams(), keeper)?;
        check_weights(self.engine()).await?;
        Ok(draft)
    }
}

/// A path has to be right on every node that runs the engine, so on this one, too. The paths of Pods are their own.
async fn check_weights(engine: Option<&EngineInput>) -> Result<(), ConsoleError> {
    let Some(EngineInput { weights: Some(weights), flavor: None, .. }) = engine else { return Ok(()) };
    if weights.starts_with('/')
        && let Some(why) = path_problem(PathBuf::from(weights)).await
    {
        return Err(ConsoleError::invalid("engine.weights", why));
    }
    Ok(())
}

/// `inputs` are the upstreams of the definition, if the request has them.
fn draft(
    mut definition: Map<String, Value>,
    enabled: bool,
    inputs: &[UpstreamInput],
    keeper: &CatalogueKeeper,
) -> Result<ModelDraft, ConsoleError> {
    definition.retain(|_, value| !value.is_null());
    let model = read(keeper.snapshot().rules(), &definition)?;
    let upstreams: &[Upstream] = match &model.serving {
        Serving::Upstreams(upstreams) => upstreams,
        Serving::Engine(_) => &[],
    };
    let mut keys = Vec::new();
    for (index, (input, upstream)) in inputs.iter().zip(upstreams).enumerate() {
        if Backend::new("", upstream.clone()).is_err() {
            return Err(ConsoleError::invalid(&format!("upstreams[{index}].url"), "is not the address of a server"));
        }
        let Some(key) = &input.api_key else { continue };
        let seal = |key: &String| -> Result<String, ConsoleError> {
            check_key(key).map_err(|why| ConsoleError::invalid(&format!("upstreams[{index}].apiKey"), why))?;
            Ok(keeper.seal(&model.id, &upstream.url, key).map_err(CommandError::from)?)
        };
        let sealed = key.as_ref().map(seal).transpose()?;
        keys.push(KeyChange { url: upstream.url.clone(), sealed });
    }
    let urls = upstreams.iter().map(|upstream| upstream.url.clone()).collect();
    Ok(ModelDraft { id: model.id, definition, enabled, urls, keys })
}

fn check_key(key: &str) -> Result<(), &'static str> {
    if key.is_empty() || key.len() > MAX_KEY_LEN {
        return Err("a key has 1 to 4096 characters");
    }
    HeaderValue::from_str(key).map(drop).map_err(|_| "contains characters that are invalid in an HTTP header")
}

fn read(rules: &ModelRules, definition: &Map<String, Value>) -> Result<domain::Model, ConsoleError> {
    rules.read(definition).map_err(|problems| first_of(&problems))
}

fn first_of(problems: &Problems) -> ConsoleError {
    match problems.iter().next() {
        Some(problem) => ConsoleError::InvalidValue { field: camel_case(&problem.field), why: problem.why.clone() },
        None => ConsoleError::INTERNAL,
    }
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
    fn members_have_the_names_of_the_file() {
        let body = json!({
            "id": "acme/x", "inputPer1m": "0.10", "contextLength": null, "enabled": false, "failover": true,
            "upstreams": [{"url": "http://a/v1", "maxInFlight": 3, "apiKey": "secret"}],
            "flavors": [{"name": "a", "gpuType": "local/cpu", "pricePerGpuHour": "1.00", "prefillTarget": 0}],
        });
        let new: NewModel = serde_json::from_value(body).unwrap();
        let expected = json!({
            "id": "acme/x", "input_per_1m": "0.10", "context_length": null, "failover": true,
            "upstreams": [{"url": "http://a/v1", "max_in_flight": 3}],
            "flavors": [{"name": "a", "gpu_type": "local/cpu", "price_per_gpu_hour": "1.00", "prefill_target": 0}],
        });
        assert_eq!(Value::Object(new.members()), expected);
        assert_eq!(camel_case("flavors[0].price_per_gpu_hour"), "flavors[0].pricePerGpuHour");
        assert_eq!(camel_case("cached_input_per_1m"), "cachedInputPer1m");
    }
}
