//! Health probes of an engine, and the readiness that follows from a series of them.

use super::client::EngineResponse;
use super::{Engine, Family};
use domain::model::Modality;
use http::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

/// How often a replica that was ready is probed.
pub const PROBE_PERIOD: Duration = Duration::from_secs(5);
/// The first call may compile kernels.
const FIRST_CALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Characters of a response body that are shown in a probe result.
const SHOWN_BODY_CHARS: usize = 200;

/// Result of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    Healthy,
    Unhealthy(String),
}

impl Engine {
    /// Probes `/health`.
    pub(crate) async fn probe_health(&self) -> ProbeResult {
        match self.get("/health", health_timeout(self.family)).await {
            Ok(response) if response.status == StatusCode::OK => ProbeResult::Healthy,
            // A custom server need not have that route; any response will do.
            Ok(response) if response.status == StatusCode::NOT_FOUND && self.family == Family::Unknown => {
                ProbeResult::Healthy
            }
            Ok(response) => ProbeResult::Unhealthy(describe("/health", &response)),
            Err(error) => ProbeResult::Unhealthy(error),
        }
    }

    /// Probes `/health`, then generates one token or embeds one word.
    pub(crate) async fn probe_serving(&self) -> ProbeResult {
        let health = self.probe_health().await;
        if health != ProbeResult::Healthy {
            return health;
        }
        let (path, body) = self.smallest_call();
        match self.post(path, &body, FIRST_CALL_TIMEOUT).await {
            Ok(response) if response.status == StatusCode::OK => ProbeResult::Healthy,
            Ok(response) => ProbeResult::Unhealthy(describe(path, &response)),
            Err(error) => ProbeResult::Unhealthy(error),
        }
    }

    /// Route and body of a call that generates one token or embeds one word.
    fn smallest_call(&self) -> (&'static str, Value) {
        match self.modality {
            Modality::Chat => {
                let messages = json!([{"role": "user", "content": "Hi"}]);
                ("/v1/chat/completions", json!({"model": self.model, "messages": messages, "max_tokens": 1}))
            }
            Modality::Embedding => ("/v1/embeddings", json!({"model": self.model, "input": "Hi"})),
            Modality::Rerank => ("/v1/rerank", json!({"model": self.model, "query": "Hi", "documents": ["Hi"]})),
        }
    }

    /// Whether an engine whose key is left out here serves calls under `/v1`; `None` if it does not respond.
    pub(crate) async fn serves_api(&self) -> Option<bool> {
        self.reads_calls(self.smallest_call().0).await
    }

    /// The same for any calls. vLLM checks keys under `/v1` only, so it gets a second call, at a route for chat that it has
    /// elsewhere.
    pub(crate) async fn serves_calls(&self) -> Option<bool> {
        let is_open = self.serves_api().await?;
        if is_open || self.family != Family::Vllm {
            return Some(is_open);
        }
        self.reads_calls("/invocations").await
    }

    /// Engines check keys before bodies, so one that rejects an empty body checks no keys.
    async fn reads_calls(&self, path: &str) -> Option<bool> {
        let response = self.post(path, &json!({}), health_timeout(self.family)).await.ok()?;
        Some(has_read_body(response.status))
    }
}

/// SGLang generates a token for `/health` and takes up to 20 s to report that it cannot.
const fn health_timeout(family: Family) -> Duration {
    match family {
        Family::Sglang | Family::Unknown => Duration::from_secs(25),
        Family::ForebayEngine | Family::Vllm | Family::LlamaServer => Duration::from_secs(10),
    }
}

/// Any other status may be that of a proxy before the engine.
fn has_read_body(status: StatusCode) -> bool {
    status.is_success() || matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
}

fn describe(path: &str, response: &EngineResponse) -> String {
    let body: String = String::from_utf8_lossy(&response.body).chars().take(SHOWN_BODY_CHARS).collect();
    format!("{path} returned {}: {}", response.status.as_u16(), body.trim())
}

/// Number of failed probes in a row of a replica that was ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProbeStreak(u32);

/// What a series of probes means for a replica that was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// Gets no calls for now.
    NotReady,
    /// Does not recover by itself.
    Restart,
}

impl ProbeStreak {
    const NOT_READY: u32 = 3;
    const RESTART: u32 = 12;

    /// Counts one more probe; called every [`PROBE_PERIOD`].
    pub fn record(&mut self, probe: &ProbeResult) -> Readiness {
        self.0 = match probe {
            ProbeResult::Healthy => 0,
            ProbeResult::Unhealthy(_) => self.0.saturating_add(1),
        };
        match self.0 {
            0..Self::NOT_READY => Readiness::Ready,
            Self::NOT_READY..Self::RESTART => Readiness::NotReady,
            Self::RESTART.. => Readiness::Restart,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_engine_that_reads_bodies_without_a_key_is_unprotected() {
        for (status, expected) in [
            (200, true),
            (400, true),
            (422, true),
            (401, false),
            (403, false),
            (404, false),
            (502, false),
            (503, false),
        ] {
            assert_eq!(has_read_body(StatusCode::from_u16(status).unwrap()), expected, "{status}");
        }
    }

    #[test]
    fn three_failures_stop_the_calls_and_twelve_restart_the_replica() {
        let mut streak = ProbeStreak::default();
        let bad = ProbeResult::Unhealthy(String::new());
        let mut results = (1..=12).map(|_| streak.record(&bad)).collect::<Vec<_>>();
        assert_eq!(results.pop(), Some(Readiness::Restart));
        assert_eq!(results[..2], [Readiness::Ready; 2]);
        assert_eq!(results[2..], [Readiness::NotReady; 9]);
        assert_eq!(streak.record(&ProbeResult::Healthy), Readiness::Ready);
        assert_eq!(streak.record(&bad), Readiness::Ready);
    }
}
