//! Figures that an engine reports about itself.

use super::token_counters::TokenCounters;

/// Load of an engine. A figure that the engine does not report is `None`, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineLoad {
    /// From 0 to 1.
    pub kv_cache_usage: Option<f64>,
    pub running: Option<f64>,
    pub waiting: Option<f64>,
}

impl EngineLoad {
    /// Calls running or queued in the engine, if it reports both.
    pub fn calls(&self) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of calls, never negative")]
        self.running.zip(self.waiting).map(|(running, waiting)| (running + waiting).ceil() as u64)
    }
}

/// All figures of one metrics response.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineMetrics {
    pub load: EngineLoad,
    /// `None` if the engine does not count tokens.
    pub tokens: Option<TokenCounters>,
}

/// Why the metrics of an engine could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("no such replica")]
    UnknownReplica,
    #[error("{0}")]
    Unreadable(String),
}
