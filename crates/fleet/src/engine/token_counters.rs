//! Token counters of an engine: prompt and completion tokens since its start.

use super::Family;
use super::metric_names::MetricNames;
use super::prometheus::Sample;
use crate::backend::Backend;
use crate::health;
use outbound::Connector;

/// Counters that start at 0 with the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCounters {
    pub prompt: u64,
    pub completion: u64,
    /// Whether `prompt` includes tokens found in a cache.
    pub counts_cached: bool,
}

/// The counters of a model in an engine's metrics; `None` if the engine does not report them.
pub fn read(family: Family, model: &str, text: &str) -> Option<TokenCounters> {
    MetricNames::candidates(family).find_map(|names| {
        let prompt = sum(names, names.prompt_tokens, model, text)?;
        let completion = sum(names, names.completion_tokens, model, text)?;
        Some(TokenCounters { prompt, completion, counts_cached: names.counts_cached })
    })
}

/// The sum over schedulers and kinds of responses. If the engine reports several models, only `model` counts.
fn sum(names: &MetricNames, name: &str, model: &str, text: &str) -> Option<u64> {
    let found: Vec<Sample<'_>> = names.samples(name, text).collect();
    let is_ours = |sample: &&Sample<'_>| sample.label("model_name") == Some(model);
    let names_model = found.iter().any(|sample| is_ours(&sample));
    let counted = found.iter().filter(|sample| !names_model || is_ours(sample)).map(|sample| sample.value);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of tokens, never negative")]
    let total = counted.sum::<f64>().round() as u64;
    (!found.is_empty()).then_some(total)
}

/// What a model server returned for its metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchedCounters {
    Counters(TokenCounters),
    /// It responds without counters.
    Silent,
    /// It does not respond; it may be loading its model.
    Unreachable,
}

/// Reads the counters of a model server in a pool.
pub async fn fetch(backend: &Backend, family: Family, connector: &Connector) -> FetchedCounters {
    match health::get(backend, "/metrics", connector).await {
        Ok(text) => match read(family, &backend.upstream.model, &text.unwrap_or_default()) {
            Some(counters) => FetchedCounters::Counters(counters),
            None => FetchedCounters::Silent,
        },
        Err(_) => FetchedCounters::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(prompt: u64, completion: u64, counts_cached: bool) -> TokenCounters {
        TokenCounters { prompt, completion, counts_cached }
    }

    #[test]
    fn each_engine_has_its_own_metric_names() {
        let forebay = "# TYPE forebay:prompt_tokens counter\nforebay:prompt_tokens_total 120\n\
            forebay:prompt_tokens_cached_total 20\nforebay:generation_tokens_total 30\n# EOF\n";
        assert_eq!(read(Family::ForebayEngine, "m", forebay), Some(counters(120, 30, true)));
        let vllm = "vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 100.0\n\
            vllm:prompt_tokens_total{engine=\"1\",model_name=\"m\"} 11.0\n\
            vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 1.2e+02\n\
            vllm:request_prompt_tokens_sum{engine=\"0\",model_name=\"m\"} 9.0\n";
        assert_eq!(read(Family::Vllm, "m", vllm), Some(counters(111, 120, true)));
        let sglang = "sglang:prompt_tokens_total{model_name=\"m\",is_streaming=\"true\"} 5\n\
            sglang:prompt_tokens_total{model_name=\"m\",is_streaming=\"false\"} 6\nsglang:generation_tokens_total 7\n";
        assert_eq!(read(Family::Sglang, "m", sglang), Some(counters(11, 7, true)));
        let llama = "llamacpp:prompt_tokens_total 8\nllamacpp:tokens_predicted_total 9\n";
        assert_eq!(read(Family::LlamaServer, "m", llama), Some(counters(8, 9, false)));
        for text in [forebay, vllm, llama] {
            assert!(read(Family::Unknown, "m", text).is_some());
        }
    }

    #[test]
    fn other_models_of_the_same_engine_do_not_count() {
        let text = "vllm:prompt_tokens_total{model_name=\"one\"} 1\nvllm:prompt_tokens_total{model_name=\"two\"} 20\n\
            vllm:generation_tokens_total{model_name=\"one\"} 300\nvllm:generation_tokens_total{model_name=\"two\"} 4000\n";
        assert_eq!(read(Family::Vllm, "two", text), Some(counters(20, 4_000, true)));
        assert_eq!(read(Family::Vllm, "renamed", text), Some(counters(21, 4_300, true)));
    }

    #[test]
    fn missing_counters_are_none_and_not_zero() {
        for text in ["", "<html>", "vllm:prompt_tokens_total 5\n", "vllm:generation_tokens_total NaN\n"] {
            assert_eq!(read(Family::Vllm, "m", text), None, "{text}");
        }
    }
}
