//! What an engine says about itself.

use crate::token_counters::TokenCounters;

/// How busy an engine says it is. What it does not say is absent, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineLoad {
    /// From 0 to 1.
    pub kv_cache_usage: Option<f64>,
    pub running: Option<f64>,
    pub waiting: Option<f64>,
}

impl EngineLoad {
    /// Calls that it works on or has in its queue, if it says both.
    pub fn calls(&self) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of calls, never negative")]
        self.running.zip(self.waiting).map(|(running, waiting)| (running + waiting).ceil() as u64)
    }
}

/// What one look at an engine's metrics tells.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineFigures {
    pub load: EngineLoad,
    /// Absent where the engine does not count tokens.
    pub tokens: Option<TokenCounters>,
}

/// Why an engine's load is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLoad {
    #[error("no such replica")]
    UnknownReplica,
    #[error("{0}")]
    Unreadable(String),
}
