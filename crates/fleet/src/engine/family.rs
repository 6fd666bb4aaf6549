//! The kind of engine that a replica runs, as far as it is known.

use domain::model::{EngineKind, Launch};

/// Determines metric names, probe timeouts and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    ForebayEngine,
    Vllm,
    Sglang,
    LlamaServer,
    /// Started by a custom command of the operator.
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
