//! Which engine a replica runs, as far as that is known.

use domain::model::{EngineKind, Launch};

/// Whose ways an engine has: its metrics, and how patient a probe must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    ForebayEngine,
    Vllm,
    Sglang,
    LlamaServer,
    /// Started by a command of the operator's own.
    Unknown,
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

    const ALL: [Self; 5] = [Self::ForebayEngine, Self::Vllm, Self::Sglang, Self::LlamaServer, Self::Unknown];

    pub const fn as_str(self) -> &'static str {
        match self.kind() {
            Some(kind) => kind.as_str(),
            None => "unknown",
        }
    }

    const fn kind(self) -> Option<EngineKind> {
        match self {
            Self::ForebayEngine => Some(EngineKind::ForebayEngine),
            Self::Vllm => Some(EngineKind::Vllm),
            Self::Sglang => Some(EngineKind::Sglang),
            Self::LlamaServer => Some(EngineKind::LlamaServer),
            Self::Unknown => None,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.as_str() == text)
    }

    /// Whose words to look for in what it says: those of any engine, where it is not known.
    pub(crate) const fn candidates(self) -> &'static [Self] {
        match self {
            Self::ForebayEngine => &[Self::ForebayEngine],
            Self::Vllm => &[Self::Vllm],
            Self::Sglang => &[Self::Sglang],
            Self::LlamaServer => &[Self::LlamaServer],
            Self::Unknown => &[Self::ForebayEngine, Self::Vllm, Self::Sglang, Self::LlamaServer],
        }
    }

    /// Whether it can tell how full its KV cache is; llama-server cannot any more, of an unknown one we cannot say.
    pub const fn reports_kv_cache_usage(self) -> Option<bool> {
        match self {
            Self::ForebayEngine | Self::Vllm | Self::Sglang => Some(true),
            Self::LlamaServer => Some(false),
            Self::Unknown => None,
        }
    }
}
