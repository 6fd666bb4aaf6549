//! Models: their ids, prices, and how they are served.

pub use super::batch_share::{BatchShare, BatchShareError};
pub use super::chat_traits::{ChatTraits, ImageTokens, ReasoningNames, ThinkingSwitch};
pub use super::request_rules::RequestRules;

use crate::call_class::CallClass;
use crate::capabilities::Capability;
use crate::gpu_type::GpuType;
use crate::money::{NanoUsd, Price, PriceShare};
use crate::{named_enum, shown_as_text};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// `<provider>/<model-name>`, as sent by clients and echoed in every response.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId(Arc<str>);

/// The provider part of the ids of dedicated endpoints; no provider of the catalogue may have this name.
pub const DEDICATED: &str = "dedicated";
const MAX_ID_LEN: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a Model ID of the form <provider>/<model-name> (letters, digits and -._:@ with one or more slashes)"
)]
pub struct ModelIdError(String);

impl ModelIdError {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.chars().take(64).collect())
    }
}

impl ModelId {
    pub fn parse(text: &str) -> Result<Self, ModelIdError> {
        let part_is_good = |part: &str| {
            !part.is_empty()
                && part != "."
                && part != ".."
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:@".contains(&byte))
        };
        if text.len() <= MAX_ID_LEN && text.contains('/') && text.split('/').all(part_is_good) {
            return Ok(Self(text.into()));
        }
        Err(ModelIdError::new(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the first slash.
    pub fn provider(&self) -> &str {
        self.0.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// Whether the id names a dedicated endpoint rather than a model of the catalogue.
    pub fn is_dedicated(&self) -> bool {
        endpoint_part(&self.0).is_some()
    }
}

/// `dedicated/<name>` for a name that was not checked, such as one in a filter.
pub fn dedicated_id(endpoint: &str) -> String {
    format!("{DEDICATED}/{endpoint}")
}

/// The endpoint's name in `dedicated/<name>`, unchecked: for lookups that need no copy. `None` for other ids.
pub fn endpoint_part(model_id: &str) -> Option<&str> {
    model_id.strip_prefix(DEDICATED)?.strip_prefix('/')
}

shown_as_text!(ModelId);

named_enum! {
    /// The kind of calls that a model serves.
    #[derive(serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Modality {
        Chat = "chat",
        Embedding = "embedding",
        Rerank = "rerank",
    }
}

impl Modality {
    /// What models of this modality are for.
    pub const fn purpose(self) -> Capability {
        match self {
            Self::Chat => Capability::Chat,
            Self::Embedding => Capability::Embeddings,
            Self::Rerank => Capability::Rerank,
        }
    }

    /// The context length of a model that states none.
    pub const fn default_context(self) -> u64 {
        match self {
            Self::Chat => 8192,
            Self::Embedding | Self::Rerank => 512,
        }
    }
}

/// One entry of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub id: ModelId,
    pub name: String,
    pub modality: Modality,
    pub context_length: u64,
    /// The price of interactive calls; see [`Self::price_of`].
    pub price: Price,
    /// What 1,000 rerank calls cost beside their tokens; see [`Self::search_price_of`].
    pub per_1k_searches: NanoUsd,
    /// The share of the price that calls pay which leave room to interactive ones.
    pub batch_discount: PriceShare,
    /// The share of a replica that such calls may take.
    pub batch_share: BatchShare,
    /// How long an interactive call waits for room while all replicas are full; zero: not at all.
    pub queue_timeout: Duration,
    pub optimized: bool,
    /// Whether workspaces may reuse each other's cached prefixes at the engines of the serverless model.
    pub share_prefix_cache: bool,
    /// Whether a stream continues at another replica if its own fails.
    pub failover: bool,
    /// Whether its engines are probed for what they can do; `None`: as the configuration of the server says.
    pub probe: Option<bool>,
    pub chat: ChatTraits,
    pub rules: RequestRules,
    pub serving: Serving,
    pub flavors: Vec<Flavor>,
}

impl Model {
    /// A chat model with default settings that nothing serves.
    pub fn plain(id: ModelId) -> Self {
        Self {
            name: id.to_string(),
            id,
            modality: Modality::Chat,
            context_length: Modality::Chat.default_context(),
            price: Price::default(),
            per_1k_searches: NanoUsd::ZERO,
            batch_discount: PriceShare::WHOLE,
            batch_share: BatchShare::default(),
            queue_timeout: Duration::ZERO,
            optimized: false,
            share_prefix_cache: false,
            failover: false,
            probe: None,
            chat: ChatTraits::default(),
            rules: RequestRules::default(),
            serving: Serving::Upstreams(Vec::new()),
            flavors: Vec::new(),
        }
    }

    /// The price of a call of this class.
    pub fn price_of(&self, class: CallClass) -> Price {
        if class.yields() { self.price.at(self.batch_discount) } else { self.price }
    }

    /// What a search of this class costs beside its tokens.
    pub fn search_price_of(&self, class: CallClass) -> NanoUsd {
        let per_1k = self.per_1k_searches;
        if class.yields() { self.batch_discount.of(per_1k).of_one_search() } else { per_1k.of_one_search() }
    }

    /// The configured switch, else the usual one if all engines have the same.
    pub fn thinking_switch(&self) -> ThinkingSwitch {
        self.chat.thinking.unwrap_or_else(|| match &self.serving {
            Serving::Upstreams(upstreams) => {
                let mut usual = upstreams.iter().map(|upstream| usual_switch(upstream.engine));
                let first = usual.next().unwrap_or_default();
                if usual.all(|other| other == first) { first } else { ThinkingSwitch::None }
            }
            Serving::Engine(pool) => usual_switch(pool.flavor.as_ref().and_then(|flavor| flavor.engine())),
        })
    }
}

/// The switch of most chat templates, where the engine passes it on to them.
pub const fn usual_switch(engine: Option<EngineKind>) -> ThinkingSwitch {
    match engine {
        Some(EngineKind::Vllm | EngineKind::Sglang | EngineKind::LlamaServer) => ThinkingSwitch::EnableThinking,
        Some(EngineKind::ForebayEngine) | None => ThinkingSwitch::None,
    }
}

/// How a serverless model is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serving {
    /// Model servers run outside of Forebay.
    Upstreams(Vec<Upstream>),
    /// A pool of engines that Forebay runs itself.
    Engine(EnginePool),
}

/// A model server outside of Forebay.
#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Scheme, host, port and path prefix, for instance `http://127.0.0.1:9001/v1`.
    pub url: String,
    /// The model's name at the upstream.
    pub model: String,
    /// The API key for the upstream, read from the environment.
    pub api_key: Option<String>,
    pub max_in_flight: Option<u32>,
    /// The engine's health route, from the root of the host; default `/health`.
    pub health_path: String,
    /// Whether the engine supports `stream_options.continuous_usage_stats`; if so, it is requested for every stream.
    pub continuous_usage: bool,
    /// The engine that it runs, if known: what only this kind understands is sent to it.
    pub engine: Option<EngineKind>,
    /// How the engine compares texts.
    pub rerank_api: RerankApi,
    /// The name of a chat's token limit there.
    pub limit_name: LimitName,
    /// Whether the engine, vLLM, runs with `--scheduling-policy priority`: the class of a call is sent as its `priority`.
    pub priority_scheduling: bool,
    /// The APIs besides chat that the engine speaks itself. Their calls are passed through instead of translated.
    pub native: Vec<NativeApi>,
}

named_enum! {
    /// An API that compares a text with others.
    #[derive(Default)]
    pub enum RerankApi {
        /// The API of vLLM, which is Cohere's.
        #[default]
        Vllm = "vllm",
        /// The API of Hugging Face's Text Embeddings Inference, which Forebay does not start.
        Tei = "tei",
    }
}

named_enum! {
    /// The member of a chat that limits the tokens of its completion.
    #[derive(Default)]
    pub enum LimitName {
        /// Every engine knows it.
        #[default]
        MaxTokens = "max_tokens",
        /// The newer models of OpenAI reject the other one.
        MaxCompletionTokens = "max_completion_tokens",
    }
}

named_enum! {
    /// An API that Forebay translates to chat, unless an engine speaks it itself.
    pub enum NativeApi {
        /// Anthropic's Messages.
        Messages = "messages",
        /// OpenAI's Responses.
        Responses = "responses",
    }
}

impl NativeApi {
    /// Whether the engine has a `cache_salt` in this API, which keeps the prefix caches of workspaces apart.
    pub const fn has_salt(self, engine: EngineKind) -> bool {
        matches!((self, engine), (Self::Responses, EngineKind::Vllm))
    }
}

impl Upstream {
    /// An upstream with default settings.
    pub fn plain(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            api_key: None,
            max_in_flight: None,
            health_path: "/health".into(),
            continuous_usage: false,
            engine: None,
            rerank_api: RerankApi::default(),
            limit_name: LimitName::default(),
            priority_scheduling: false,
            native: Vec::new(),
        }
    }
}

/// Omits the API key.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("url", &self.url).field("model", &self.model).finish_non_exhaustive()
    }
}

/// The engines of a serverless model that Forebay runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnginePool {
    pub weights: String,
    pub replicas: u32,
    /// Calls that one engine computes at once; `None` for the engine's default.
    pub parallel: Option<u32>,
    /// Further arguments of child processes; replicas of a flavor have those of the flavor.
    pub args: Vec<String>,
    /// The hardware of its replicas, if a driver runs them; `None` for child processes of the gateway.
    pub flavor: Option<Box<Flavor>>,
}

named_enum! {
    /// The driver that runs replicas.
    #[derive(Default)]
    pub enum DriverKind {
        /// Processes on the gateway's own machine.
        #[default]
        Process = "process",
        /// Pods of a cluster.
        Kubernetes = "kubernetes",
    }
}

/// A hardware shape that a dedicated endpoint of the model may run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flavor {
    pub name: String,
    pub gpu_type: GpuType,
    pub gpu_count: u32,
    pub precision: String,
    pub driver: DriverKind,
    pub launch: Launch,
    /// The options of a known engine; a custom command has its own.
    pub options: EngineOptions,
    /// The container image; `None` for the default image of the engine.
    pub image: Option<String>,
    pub price_per_gpu_hour: NanoUsd,
    pub weights: Option<String>,
    /// Target number of concurrent calls per replica.
    pub default_target: Option<u32>,
    /// Prompt tokens in flight per replica above which an endpoint scales up; 0 to ignore them.
    pub prefill_target: Option<u64>,
    pub max_len: Option<u64>,
}

impl Flavor {
    /// One GPU for an engine with default settings.
    pub fn plain(name: impl Into<String>, gpu_type: GpuType, engine: EngineKind) -> Self {
        Self {
            name: name.into(),
            gpu_type,
            gpu_count: 1,
            precision: "auto".into(),
            driver: DriverKind::Process,
            launch: Launch::Engine(engine),
            options: EngineOptions::default(),
            image: None,
            price_per_gpu_hour: NanoUsd::ZERO,
            weights: None,
            default_target: None,
            prefill_target: None,
            max_len: None,
        }
    }

    /// `None` for a custom command.
    pub fn engine(&self) -> Option<EngineKind> {
        match &self.launch {
            Launch::Engine(engine) => Some(*engine),
            Launch::Argv(_) => None,
        }
    }
}

/// How the engine of a flavor is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    Engine(EngineKind),
    Argv(Vec<String>),
}

/// What an operator adds to the command of a known engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct EngineOptions {
    /// The engine's name for the syntax in which the model writes tool calls.
    pub tool_parser: Option<String>,
    /// The engine's name for the syntax in which the model writes its reasoning.
    pub reasoning_parser: Option<String>,
    /// A file with a chat template that replaces the model's own.
    pub chat_template: Option<String>,
    /// Further arguments, appended to the command.
    pub args: Vec<String>,
}

named_enum! {
    /// An engine that Forebay knows how to start.
    pub enum EngineKind {
        ForebayEngine = "forebay-engine",
        Vllm = "vllm",
        Sglang = "sglang",
        LlamaServer = "llama-server",
    }
}

impl EngineKind {
    /// Whether an engine with these arguments serves waiting calls by their `priority`: a vLLM may.
    pub fn schedules_by_priority(self, args: &[String]) -> bool {
        let is_set = args.iter().any(|arg| arg == "--scheduling-policy=priority")
            || args.windows(2).any(|pair| pair[0] == "--scheduling-policy" && pair[1] == "priority");
        is_set && self == Self::Vllm
    }

    /// What the engine calls reasoning that is sent back. vLLM has called it `reasoning` since 0.12 and treats the other name
    /// as deprecated; others, and unknown ones, read `reasoning_content`.
    pub const fn reasoning_name(engine: Option<Self>) -> &'static str {
        match engine {
            Some(Self::Vllm) => "reasoning",
            Some(Self::Sglang | Self::LlamaServer | Self::ForebayEngine) | None => "reasoning_content",
        }
    }

    /// Whether the engine reports the cached tokens of a stream at its end only, if its options say so.
    pub const fn reports_cached_tokens_last(self) -> bool {
        match self {
            Self::Vllm | Self::Sglang => true,
            Self::ForebayEngine | Self::LlamaServer => false,
        }
    }

    /// Whether the engine reports its KV-cache usage; llama-server no longer does.
    pub const fn reports_kv_cache_usage(self) -> bool {
        match self {
            Self::ForebayEngine | Self::Vllm | Self::Sglang => true,
            Self::LlamaServer => false,
        }
    }
}

/// Timeouts of a call to an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTimeouts {
    /// Until the first byte of the response.
    pub first_byte: Duration,
    /// Between two chunks of the response.
    pub idle: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_ids_have_a_provider_and_a_name() {
        for good in ["acme/tiny-chat", "dedicated/x", "a/b/c", "acme/x:free@1.0"] {
            assert_eq!(ModelId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "tiny", "/tiny", "acme/", "acme//x", "acme/x y", "acme/\n", "acme/..", "acme/é"] {
            assert!(ModelId::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(ModelId::parse("acme/x/y").unwrap().provider(), "acme");
    }

    #[test]
    fn only_a_vllm_with_its_option_schedules_by_priority() {
        for (engine, args, expected) in [
            (EngineKind::Vllm, &["--scheduling-policy", "priority"][..], true),
            (EngineKind::Vllm, &["--dtype=auto", "--scheduling-policy=priority"], true),
            (EngineKind::Vllm, &["--scheduling-policy", "fcfs"], false),
            (EngineKind::Vllm, &[], false),
            (EngineKind::Sglang, &["--scheduling-policy", "priority"], false),
        ] {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            assert_eq!(engine.schedules_by_priority(&args), expected, "{args:?}");
        }
    }

    #[test]
    fn calls_that_leave_room_to_interactive_ones_pay_a_share_of_the_price() {
        let price = |nanos| Price { input_per_1m: NanoUsd::from_nanos(nanos), ..Price::default() };
        let plain = Model::plain(ModelId::parse("a/b").unwrap());
        let (batch_discount, per_1k_searches) = (PriceShare::parse("0.3").unwrap(), NanoUsd::from_nanos(5_000));
        let model = Model { price: price(100), per_1k_searches, batch_discount, ..plain };
        let prices = CallClass::ALL.map(|class| model.price_of(class));
        assert_eq!(prices, [price(100), price(30), price(30)]);
        let searches = CallClass::ALL.map(|class| model.search_price_of(class).nanos());
        assert_eq!(searches, [5, 2, 2], "1.5 is rounded half up");
    }
}
