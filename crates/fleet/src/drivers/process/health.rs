//! Whether an engine is ready, and how it stands after some probes.

use super::ask::{self, Answer};
use crate::drivers::{Family, Probe};
use domain::model::Modality;
use http::StatusCode;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;

/// The first call may compile kernels.
const FIRST_CALL: Duration = Duration::from_secs(120);
/// Of an answer that is told.
const SHOWN: usize = 200;

/// An engine that can be asked.
pub(in crate::drivers) struct Engine {
    pub(in crate::drivers) address: SocketAddr,
    pub(in crate::drivers) family: Family,
    pub(in crate::drivers) model: String,
    pub(in crate::drivers) modality: Modality,
}

/// It says that it is well.
pub(in crate::drivers) async fn says_well(engine: &Engine) -> Probe {
    match ask::get(engine.address, "/health", patience(engine.family)).await {
        Ok(answer) if answer.status == StatusCode::OK => Probe::Well,
        // A server of the operator's own need not have that route; that it answers must do.
        Ok(answer) if answer.status == StatusCode::NOT_FOUND && engine.family == Family::Unknown => Probe::Well,
        Ok(answer) => Probe::Unwell(told("/health", &answer)),
        Err(why) => Probe::Unwell(why),
    }
}

/// It says that it is well, and generates one token, or embeds one word.
pub(in crate::drivers) async fn serves(engine: &Engine) -> Probe {
    let said = says_well(engine).await;
    if said != Probe::Well {
        return said;
    }
    let (path, body) = match engine.modality {
        Modality::Chat => {
            let messages = json!([{"role": "user", "content": "Hi"}]);
            ("/v1/chat/completions", json!({"model": engine.model, "messages": messages, "max_tokens": 1}))
        }
        Modality::Embedding => ("/v1/embeddings", json!({"model": engine.model, "input": "Hi"})),
    };
    match ask::post(engine.address, path, &body, FIRST_CALL).await {
        Ok(answer) if answer.status == StatusCode::OK => Probe::Well,
        Ok(answer) => Probe::Unwell(told(path, &answer)),
        Err(why) => Probe::Unwell(why),
    }
}

/// SGLang generates a token for its answer and takes up to 20 s to give up on itself.
const fn patience(family: Family) -> Duration {
    match family {
        Family::Sglang | Family::Unknown => Duration::from_secs(25),
        Family::ForebayEngine | Family::Vllm | Family::LlamaServer => Duration::from_secs(10),
    }
}

fn told(path: &str, answer: &Answer) -> String {
    let body: String = String::from_utf8_lossy(&answer.body).chars().take(SHOWN).collect();
    format!("{path} answers {}: {}", answer.status.as_u16(), body.trim())
}

/// How often a replica that was ready has failed since it last was well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Streak(u32);

/// What the probes of a replica that was ready come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Ready,
    /// It gets no calls for now.
    NotReady,
    /// It does not come back by itself.
    Restart,
}

impl Streak {
    const NOT_READY: u32 = 3;
    const RESTART: u32 = 12;

    /// Counts one more probe; to be called every [`super::PROBE_PERIOD`].
    pub fn note(&mut self, probe: &Probe) -> Verdict {
        self.0 = match probe {
            Probe::Well => 0,
            Probe::Unwell(_) => self.0.saturating_add(1),
        };
        match self.0 {
            0..Self::NOT_READY => Verdict::Ready,
            Self::NOT_READY..Self::RESTART => Verdict::NotReady,
            Self::RESTART.. => Verdict::Restart,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_take_the_calls_away_and_twelve_the_replica() {
        let mut streak = Streak::default();
        let bad = Probe::Unwell(String::new());
        let mut verdicts = (1..=12).map(|_| streak.note(&bad)).collect::<Vec<_>>();
        assert_eq!(verdicts.pop(), Some(Verdict::Restart));
        assert_eq!(verdicts[..2], [Verdict::Ready; 2]);
        assert_eq!(verdicts[2..], [Verdict::NotReady; 9]);
        assert_eq!(streak.note(&Probe::Well), Verdict::Ready);
        assert_eq!(streak.note(&bad), Verdict::Ready);
    }
}
