//! Entries as models: the range and the default of every member, and what members require of each other.

use super::entry::{CatalogueEntry, EngineEntry, FlavorEntry, OPENAI_ENGINE, UpstreamEntry};
use super::table::{EntryProblem, Why};
use crate::sections::{http_url, is_plain_name};
use crate::units::parse_duration;
use crate::weights::HUB_REFERENCE;
use domain::model::{
    BatchShare, ChatTraits, DriverKind, EngineKind, EngineOptions, EnginePool, Flavor, ImageTokens, Launch, LimitName,
    Modality, Model, NativeApi, ReasoningNames, RequestRules, RerankApi, Serving, ThinkingSwitch, Upstream,
};
use domain::money::{NanoUsd, Price};
use domain::{GpuType, ModelId};
use fleet::engine::options;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;
use weights::is_hub_source;

const DEFAULT_HEALTH_PATH: &str = "/health";
const DEFAULT_PRECISION: &str = "auto";
const DRIVERS: &str = "\"process\" or \"kubernetes\"";
const ENGINES: &str = "\"forebay-engine\", \"vllm\", \"sglang\" or \"llama-server\"";
const UPSTREAM_ENGINES: &str = "\"forebay-engine\", \"vllm\", \"sglang\", \"llama-server\", \"tei\" or \"openai\"";
const THINKING_SWITCHES: &str = "\"reasoning_effort\", \"enable_thinking\", \"thinking\", \"thinking_budget\", \
                                 \"thinking_token_budget\" or \"none\"";
const REASONING_NAMES: &str = "\"both\" or \"as_is\"";
const QUEUE_TIMEOUT: &str = "a duration from \"0s\" to \"10m\", such as \"30s\"";
const MAX_QUEUE_TIMEOUT: Duration = Duration::from_mins(10);
const WEIGHTS: &str = "a path or a reference such as hf://owner/model, of letters, digits and -._@";
const PLAIN_NAME: &str = "a name of letters, digits and -._";

const TOKENS_RANGE: RangeInclusive<u64> = 1..=1_000_000_000;
const IN_FLIGHT_RANGE: RangeInclusive<u64> = 1..=1_000_000;
const IMAGE_SQUARE_RANGE: RangeInclusive<u64> = 1..=4_096;
const IMAGE_TOKENS_RANGE: RangeInclusive<u64> = 1..=1_000_000;
const REPLICAS_RANGE: RangeInclusive<u64> = 1..=64;
/// What forebay-engine accepts.
const PARALLEL_RANGE: RangeInclusive<u64> = 1..=64;
const GPUS_OF_A_REPLICA_RANGE: RangeInclusive<u64> = 1..=1024;
const TARGET_RANGE: RangeInclusive<u64> = 1..=1024;
const PREFILL_TARGET_RANGE: RangeInclusive<u64> = 0..=1_000_000_000;

/// Collects the problems of an entry, each with the path of its member.
#[derive(Default)]
pub(super) struct Found {
    /// Members of a wrong type, which were reported already.
    invalid: Vec<EntryProblem>,
    problems: RefCell<Vec<EntryProblem>>,
}

impl Found {
    pub(super) fn new(invalid: Vec<EntryProblem>) -> Self {
        Self { invalid, problems: RefCell::default() }
    }

    pub(super) fn all(self) -> Vec<EntryProblem> {
        self.problems.into_inner().into_iter().chain(self.invalid).collect()
    }

    fn is_invalid(&self, path: &str) -> bool {
        self.invalid.iter().any(|problem| problem.path == path)
    }
}

/// Checks the members of an entry or of a part of it.
pub(super) struct Checks<'a> {
    found: &'a Found,
    /// The path of the part with a dot at its end, such as `upstreams[0].`; empty for the entry itself.
    prefix: String,
}

impl<'a> Checks<'a> {
    pub(super) fn new(found: &'a Found) -> Self {
        Self { found, prefix: String::new() }
    }

    pub(super) fn part(&self, key: &str) -> Self {
        Self { found: self.found, prefix: format!("{}{key}.", self.prefix) }
    }

    pub(super) fn element(&self, key: &str, index: usize) -> Self {
        self.part(&format!("{key}[{index}]"))
    }

    fn add(&self, key: &str, why: Why) {
        let path = format!("{}{key}", self.prefix);
        if !self.found.is_invalid(&path) {
            self.found.problems.borrow_mut().push(EntryProblem { path, why });
        }
    }

    pub(super) fn report(&self, key: &str, why: impl Into<String>) {
        self.add(key, Why::Other(why.into()));
    }

    fn require<T>(&self, key: &str, value: Option<&T>, example: &'static str) {
        if value.is_none() {
            self.add(key, Why::Missing(example));
        }
    }

    /// The value, if it is present and valid.
    fn valid<T>(&self, key: &str, value: Option<T>, expected: &str) -> Option<T> {
        if value.is_none() {
            self.add(key, Why::Not(expected.to_owned()));
        }
        value
    }

    fn parsed<'t, T>(
        &self,
        key: &str,
        text: &'t Option<String>,
        expected: &str,
        parse: impl FnOnce(&'t str) -> Option<T>,
    ) -> Option<T> {
        self.valid(key, parse(text.as_deref()?), expected)
    }

    fn whole<T: TryFrom<u64>>(&self, key: &str, number: Option<u64>, range: RangeInclusive<u64>) -> Option<T> {
        let number = number?;
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.valid(key, Some(number).filter(|number| range.contains(number)), &expected)?.try_into().ok()
    }
}

/// The id of a table.
pub(super) fn id_of(id: Option<&serde_json::Value>, checks: &Checks<'_>) -> Option<ModelId> {
    checks.require("id", id, "\"acme/tiny-chat\"");
    let text = checks.valid("id", id?.as_str(), "text in quotes")?;
    match ModelId::parse(text) {
        Ok(id) if id.is_dedicated() => {
            checks.report("id", "is under dedicated/, which is reserved for dedicated endpoints");
            None
        }
        Ok(id) => Some(id),
        Err(error) => {
            checks.report("id", error.to_string());
            None
        }
    }
}

/// The model of an entry. All members are checked before it fails on a missing id, so that one run shows all problems.
pub(super) fn model_of(id: Option<ModelId>, entry: &CatalogueEntry, checks: &Checks<'_>) -> Option<Model> {
    let one_line = "a name of 1 to 100 characters on one line";
    let name = checks.parsed("name", &entry.name, one_line, |text| domain::workspace::check_name(text).ok());
    let modality = checks.parsed("modality", &entry.modality, "\"chat\", \"embedding\" or \"rerank\"", Modality::parse);
    let modality = modality.unwrap_or(Modality::Chat);
    let context_length = checks.whole("context_length", entry.context_length, TOKENS_RANGE);
    let chat = chat_traits_of(entry, checks);
    let share_prefix_cache = entry.share_prefix_cache.unwrap_or(false);
    let failover = entry.failover.unwrap_or(false);
    let rules = rules_of(entry, checks);
    let share = |share| checks.valid("batch_share", BatchShare::new(share).ok(), "a number from 0 to 1");
    let batch_share = entry.batch_share.and_then(share);
    let queue_timeout = checks.parsed("queue_timeout", &entry.queue_timeout, QUEUE_TIMEOUT, |text| {
        parse_duration(text).filter(|timeout| *timeout <= MAX_QUEUE_TIMEOUT)
    });
    let mut upstreams = Vec::new();
    for (index, upstream) in entry.upstreams.iter().flatten().enumerate() {
        let checks = checks.element("upstreams", index);
        let upstream = upstream_of(upstream, id.as_ref(), &checks);
        if let Some(why) = upstream.as_ref().and_then(|upstream| native_problem(upstream, modality, share_prefix_cache))
        {
            checks.report("native", why);
        }
        upstreams.extend(upstream);
    }
    if let Some(why) = failover_problem(modality, &upstreams).filter(|_| failover) {
        checks.report("failover", why);
    }
    let driver = checks.parsed("driver", &entry.driver, DRIVERS, DriverKind::parse).unwrap_or_default();
    let flavors = flavors_of(entry, driver, checks);
    let engine = entry.engine.as_ref().and_then(|engine| pool_of(engine, &flavors, checks));
    check_serving(entry, checks);
    let input_per_1m = entry.input_per_1m.unwrap_or(NanoUsd::ZERO);
    let per_1k_searches = per_1k_searches_of(entry, modality, checks);
    let id = id?;
    Some(Model {
        name: name.unwrap_or(id.as_str()).to_owned(),
        id,
        modality,
        context_length: context_length.unwrap_or(modality.default_context()),
        price: Price {
            input_per_1m,
            cached_input_per_1m: entry.cached_input_per_1m.unwrap_or(input_per_1m),
            output_per_1m: entry.output_per_1m.unwrap_or(NanoUsd::ZERO),
        },
        per_1k_searches,
        batch_discount: entry.batch_discount.unwrap_or_default(),
        batch_share: batch_share.unwrap_or_default(),
        queue_timeout: queue_timeout.unwrap_or_default(),
        optimized: entry.optimized.unwrap_or(false),
        share_prefix_cache,
        failover,
        probe: entry.probe,
        chat,
        rules,
        serving: engine.map_or(Serving::Upstreams(upstreams), Serving::Engine),
        flavors,
    })
}

/// Zero is valid for every model, because the API shows it of every model.
fn per_1k_searches_of(entry: &CatalogueEntry, modality: Modality, checks: &Checks<'_>) -> NanoUsd {
    let price = entry.per_1k_searches.unwrap_or(NanoUsd::ZERO);
    if price != NanoUsd::ZERO && modality != Modality::Rerank {
        checks.report("per_1k_searches", "only models for rerank have searches");
    }
    price
}

/// A stream goes on only at an engine that is known to continue a message.
fn failover_problem(modality: Modality, upstreams: &[Upstream]) -> Option<&'static str> {
    match modality {
        Modality::Embedding | Modality::Rerank => {
            Some("only chat models have streams that can go on at another replica")
        }
        Modality::Chat => upstreams
            .iter()
            .any(|upstream| upstream.engine.is_none())
            .then_some("needs the `engine` of every upstream, because the way to continue a message depends on it"),
    }
}

fn chat_traits_of(entry: &CatalogueEntry, checks: &Checks<'_>) -> ChatTraits {
    let usual = ImageTokens::default();
    let names = checks.parsed("reasoning_names", &entry.reasoning_names, REASONING_NAMES, ReasoningNames::parse);
    ChatTraits {
        thinking: checks.parsed("thinking", &entry.thinking, THINKING_SWITCHES, ThinkingSwitch::parse),
        merge_system: entry.merge_system.unwrap_or(false),
        reasoning_names: names.unwrap_or_default(),
        gathers_tools: !entry.stream_tools.unwrap_or(true),
        images: ImageTokens {
            square: checks.whole("image_square", entry.image_square, IMAGE_SQUARE_RANGE).unwrap_or(usual.square),
            most: checks.whole("max_image_tokens", entry.max_image_tokens, IMAGE_TOKENS_RANGE).unwrap_or(usual.most),
        },
    }
}

fn rules_of(entry: &CatalogueEntry, checks: &Checks<'_>) -> RequestRules {
    let refused_members = entry.refused_members.as_ref().map(|names| {
        if names.iter().any(|name| !is_plain_name(name)) {
            checks.report("refused_members", "each must be a name of letters, digits and -._");
        }
        names.iter().map(|name| name.to_ascii_lowercase()).collect()
    });
    RequestRules { refused_members, media_urls: entry.media_urls.unwrap_or(false) }
}

fn check_serving(entry: &CatalogueEntry, checks: &Checks<'_>) {
    let has_upstreams = entry.upstreams.as_ref().is_some_and(|upstreams| !upstreams.is_empty());
    let has_flavors = entry.flavors.as_ref().is_some_and(|flavors| !flavors.is_empty());
    match (has_upstreams, entry.engine.is_some(), has_flavors) {
        (true, true, _) => checks.report("engine", "a model can have upstreams or an engine, not both"),
        (false, false, false) if !["engine", "flavors"].iter().any(|key| checks.found.is_invalid(key)) => {
            checks.report("upstreams", "is missing: a model needs upstreams, an engine or flavors");
        }
        (true, false, _) | (false, true, _) | (false, false, _) => {}
    }
}

/// Why calls to this upstream cannot be passed through as it says.
fn native_problem(upstream: &Upstream, modality: Modality, shares_cache: bool) -> Option<String> {
    let Upstream { native, engine, .. } = upstream;
    let first = native.first()?;
    match (modality, engine) {
        (Modality::Embedding | Modality::Rerank, _) => Some("only chat models have calls to pass through".into()),
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

fn upstream_of(entry: &UpstreamEntry, id: Option<&ModelId>, checks: &Checks<'_>) -> Option<Upstream> {
    let expected = "an http:// or https:// URL with a host and without credentials or query";
    let url = checks.parsed("url", &entry.url, expected, http_url);
    checks.require("url", entry.url.as_ref(), "\"http://127.0.0.1:9001/v1\"");
    let model =
        checks.parsed("model", &entry.model, "a name that is not empty", |text| (!text.is_empty()).then_some(text));
    let max_in_flight = checks.whole("max_in_flight", entry.max_in_flight, IN_FLIGHT_RANGE);
    let health_path = checks.parsed("health_path", &entry.health_path, "a path that starts with a slash", |text| {
        let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
        is_path.then_some(text)
    });
    // Neither is an engine that Forebay starts: each name stands for what is sent.
    let is_tei = entry.engine.as_deref() == Some(RerankApi::Tei.as_str());
    let is_openai = entry.engine.as_deref() == Some(OPENAI_ENGINE);
    let engine = match is_tei || is_openai {
        true => None,
        false => checks.parsed("engine", &entry.engine, UPSTREAM_ENGINES, EngineKind::parse),
    };
    let priority_scheduling = entry.priority_scheduling.unwrap_or(false);
    if priority_scheduling && engine != Some(EngineKind::Vllm) {
        checks.report("priority_scheduling", "needs engine = \"vllm\": other engines have no priorities");
    }
    let native = native_of(entry, checks);
    Some(Upstream {
        url: url?,
        model: model.or(id.map(ModelId::as_str)).unwrap_or_default().to_owned(),
        api_key: entry.api_key.clone(),
        max_in_flight,
        health_path: health_path.unwrap_or(DEFAULT_HEALTH_PATH).to_owned(),
        // OpenAI rejects members that it does not know.
        continuous_usage: entry.continuous_usage.unwrap_or(!is_openai),
        engine,
        rerank_api: if is_tei { RerankApi::Tei } else { RerankApi::Vllm },
        limit_name: if is_openai { LimitName::MaxCompletionTokens } else { LimitName::MaxTokens },
        priority_scheduling,
        native,
    })
}

fn native_of(entry: &UpstreamEntry, checks: &Checks<'_>) -> Vec<NativeApi> {
    let mut apis = Vec::new();
    for name in entry.native.iter().flatten() {
        match NativeApi::parse(name) {
            Some(api) if apis.contains(&api) => checks.report("native", format!("has \"{name}\" twice")),
            Some(api) => apis.push(api),
            None => checks.report("native", format!("\"{name}\" is not \"messages\" or \"responses\"")),
        }
    }
    apis
}

/// The pool. If a flavor is named, its driver runs the pool.
fn pool_of(entry: &EngineEntry, flavors: &[Flavor], model: &Checks<'_>) -> Option<EnginePool> {
    let checks = model.part("engine");
    let weights = weights_of(&entry.weights, &checks);
    let replicas = checks.whole("replicas", entry.replicas, REPLICAS_RANGE).unwrap_or(1);
    let parallel = checks.whole("parallel", entry.parallel, PARALLEL_RANGE);
    let args = entry.args.clone().unwrap_or_default();
    let Some(name) = &entry.flavor else {
        let options = EngineOptions { args, ..EngineOptions::default() };
        report_options(EngineKind::ForebayEngine, &options, &checks);
        let is_parallel = |arg: &String| arg.starts_with("--parallel");
        if entry.parallel.is_some() && options.args.iter().any(is_parallel) {
            checks.report("args", "`--parallel` is set by parallel");
        }
        checks.require("weights", entry.weights.as_ref(), "a GGUF file, or a folder in Hugging Face layout");
        return Some(EnginePool { weights: weights?, replicas, parallel, args: options.args, flavor: None });
    };
    if entry.parallel.is_some() {
        checks.report("parallel", "is for engines that the gateway runs itself; omit it beside a flavor");
    }
    if entry.args.is_some() {
        checks.report("args", "is for engines that the gateway runs itself; set it in the flavor");
    }
    let Some(flavor) = flavors.iter().find(|offered| offered.name == *name) else {
        model.report("engine", format!("flavor \"{name}\" is not a flavor of the model"));
        return None;
    };
    if flavor.driver == DriverKind::Process {
        let why = format!("flavor \"{name}\" does not run on a cluster; omit it to let the gateway run the engine");
        model.report("engine", why);
    }
    let Some(weights) = weights.or_else(|| flavor.weights.clone()) else {
        model.report("engine", "neither the engine nor its flavor has weights");
        return None;
    };
    Some(EnginePool { weights, replicas, parallel, args, flavor: Some(Box::new(flavor.clone())) })
}

fn weights_of(weights: &Option<String>, checks: &Checks<'_>) -> Option<String> {
    checks.parsed("weights", weights, WEIGHTS, |text| {
        let is_valid = text.strip_prefix(HUB_REFERENCE).map_or(!text.is_empty(), is_hub_source);
        is_valid.then(|| text.to_owned())
    })
}

fn flavors_of(entry: &CatalogueEntry, driver: DriverKind, checks: &Checks<'_>) -> Vec<Flavor> {
    let mut seen = HashSet::new();
    let mut flavors = Vec::new();
    for (index, flavor) in entry.flavors.iter().flatten().enumerate() {
        let checks = checks.element("flavors", index);
        if flavor.name.as_ref().is_some_and(|name| !seen.insert(name)) {
            checks.report("name", "duplicates the name of another flavor of the model");
        }
        flavors.extend(flavor_of(flavor, entry.engine.as_ref(), driver, &checks));
    }
    flavors
}

/// A flavor without weights of its own has those of the model's engine.
fn flavor_of(
    entry: &FlavorEntry,
    engine: Option<&EngineEntry>,
    model_driver: DriverKind,
    checks: &Checks<'_>,
) -> Option<Flavor> {
    let plain_name = |text: &str| is_plain_name(text).then(|| text.to_owned());
    let name = checks.parsed("name", &entry.name, PLAIN_NAME, plain_name);
    checks.require("name", entry.name.as_ref(), "\"h100-1x-fp8\"");
    let driver = checks.parsed("driver", &entry.driver, DRIVERS, DriverKind::parse).unwrap_or(model_driver);
    let gpu_type = checks.parsed("gpu_type", &entry.gpu_type, "a GPU type of the form <vendor>/<gpu-type>", |text| {
        GpuType::parse(text).ok()
    });
    checks.require("gpu_type", entry.gpu_type.as_ref(), "\"nvidia/h100-sxm-80gb\"");
    let gpu_count = checks.whole("gpu_count", entry.gpu_count, GPUS_OF_A_REPLICA_RANGE);
    let precision = checks.parsed("precision", &entry.precision, PLAIN_NAME, plain_name);
    let launch = launch_of(entry, checks);
    let options = options_of(entry, &launch, driver, checks);
    let weights = weights_of(&entry.weights, checks);
    let image = checks.parsed("image", &entry.image, "an image", |text| (!text.is_empty()).then(|| text.to_owned()));
    let default_target = checks.whole("default_target", entry.default_target, TARGET_RANGE);
    let prefill_target = checks.whole("prefill_target", entry.prefill_target, PREFILL_TARGET_RANGE);
    let max_len = checks.whole("max_len", entry.max_len, TOKENS_RANGE);
    Some(Flavor {
        name: name?,
        gpu_type: gpu_type?,
        gpu_count: gpu_count.unwrap_or(1),
        precision: precision.unwrap_or_else(|| DEFAULT_PRECISION.to_owned()),
        driver,
        launch,
        options,
        image,
        price_per_gpu_hour: entry.price_per_gpu_hour.unwrap_or(NanoUsd::ZERO),
        weights: weights.or_else(|| engine.and_then(|engine| engine.weights.clone())),
        default_target,
        prefill_target,
        max_len,
    })
}

fn launch_of(entry: &FlavorEntry, checks: &Checks<'_>) -> Launch {
    let engine = checks.parsed("engine", &entry.engine, ENGINES, EngineKind::parse);
    let Some(argv) = &entry.argv else { return Launch::Engine(engine.unwrap_or(EngineKind::ForebayEngine)) };
    if entry.engine.is_some() {
        checks.report("argv", "a flavor can have an engine or argv, not both");
    }
    if argv.is_empty() {
        checks.report("argv", "is empty: its first element must be the program");
    }
    Launch::Argv(argv.clone())
}

fn options_of(entry: &FlavorEntry, launch: &Launch, driver: DriverKind, checks: &Checks<'_>) -> EngineOptions {
    let plain_name = |text: &str| is_plain_name(text).then(|| text.to_owned());
    let path = match driver {
        DriverKind::Process => "a path",
        DriverKind::Kubernetes => "an absolute path in the Pod",
    };
    let is_path = |text: &str| text.starts_with('/').then(|| text.to_owned());
    let options = EngineOptions {
        tool_parser: checks.parsed("tool_parser", &entry.tool_parser, PLAIN_NAME, plain_name),
        reasoning_parser: checks.parsed("reasoning_parser", &entry.reasoning_parser, PLAIN_NAME, plain_name),
        chat_template: checks.parsed("chat_template", &entry.chat_template, path, is_path),
        args: entry.args.clone().unwrap_or_default(),
    };
    match launch {
        Launch::Engine(engine) => report_options(*engine, &options, checks),
        Launch::Argv(_) if options != EngineOptions::default() => {
            checks.report("argv", "has all arguments of its command: omit args, chat_template and parsers beside it");
        }
        Launch::Argv(_) => {}
    }
    options
}

fn report_options(engine: EngineKind, options: &EngineOptions, checks: &Checks<'_>) {
    if let Some((member, why)) = options::problem_of(engine, options) {
        checks.report(member, why);
    }
}
