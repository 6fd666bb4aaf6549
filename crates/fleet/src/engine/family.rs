//! The kind of engine that a replica runs, as far as it is known.

use domain::model::{EngineKind, Launch};
use domain::named_enum;

named_enum! {
    /// Determines metric names, probe timeouts and the like.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Family {
        ForebayEngine = "forebay-engine",
        Vllm = "vllm",
        Sglang = "sglang",
        LlamaServer = "llama-server",
        /// Started by a custom command of the operator.
        Unknown = "unknown",
    }
}

impl Family {
    pub const fn of(launch: &Launch) -> Self {
        match launch {
            Launch::Engine(EngineKind::ForebayEngine) => Self::ForebayEngine,
            Launch::Engine(EngineKind::Vllm) => Self::Vllm,
            Launch::Engine(EngineKind::Sglang) => Self::Sglang,
            Launch::Engine(EngineKind::LlamaServer) => Self::LlamaServer,
            Launch::Argv(_) => Self::Unknown,
        }
    }

    /// The engine, unless it is started by a command of the operator.
    pub const fn engine(self) -> Option<EngineKind> {
        match self {
            Self::ForebayEngine => Some(EngineKind::ForebayEngine),
            Self::Vllm => Some(EngineKind::Vllm),
            Self::Sglang => Some(EngineKind::Sglang),
            Self::LlamaServer => Some(EngineKind::LlamaServer),
            Self::Unknown => None,
        }
    }

    /// The environment variable with the key that the engine checks. SGLang knows only an option, and a command of the
    /// operator may do as it likes.
    pub(crate) const fn key_variable(self) -> &'static str {
        match self {
            Self::ForebayEngine => "FOREBAY_ENGINE_API_KEY",
            Self::Vllm => "VLLM_API_KEY",
            Self::LlamaServer => "LLAMA_API_KEY",
            Self::Sglang | Self::Unknown => "FOREBAY_REPLICA_KEY",
        }
    }

    /// Families whose metric names to try: all known ones for an unknown engine.
    pub(super) const fn candidates(self) -> &'static [Self] {
        match self {
            Self::ForebayEngine => &[Self::ForebayEngine],
            Self::Vllm => &[Self::Vllm],
            Self::Sglang => &[Self::Sglang],
            Self::LlamaServer => &[Self::LlamaServer],
            Self::Unknown => &[Self::ForebayEngine, Self::Vllm, Self::Sglang, Self::LlamaServer],
        }
    }
}
