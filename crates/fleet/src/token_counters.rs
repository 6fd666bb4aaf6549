//! How many tokens an engine says it has taken in and made since its start. Names differ by engine.

use crate::connect::Connector;
use crate::drivers::Family;
use crate::drivers::process::metrics::Sample;
use crate::health;
use crate::replica::Replica;

/// Counters that start at 0 with the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCounters {
    pub prompt: u64,
    pub completion: u64,
    /// Whether prompt tokens that were found in a cache are among them.
    pub counts_cached: bool,
}

struct Names {
    prefix: &'static str,
    prompt: &'static str,
    completion: &'static str,
    counts_cached: bool,
}

/// The counters of a model in the text of an engine; nothing where it does not tell them.
pub fn read(family: Family, model: &str, text: &str) -> Option<TokenCounters> {
    family.candidates().iter().find_map(|family| {
        let names = names(*family);
        let prompt = sum(names.prefix, names.prompt, model, text)?;
        let completion = sum(names.prefix, names.completion, model, text)?;
        Some(TokenCounters { prompt, completion, counts_cached: names.counts_cached })
    })
}

/// Of an engine that is known.
const fn names(family: Family) -> Names {
    let usual = Names {
        prefix: "forebay",
        prompt: "prompt_tokens_total",
        completion: "generation_tokens_total",
        counts_cached: true,
    };
    match family {
        Family::ForebayEngine | Family::Unknown => usual,
        Family::Vllm => Names { prefix: "vllm", ..usual },
        Family::Sglang => Names { prefix: "sglang", ..usual },
        // It counts what it processed, and that is not what its cache had.
        Family::LlamaServer => {
            Names { prefix: "llamacpp", completion: "tokens_predicted_total", counts_cached: false, ..usual }
        }
    }
}

/// Schedulers and kinds of answers are added up. Where the engine tells models apart, only this one counts.
fn sum(prefix: &str, name: &str, model: &str, text: &str) -> Option<u64> {
    let found: Vec<Sample<'_>> = text
        .lines()
        .filter_map(Sample::parse)
        .filter(|sample| {
            let bare = sample.name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix([':', '_']));
            bare == Some(name)
        })
        .collect();
    let is_ours = |sample: &&Sample<'_>| sample.label("model_name") == Some(model);
    let tells_models = found.iter().any(|sample| is_ours(&sample));
    let counted = found.iter().filter(|sample| !tells_models || is_ours(sample)).map(|sample| sample.value);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of tokens, never negative")]
    let total = counted.sum::<f64>().round() as u64;
    (!found.is_empty()).then_some(total)
}

/// Asks a model server of a pool. What it says besides its counters is not looked at.
pub async fn ask(replica: &Replica, family: Family, connector: &Connector) -> Option<TokenCounters> {
    let text = health::get(replica, "/metrics", connector).await?;
    read(family, &replica.upstream.model, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(prompt: u64, completion: u64, counts_cached: bool) -> TokenCounters {
        TokenCounters { prompt, completion, counts_cached }
    }

    #[test]
    fn every_engine_is_read_by_its_own_names() {
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
    fn what_is_not_told_is_not_zero() {
        for text in ["", "<html>", "vllm:prompt_tokens_total 5\n", "vllm:generation_tokens_total NaN\n"] {
            assert_eq!(read(Family::Vllm, "m", text), None, "{text}");
        }
    }
}
