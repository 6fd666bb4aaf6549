//! A model of the catalogue as it is written: a `[[models]]` table of the file, the same table as JSON in the store, and
//! in the API with names in camelCase.
//!
//! Every member is optional here; `model.rs` has their ranges and defaults. The entry of a [`Model`] has the effective
//! value of each member: it is what the API shows and what the hash of the catalogue covers.

use super::table::{amount, api_only, share, texts};
use crate::units::show_duration;
use domain::model::{EnginePool, Flavor, Launch, LimitName, Model, RerankApi, Serving, Upstream};
use domain::{NanoUsd, PriceShare};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The `engine` of an upstream that OpenAI runs, or that is as strict.
pub const OPENAI_ENGINE: &str = "openai";

/// A model without its id.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase"))]
#[schema(rename_all = "camelCase")]
pub struct CatalogueEntry {
    /// Default: the id.
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    /// `chat` (default), `embedding` or `rerank`.
    #[schema(example = "chat")]
    pub modality: Option<String>,
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub context_length: Option<u64>,
    /// USD per million tokens, decimal text; default 0.
    #[serde(default, deserialize_with = "amount")]
    #[schema(value_type = Option<String>, example = "0.10")]
    pub input_per_1m: Option<NanoUsd>,
    /// Default: `inputPer1m`.
    #[serde(default, deserialize_with = "amount")]
    #[schema(value_type = Option<String>, example = "0.05")]
    pub cached_input_per_1m: Option<NanoUsd>,
    #[serde(default, deserialize_with = "amount")]
    #[schema(value_type = Option<String>, example = "0.40")]
    pub output_per_1m: Option<NanoUsd>,
    /// USD per 1,000 searches, beside their tokens; default 0. Rerank calls are searches, and scores are not.
    #[serde(default, deserialize_with = "amount")]
    #[schema(value_type = Option<String>, example = "2.00")]
    pub per_1k_searches: Option<NanoUsd>,
    /// The share of the price that lines of batches and calls with `service_tier: "flex"` pay; default 1.
    #[serde(default, deserialize_with = "share")]
    #[schema(value_type = Option<String>, example = "0.5")]
    pub batch_discount: Option<PriceShare>,
    /// The share of each replica's capacity that such calls may take, from 0 to 1; default 0.5. They take one place at least,
    /// and none while interactive calls wait.
    #[schema(minimum = 0, maximum = 1)]
    pub batch_share: Option<f64>,
    /// How long interactive calls wait for room while all replicas are full, such as `30s`; default `0s`: not at all.
    #[schema(example = "30s")]
    pub queue_timeout: Option<String>,
    pub optimized: Option<bool>,
    pub share_prefix_cache: Option<bool>,
    /// If a replica fails, its streams continue at another one.
    pub failover: Option<bool>,
    /// Whether its engines are probed for what they can do, with a few small calls. Default (null): those of a kind that
    /// Forebay can start, unless `probe` of `[server]` says otherwise for all.
    pub probe: Option<bool>,
    pub media_urls: Option<bool>,
    pub merge_system: Option<bool>,
    /// `reasoning_effort`, `enable_thinking`, `thinking`, `thinking_budget`, `thinking_token_budget` or `none`; default: by
    /// the kind of the engine.
    pub thinking: Option<String>,
    /// `both` (default): the reasoning of a chat has the names `reasoning` and `reasoning_content`; or `as_is`.
    pub reasoning_names: Option<String>,
    /// Default: true. False: the engine is not asked to stream calls with tools, because it loses arguments in streams.
    pub stream_tools: Option<bool>,
    /// Pixels: an image counts one token for each square with this side; default 28.
    #[schema(minimum = 1, maximum = 4096)]
    pub image_square: Option<u64>,
    /// The most tokens that an image counts; default 16384.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub max_image_tokens: Option<u64>,
    #[serde(default, deserialize_with = "texts")]
    pub refused_members: Option<Vec<String>>,
    /// `process` (default) or `kubernetes`: what runs the flavors. Only in requests; responses have it in each flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(write_only)]
    pub driver: Option<String>,
    pub upstreams: Option<Vec<UpstreamEntry>>,
    pub engine: Option<EngineEntry>,
    pub flavors: Option<Vec<FlavorEntry>>,
}

/// A model server outside of Forebay.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase"))]
#[schema(rename_all = "camelCase")]
pub struct UpstreamEntry {
    #[schema(required = true, nullable = false, example = "http://127.0.0.1:9001/v1")]
    pub url: Option<String>,
    /// The model's name there; default: the id.
    pub model: Option<String>,
    /// The environment variable with its key. Only in the file.
    #[serde(skip_serializing)]
    pub api_key_env: Option<String>,
    /// Stored encrypted for this address, and never shown again. Absent: the stored key stays; null: it is deleted.
    #[serde(default, skip_serializing_if = "is_secret", deserialize_with = "api_only")]
    #[schema(write_only, format = Password, max_length = 4096)]
    pub api_key: Option<String>,
    /// Whether a key is sent to it. The key itself is never shown.
    #[serde(default, deserialize_with = "api_only")]
    #[schema(read_only)]
    pub has_key: bool,
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub max_in_flight: Option<u64>,
    /// Default: `/health`.
    pub health_path: Option<String>,
    /// Default: true; with `openai` as the engine, false.
    pub continuous_usage: Option<bool>,
    /// `forebay-engine`, `vllm`, `sglang`, `llama-server`, `tei` or `openai`, if known.
    pub engine: Option<String>,
    /// Whether it is a vLLM with `--scheduling-policy priority`, which then gets the class of each call; default: false.
    pub priority_scheduling: Option<bool>,
    /// The APIs that it speaks itself, `messages` and `responses`: their calls are passed through instead of translated.
    #[serde(default, deserialize_with = "texts")]
    pub native: Option<Vec<String>>,
}

fn is_secret(_: &Option<String>) -> bool {
    true
}

/// Engines that Forebay runs itself.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineEntry {
    /// An absolute path that exists on every node, or a reference such as `hf://owner/model`.
    pub weights: Option<String>,
    #[schema(minimum = 1, maximum = 64)]
    pub replicas: Option<u64>,
    /// Calls that one engine computes at once; default 8. Not beside a flavor.
    #[schema(minimum = 1, maximum = 64)]
    pub parallel: Option<u64>,
    /// Further arguments of forebay-engine, such as `--kv-cache-tokens`. Not beside a flavor, which has its own.
    #[serde(default, deserialize_with = "texts")]
    pub args: Option<Vec<String>>,
    /// A flavor that runs on a cluster.
    pub flavor: Option<String>,
}

/// A hardware shape for dedicated endpoints.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase"))]
#[schema(rename_all = "camelCase")]
pub struct FlavorEntry {
    #[schema(required = true, nullable = false, example = "h100-1x-fp8")]
    pub name: Option<String>,
    #[schema(required = true, nullable = false, example = "nvidia/h100-sxm-80gb")]
    pub gpu_type: Option<String>,
    #[schema(minimum = 1, maximum = 1024)]
    pub gpu_count: Option<u64>,
    pub precision: Option<String>,
    /// `process` or `kubernetes`; default: that of the model.
    pub driver: Option<String>,
    /// `forebay-engine` (default), `vllm`, `sglang` or `llama-server`.
    pub engine: Option<String>,
    /// The engine's name for the syntax of the model's tool calls, such as `hermes`.
    pub tool_parser: Option<String>,
    /// The engine's name for the syntax of the model's reasoning, such as `qwen3`.
    pub reasoning_parser: Option<String>,
    /// A file with a chat template that replaces the model's own. Only in the configuration file.
    #[schema(read_only)]
    pub chat_template: Option<String>,
    /// Further arguments of the engine. Models in the store may use some options only.
    #[serde(default, deserialize_with = "texts")]
    pub args: Option<Vec<String>>,
    /// The command that starts the engine. Only in the configuration file.
    #[serde(default, deserialize_with = "texts")]
    #[schema(read_only)]
    pub argv: Option<Vec<String>>,
    /// The container image. Only in the configuration file.
    pub image: Option<String>,
    #[serde(default, deserialize_with = "amount")]
    #[schema(value_type = Option<String>, example = "2.50")]
    pub price_per_gpu_hour: Option<NanoUsd>,
    pub weights: Option<String>,
    #[schema(minimum = 1, maximum = 1024)]
    pub default_target: Option<u64>,
    /// Prompt tokens in flight per replica above which an endpoint scales up; 0 means never.
    #[schema(minimum = 0, maximum = 1_000_000_000)]
    pub prefill_target: Option<u64>,
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub max_len: Option<u64>,
}

impl From<&Model> for CatalogueEntry {
    fn from(model: &Model) -> Self {
        let (upstreams, engine) = match &model.serving {
            Serving::Upstreams(upstreams) => (upstreams.iter().map(UpstreamEntry::from).collect(), None),
            Serving::Engine(pool) => (Vec::new(), Some(EngineEntry::from(pool))),
        };
        Self {
            name: Some(model.name.clone()),
            modality: Some(model.modality.to_string()),
            context_length: Some(model.context_length),
            input_per_1m: Some(model.price.input_per_1m),
            cached_input_per_1m: Some(model.price.cached_input_per_1m),
            output_per_1m: Some(model.price.output_per_1m),
            per_1k_searches: Some(model.per_1k_searches),
            batch_discount: Some(model.batch_discount),
            batch_share: Some(model.batch_share.get()),
            queue_timeout: Some(show_duration(model.queue_timeout)),
            optimized: Some(model.optimized),
            share_prefix_cache: Some(model.share_prefix_cache),
            failover: Some(model.failover),
            probe: model.probe,
            media_urls: Some(model.rules.media_urls),
            merge_system: Some(model.chat.merge_system),
            thinking: model.chat.thinking.map(|switch| switch.to_string()),
            reasoning_names: Some(model.chat.reasoning_names.to_string()),
            stream_tools: Some(!model.chat.gathers_tools),
            image_square: Some(model.chat.images.square.into()),
            max_image_tokens: Some(model.chat.images.most),
            refused_members: model.rules.refused_members.clone(),
            driver: None,
            upstreams: Some(upstreams),
            engine,
            flavors: Some(model.flavors.iter().map(FlavorEntry::from).collect()),
        }
    }
}

impl From<&Upstream> for UpstreamEntry {
    fn from(upstream: &Upstream) -> Self {
        Self {
            url: Some(upstream.url.clone()),
            model: Some(upstream.model.clone()),
            api_key_env: None,
            api_key: None,
            has_key: upstream.api_key.is_some(),
            max_in_flight: upstream.max_in_flight.map(u64::from),
            health_path: Some(upstream.health_path.clone()),
            continuous_usage: Some(upstream.continuous_usage),
            engine: match (upstream.engine, upstream.rerank_api, upstream.limit_name) {
                (Some(engine), _, _) => Some(engine.to_string()),
                (None, api @ RerankApi::Tei, _) => Some(api.to_string()),
                (None, RerankApi::Vllm, LimitName::MaxCompletionTokens) => Some(OPENAI_ENGINE.to_owned()),
                (None, RerankApi::Vllm, LimitName::MaxTokens) => None,
            },
            priority_scheduling: Some(upstream.priority_scheduling),
            native: Some(upstream.native.iter().map(ToString::to_string).collect()),
        }
    }
}

impl From<&EnginePool> for EngineEntry {
    fn from(pool: &EnginePool) -> Self {
        Self {
            weights: Some(pool.weights.clone()),
            replicas: Some(pool.replicas.into()),
            parallel: pool.parallel.map(u64::from),
            args: some_unless_empty(&pool.args),
            flavor: pool.flavor.as_ref().map(|flavor| flavor.name.clone()),
        }
    }
}

impl From<&Flavor> for FlavorEntry {
    fn from(flavor: &Flavor) -> Self {
        let (engine, argv) = match &flavor.launch {
            Launch::Engine(kind) => (Some(kind.to_string()), None),
            Launch::Argv(argv) => (None, Some(argv.clone())),
        };
        Self {
            name: Some(flavor.name.clone()),
            gpu_type: Some(flavor.gpu_type.to_string()),
            gpu_count: Some(flavor.gpu_count.into()),
            precision: Some(flavor.precision.clone()),
            driver: Some(flavor.driver.to_string()),
            engine,
            tool_parser: flavor.options.tool_parser.clone(),
            reasoning_parser: flavor.options.reasoning_parser.clone(),
            chat_template: flavor.options.chat_template.clone(),
            args: some_unless_empty(&flavor.options.args),
            argv,
            image: flavor.image.clone(),
            price_per_gpu_hour: Some(flavor.price_per_gpu_hour),
            weights: flavor.weights.clone(),
            default_target: flavor.default_target.map(u64::from),
            prefill_target: flavor.prefill_target,
            max_len: flavor.max_len,
        }
    }
}

fn some_unless_empty(args: &[String]) -> Option<Vec<String>> {
    (!args.is_empty()).then(|| args.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::model::{Checks, Found, model_of};
    use crate::catalogue::table;
    use crate::{Config, Exported, write_definitions};
    use serde_json::{Value, json};
    use std::path::Path;
    use utoipa::PartialSchema as _;

    fn snake_case(name: &str) -> String {
        let letters = name.chars().map(|letter| match letter.is_ascii_uppercase() {
            true => format!("_{}", letter.to_ascii_lowercase()),
            false => letter.to_string(),
        });
        letters.collect()
    }

    /// The schema can have literals only.
    #[test]
    fn the_schema_has_the_ranges_that_are_checked() {
        let table_of = |prefix: &str, members: Value| match prefix {
            "upstreams[0]." => json!({ "upstreams": [members] }),
            "engine." => json!({ "engine": members }),
            "flavors[0]." => json!({ "flavors": [members] }),
            _ => members,
        };
        for (prefix, schema) in [
            ("", CatalogueEntry::schema()),
            ("upstreams[0].", UpstreamEntry::schema()),
            ("engine.", EngineEntry::schema()),
            ("flavors[0].", FlavorEntry::schema()),
        ] {
            let schema = serde_json::to_value(schema).unwrap();
            for (name, member) in schema["properties"].as_object().unwrap() {
                if member["minimum"].is_null() && !member["type"].to_string().contains("integer") {
                    continue;
                }
                let (key, range) = (snake_case(name), ["minimum", "maximum"].map(|end| member[end].as_i64()));
                let [Some(least), Some(most)] = range else { panic!("{name} has no range: {member}") };
                for (value, is_valid) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
                    let Value::Object(table) = table_of(prefix, json!({ key.as_str(): value })) else {
                        panic!("{key}")
                    };
                    let (entry, invalid) = table::read(table);
                    let found = Found::new(invalid);
                    model_of(None, &entry, &Checks::new(&found));
                    let path = format!("{prefix}{key}");
                    let is_reported = found.all().iter().any(|problem| problem.path == path);
                    assert_eq!(is_reported, !is_valid, "{path} = {value}");
                }
            }
        }
    }

    #[test]
    fn a_server_of_openai_has_its_own_name_of_the_token_limit() {
        let table = json!({"id": "openai/x", "upstreams": [{"url": "https://a/v1", "engine": "openai"}]});
        let Value::Object(table) = table else { panic!("{table}") };
        let text = write_definitions(&[Exported { table, has_keys: false, enabled: true }], &[]);
        let config = Config::parse(&text, Path::new("/"), &|_| None).unwrap_or_else(|problems| panic!("{problems}"));
        let model = config.catalogue.get("openai/x").unwrap();
        let Serving::Upstreams(upstreams) = &model.serving else { panic!("{model:?}") };
        let upstream = &upstreams[0];
        let read = (upstream.limit_name, upstream.engine, upstream.continuous_usage);
        assert_eq!(read, (LimitName::MaxCompletionTokens, None, false));
        assert_eq!(UpstreamEntry::from(upstream).engine.as_deref(), Some("openai"));
    }

    #[test]
    fn no_member_is_lost_between_a_table_and_the_entry_of_its_model() {
        let mut table = json!({
            "id": "forebay/x", "name": "X", "modality": "chat", "context_length": 4096, "input_per_1m": "0.10",
            "cached_input_per_1m": "0.05", "output_per_1m": "0.40", "batch_discount": "0.5", "optimized": true, "share_prefix_cache": true,
            "failover": true, "probe": false, "media_urls": true, "merge_system": true, "thinking": "none", "refused_members": ["seed"],
            "reasoning_names": "as_is", "stream_tools": false, "image_square": 14, "max_image_tokens": 256, "driver": "process",
            "upstreams": [{
                "url": "http://a/v1", "model": "x", "api_key_env": "KEY", "max_in_flight": 3, "health_path": "/up",
                "continuous_usage": false, "engine": "vllm", "priority_scheduling": true, "native": ["messages"],
            }],
            "flavors": [{
                "name": "a", "gpu_type": "local/cpu", "gpu_count": 2, "precision": "q4", "driver": "process",
                "engine": "vllm", "tool_parser": "hermes", "reasoning_parser": "qwen3", "chat_template": "/srv/t.jinja",
                "args": ["--dtype", "auto"], "price_per_gpu_hour": "2.50", "weights": "/srv/x", "default_target": 4,
                "prefill_target": 0, "max_len": 2048,
            }],
        });
        // Apart, because the macro has a limit.
        table["batch_share"] = json!(0.25);
        table["queue_timeout"] = json!("1m");
        table["per_1k_searches"] = json!("0.00");
        let Value::Object(table) = table else { panic!("{table}") };
        let text = write_definitions(&[Exported { table, has_keys: false, enabled: true }], &[]);
        let config = Config::parse(&text, Path::new("/"), &|name| (name == "KEY").then(|| "secret".to_owned()));
        let config = config.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let shown = serde_json::to_value(CatalogueEntry::from(&**config.catalogue.get("forebay/x").unwrap()));
        let mut expected = json!({
            "name": "X", "modality": "chat", "contextLength": 4096, "inputPer1m": "0.10", "cachedInputPer1m": "0.05",
            "outputPer1m": "0.40", "batchDiscount": "0.5", "optimized": true, "sharePrefixCache": true, "failover": true, "probe": false, "mediaUrls": true,
            "mergeSystem": true, "thinking": "none", "reasoningNames": "as_is", "streamTools": false, "imageSquare": 14, "maxImageTokens": 256,
            "refusedMembers": ["seed"], "engine": null,
            "upstreams": [{
                "url": "http://a/v1", "model": "x", "hasKey": true, "maxInFlight": 3, "healthPath": "/up",
                "continuousUsage": false, "engine": "vllm", "priorityScheduling": true, "native": ["messages"],
            }],
            "flavors": [{
                "name": "a", "gpuType": "local/cpu", "gpuCount": 2, "precision": "q4", "driver": "process",
                "engine": "vllm", "toolParser": "hermes", "reasoningParser": "qwen3", "chatTemplate": "/srv/t.jinja",
                "args": ["--dtype", "auto"], "argv": null, "image": null, "pricePerGpuHour": "2.50", "weights": "/srv/x",
                "defaultTarget": 4, "prefillTarget": 0, "maxLen": 2048,
            }],
        });
        expected["batchShare"] = json!(0.25);
        expected["queueTimeout"] = json!("60s");
        expected["per1kSearches"] = json!("0.00");
        assert_eq!(shown.unwrap(), expected);
    }
}
