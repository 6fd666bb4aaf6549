//! The catalogue in the configuration: `[[models]]`, their upstreams or engine, and their flavors; `[[aliases]]`.
//!
//! Only `id` and one way to serve the model (`upstreams`, `engine` or `flavors`) are required. Defaults: `name` is the
//! id, `modality` is chat, prices are zero, a cached input costs what an input costs.

use super::fingerprint;
use super::reader::Section;
use super::sections::{http_url, is_plain_name};
use domain::alias::{Alias, AliasName};
use domain::model::{
    ChatTraits, DriverKind, EngineKind, EnginePool, Flavor, Launch, Modality, Model, NativeApi, RequestRules, Serving,
    ThinkingSwitch, Upstream,
};
use domain::money::{NanoUsd, Price};
use domain::{Catalogue, GpuType, ModelId};
use std::collections::HashSet;
use std::ops::RangeInclusive;
use weights::is_hub_source;

const DEFAULT_HEALTH_PATH: &str = "/health";
const ENGINES: &str = "\"forebay-engine\", \"vllm\", \"sglang\" or \"llama-server\"";
const THINKING_SWITCHES: &str = "\"reasoning_effort\", \"enable_thinking\" or \"none\"";
const WEIGHTS: &str = "a path or a reference such as hf://owner/model, of letters, digits and -._@";
const DEFAULT_PRECISION: &str = "auto";
/// Prefix of weights that the engine downloads from the Hugging Face hub; anything else is a path.
pub(super) const HUB_REFERENCE: &str = "hf://";

const TOKENS_RANGE: RangeInclusive<u64> = 1..=1_000_000_000;
const IN_FLIGHT_RANGE: RangeInclusive<u64> = 1..=1_000_000;
const REPLICAS_RANGE: RangeInclusive<u64> = 1..=64;
/// What forebay-engine accepts.
const PARALLEL_RANGE: RangeInclusive<u64> = 1..=64;
const GPUS_OF_A_REPLICA_RANGE: RangeInclusive<u64> = 1..=1024;
const TARGET_RANGE: RangeInclusive<u64> = 1..=1024;
const PREFILL_TARGET_RANGE: RangeInclusive<u64> = 0..=1_000_000_000;

pub(super) fn read(root: &Section<'_>, operator_prefix: &str) -> Catalogue {
    let mut seen = HashSet::new();
    let mut models = Vec::new();
    for mut section in root.sections("models") {
        let id = read_id(&section);
        if let Some(id) = &id {
            section.label(id.as_str());
            if !seen.insert(id.clone()) {
                section.report(section.line("id"), "id", "duplicates the id of a model above");
            }
        }
        models.extend(read_model(&section, id, operator_prefix));
    }
    let aliases = read_aliases(root, &seen);
    let hash = fingerprint::of(&models, &aliases, root.reader.folder);
    Catalogue::new(models, &hash).with_aliases(aliases)
}

/// Reads a single model, whose table is `section`.
pub(super) fn read_one(section: &Section<'_>, operator_prefix: &str) -> Option<Model> {
    read_model(section, read_id(section), operator_prefix)
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

fn read_id(section: &Section<'_>) -> Option<ModelId> {
    section.require("id", "\"acme/tiny-chat\"");
    let text = section.text("id")?;
    match ModelId::parse(text) {
        Ok(id) if id.is_dedicated() => {
            section.report(section.line("id"), "id", "is under dedicated/, which is reserved for dedicated endpoints");
            None
        }
        Ok(id) => Some(id),
        Err(error) => {
            section.report(section.line("id"), "id", error);
            None
        }
    }
}

/// Reads every key before failing on a missing id, so that one run shows all problems.
fn read_model(section: &Section<'_>, id: Option<ModelId>, operator_prefix: &str) -> Option<Model> {
    let name = section
        .parsed("name", "a name of 1 to 100 characters on one line", |text| domain::workspace::check_name(text).ok());
    let modality = section.parsed("modality", "\"chat\" or \"embedding\"", parse_modality).unwrap_or(Modality::Chat);
    let context_length = section.integer("context_length", TOKENS_RANGE).unwrap_or(modality.default_context());
    let price = read_price(section);
    let optimized = section.boolean("optimized").unwrap_or(false);
    if optimized && id.as_ref().is_some_and(|id| id.provider() != operator_prefix) {
        let what = format_args!("only ids under the operator's prefix `{operator_prefix}/` may be optimized builds");
        section.report(section.line("optimized"), "optimized", what);
    }
    let share_prefix_cache = section.boolean("share_prefix_cache").unwrap_or(false);
    let failover = section.boolean("failover").unwrap_or(false);
    let rules = read_rules(section);
    let thinking = section.parsed("thinking", THINKING_SWITCHES, ThinkingSwitch::parse);
    let chat = ChatTraits { thinking, merge_system: section.boolean("merge_system").unwrap_or(false) };
    let upstreams = read_upstreams(section, id.as_ref(), modality, share_prefix_cache);
    if failover {
        check_failover(section, modality, &upstreams);
    }
    let driver = read_driver(section).unwrap_or_default();
    let engine = read_engine(section, driver);
    let flavors = read_flavors(section, engine.as_ref(), driver);
    let engine = engine.and_then(|engine| engine.on(section, &flavors));
    check_serving(section);
    let serving = engine.map_or(Serving::Upstreams(upstreams), Serving::Engine);
    let id = id?;
    let name = name.unwrap_or(id.as_str()).to_owned();
    Some(Model {
        id,
        name,
        modality,
        context_length,
        price,
        optimized,
        share_prefix_cache,
        failover,
        chat,
        rules,
        serving,
        flavors,
    })
}

/// A stream goes on only at an engine that is known to continue a message.
fn check_failover(section: &Section<'_>, modality: Modality, upstreams: &[Upstream]) {
    let problem = match modality {
        Modality::Embedding => "only chat models have streams that can go on at another replica",
        Modality::Chat if upstreams.iter().any(|upstream| upstream.engine.is_none()) => {
            "needs the `engine` of every upstream, because the way to continue a message depends on it"
        }
        Modality::Chat => return,
    };
    section.report(section.line("failover"), "failover", problem);
}

fn read_rules(section: &Section<'_>) -> RequestRules {
    let refused_members = section.texts("refused_members").map(|names| {
        if names.iter().any(|name| !is_plain_name(name)) {
            let line = section.line("refused_members");
            section.report(line, "refused_members", "each must be a name of letters, digits and -._");
        }
        names.into_iter().map(str::to_ascii_lowercase).collect()
    });
    RequestRules { refused_members, media_urls: section.boolean("media_urls").unwrap_or(false) }
}

fn check_serving(section: &Section<'_>) {
    let is_filled =
        |key: &str| section.entry(key).is_some_and(|entry| !entry.item.as_array().is_some_and(|a| a.is_empty()));
    match (is_filled("upstreams"), is_filled("engine"), is_filled("flavors")) {
        (true, true, _) => {
            section.report(section.line("engine"), "engine", "a model can have upstreams or an engine, not both");
        }
        (false, false, false) => {
            section.report(None, "upstreams", "is missing: a model needs upstreams, an engine or flavors");
        }
        (true, false, _) | (false, true, _) | (false, false, true) => {}
    }
}

fn parse_modality(text: &str) -> Option<Modality> {
    [Modality::Chat, Modality::Embedding].into_iter().find(|modality| modality.as_str() == text)
}

fn read_price(section: &Section<'_>) -> Price {
    let input = read_amount(section, "input_per_1m").unwrap_or(NanoUsd::ZERO);
    Price {
        input_per_1m: input,
        cached_input_per_1m: read_amount(section, "cached_input_per_1m").unwrap_or(input),
        output_per_1m: read_amount(section, "output_per_1m").unwrap_or(NanoUsd::ZERO),
    }
}

/// Decimal text, because a float would lose precision.
fn read_amount(section: &Section<'_>, key: &str) -> Option<NanoUsd> {
    let entry = section.entry(key)?;
    let shown = section.show(entry.item);
    if entry.item.is_float() || entry.item.is_integer() {
        section.report(entry.line, key, format_args!("{shown} is a number; amounts are text: write \"{shown}\""));
        return None;
    }
    let amount = NanoUsd::parse(section.text(key)?);
    amount.map_err(|error| section.report(entry.line, key, error)).ok()
}

fn read_upstreams(model: &Section<'_>, id: Option<&ModelId>, modality: Modality, shares_cache: bool) -> Vec<Upstream> {
    let sections = model.sections("upstreams");
    let read = |section: &Section<'_>| {
        let upstream = read_upstream(section, id)?;
        if let Some(problem) = native_problem(&upstream, modality, shares_cache) {
            section.report(section.line("native"), "native", problem);
        }
        Some(upstream)
    };
    sections.iter().filter_map(read).collect()
}

/// Why calls to this upstream cannot be passed through as it says.
fn native_problem(upstream: &Upstream, modality: Modality, shares_cache: bool) -> Option<String> {
    let Upstream { native, engine, .. } = upstream;
    let first = native.first()?;
    match (modality, engine) {
        (Modality::Embedding, _) => Some("only chat models have calls to pass through".into()),
        (Modality::Chat, None) => None,
        (Modality::Chat, Some(EngineKind::ForebayEngine)) => Some(format!("forebay-engine does not speak \"{first}\"")),
        (Modality::Chat, Some(engine)) => {
            let unsalted = native.iter().find(|api| !api.has_salt(*engine)).filter(|_| !shares_cache)?;
            Some(format!(
                "\"{unsalted}\" needs share_prefix_cache = true: {engine} has no cache_salt there, so workspaces share \
                 its cache"
            ))
        }
    }
}

fn read_upstream(section: &Section<'_>, id: Option<&ModelId>) -> Option<Upstream> {
    let expected = "an http:// or https:// URL with a host and without credentials or query";
    let url = section.parsed("url", expected, http_url);
    section.require("url", "\"http://127.0.0.1:9001/v1\"");
    let model = section.parsed("model", "a name that is not empty", |text| (!text.is_empty()).then_some(text));
    let api_key = section.text("api_key_env").and_then(|variable| read_api_key(section, variable));
    let in_flight = section.integer("max_in_flight", IN_FLIGHT_RANGE);
    let health_path = section.parsed("health_path", "a path that starts with a slash", |text| {
        let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
        is_path.then_some(text)
    });
    let continuous_usage = section.boolean("continuous_usage").unwrap_or(true);
    let engine = section.parsed("engine", ENGINES, EngineKind::parse);
    let native = read_native(section);
    Some(Upstream {
        url: url?,
        model: model.or(id.map(ModelId::as_str)).unwrap_or_default().to_owned(),
        api_key,
        max_in_flight: in_flight.and_then(|count| u32::try_from(count).ok()),
        health_path: health_path.unwrap_or(DEFAULT_HEALTH_PATH).to_owned(),
        continuous_usage,
        engine,
        native,
    })
}

fn read_native(section: &Section<'_>) -> Vec<NativeApi> {
    let mut apis = Vec::new();
    for name in section.texts("native").unwrap_or_default() {
        let problem = match NativeApi::parse(name) {
            Some(api) if apis.contains(&api) => format!("has \"{name}\" twice"),
            Some(api) => {
                apis.push(api);
                continue;
            }
            None => format!("\"{name}\" is not \"messages\" or \"responses\""),
        };
        section.report(section.line("native"), "native", problem);
    }
    apis
}

fn read_api_key(section: &Section<'_>, variable: &str) -> Option<String> {
    let line = section.line("api_key_env");
    let Some(key) = section.reader.variable(variable) else {
        section.report(line, "api_key_env", format_args!("the environment variable {variable} is not set"));
        return None;
    };
    if http::HeaderValue::from_str(&key).is_err() {
        let what =
            format_args!("the environment variable {variable} contains characters that are invalid in an HTTP header");
        section.report(line, "api_key_env", what);
    }
    Some(key)
}

fn read_driver(section: &Section<'_>) -> Option<DriverKind> {
    section.parsed("driver", "\"process\" or \"kubernetes\"", DriverKind::parse)
}

/// `engine = { … }` as written.
struct EngineTable {
    weights: Option<String>,
    replicas: u32,
    parallel: Option<u32>,
    flavor: Option<String>,
    line: Option<usize>,
}

fn read_engine(model: &Section<'_>, driver: DriverKind) -> Option<EngineTable> {
    let line = model.entry("engine")?.line;
    let section = model.section("engine");
    let weights = read_weights(&section, driver);
    let replicas = section.integer("replicas", REPLICAS_RANGE).unwrap_or(1);
    let parallel = section.integer("parallel", PARALLEL_RANGE).and_then(|parallel| u32::try_from(parallel).ok());
    let flavor = section.text("flavor").map(ToOwned::to_owned);
    if flavor.is_none() {
        section.require("weights", "a GGUF file, or a folder in Hugging Face layout");
    } else if parallel.is_some() {
        let what = "is for engines that the gateway runs itself; omit it beside a flavor";
        section.report(section.line("parallel"), "parallel", what);
    }
    Some(EngineTable { weights, replicas: u32::try_from(replicas).unwrap_or(1), parallel, flavor, line })
}

impl EngineTable {
    /// The pool. If a flavor is named, its driver runs the pool.
    fn on(self, model: &Section<'_>, flavors: &[Flavor]) -> Option<EnginePool> {
        let Self { weights, replicas, parallel, flavor, line } = self;
        let Some(name) = flavor else {
            return Some(EnginePool { weights: weights?, replicas, parallel, flavor: None });
        };
        let Some(flavor) = flavors.iter().find(|offered| offered.name == name) else {
            model.report(line, "engine", format_args!("flavor \"{name}\" is not a flavor of the model"));
            return None;
        };
        if flavor.driver == DriverKind::Process {
            let what =
                format_args!("flavor \"{name}\" does not run on a cluster; omit it to let the gateway run the engine");
            model.report(line, "engine", what);
        }
        let Some(weights) = weights.or_else(|| flavor.weights.clone()) else {
            model.report(line, "engine", "neither the engine nor its flavor has weights");
            return None;
        };
        Some(EnginePool { weights, replicas, parallel, flavor: Some(Box::new(flavor.clone())) })
    }
}

/// A path on this machine is relative to the file's folder; in a Pod, to the mount of the cluster's weights.
fn read_weights(section: &Section<'_>, driver: DriverKind) -> Option<String> {
    let text = section.parsed("weights", WEIGHTS, |text| {
        let is_valid = text.strip_prefix(HUB_REFERENCE).map_or(!text.is_empty(), is_hub_source);
        is_valid.then_some(text)
    })?;
    if text.starts_with(HUB_REFERENCE) || driver == DriverKind::Kubernetes {
        return Some(text.to_owned());
    }
    Some(section.reader.path(text).to_string_lossy().into_owned())
}

fn read_flavors(model: &Section<'_>, engine: Option<&EngineTable>, driver: DriverKind) -> Vec<Flavor> {
    let mut seen = HashSet::new();
    let mut flavors = Vec::new();
    for section in model.sections("flavors") {
        let name =
            section.parsed("name", "a name of letters, digits and -._", |text| is_plain_name(text).then_some(text));
        section.require("name", "\"h100-1x-fp8\"");
        if name.is_some_and(|name| !seen.insert(name)) {
            section.report(section.line("name"), "name", "duplicates the name of another flavor of the model");
        }
        flavors.extend(read_flavor(&section, name, engine, driver));
    }
    flavors
}

fn read_flavor(
    section: &Section<'_>,
    name: Option<&str>,
    engine: Option<&EngineTable>,
    model_driver: DriverKind,
) -> Option<Flavor> {
    let driver = read_driver(section).unwrap_or(model_driver);
    let gpu_type =
        section.parsed("gpu_type", "a GPU type of the form <vendor>/<gpu-type>", |text| GpuType::parse(text).ok());
    section.require("gpu_type", "\"nvidia/h100-sxm-80gb\"");
    let gpu_count = section.integer("gpu_count", GPUS_OF_A_REPLICA_RANGE).unwrap_or(1);
    let precision =
        section.parsed("precision", "a name of letters, digits and -._", |text| is_plain_name(text).then_some(text));
    let launch = read_launch(section);
    let price_per_gpu_hour = read_amount(section, "price_per_gpu_hour").unwrap_or(NanoUsd::ZERO);
    let weights = read_weights(section, driver).or_else(|| engine.and_then(|engine| engine.weights.clone()));
    let image = section.parsed("image", "an image", |text| (!text.is_empty()).then(|| text.to_owned()));
    let default_target = section.integer("default_target", TARGET_RANGE).and_then(|target| u32::try_from(target).ok());
    let prefill_target = section.integer("prefill_target", PREFILL_TARGET_RANGE);
    let max_len = section.integer("max_len", TOKENS_RANGE);
    Some(Flavor {
        name: name?.to_owned(),
        gpu_type: gpu_type?,
        gpu_count: u32::try_from(gpu_count).unwrap_or(1),
        precision: precision.unwrap_or(DEFAULT_PRECISION).to_owned(),
        driver,
        launch,
        image,
        price_per_gpu_hour,
        weights,
        default_target,
        prefill_target,
        max_len,
    })
}

fn read_launch(section: &Section<'_>) -> Launch {
    let engine = section.parsed("engine", ENGINES, EngineKind::parse);
    let argv = section.texts("argv");
    if section.entry("engine").is_some() && section.entry("argv").is_some() {
        section.report(section.line("argv"), "argv", "a flavor can have an engine or argv, not both");
    }
    match argv {
        Some(argv) if argv.is_empty() => {
            section.report(section.line("argv"), "argv", "is empty: its first element must be the program");
            Launch::Argv(Vec::new())
        }
        Some(argv) => Launch::Argv(argv.into_iter().map(str::to_owned).collect()),
        None => Launch::Engine(engine.unwrap_or(EngineKind::ForebayEngine)),
    }
}
