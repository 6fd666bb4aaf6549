//! What engines say in Prometheus text about their load. Names differ by engine and by version.

use super::ask;
use super::health::Engine;
use crate::drivers::{EngineFigures, EngineLoad, Family, NoLoad};
use crate::token_counters;
use std::collections::BTreeMap;
use std::time::Duration;

/// The names of one figure, newest first, without the engine's prefix; the first one that is there counts.
struct Names {
    prefix: &'static str,
    kv_cache_usage: &'static [&'static str],
    running: &'static str,
    waiting: &'static str,
    /// The label that tells the schedulers of one engine apart.
    scheduler: &'static str,
}

const FOREBAY_ENGINE: Names = Names {
    prefix: "forebay",
    kv_cache_usage: &["kv_cache_usage_ratio"],
    running: "num_requests_running",
    waiting: "num_requests_waiting",
    scheduler: "engine",
};
const VLLM: Names = Names {
    prefix: "vllm",
    // The second was the only one up to v0.9.1, and is gone since v0.12.
    kv_cache_usage: &["kv_cache_usage_perc", "gpu_cache_usage_perc"],
    running: "num_requests_running",
    waiting: "num_requests_waiting",
    scheduler: "engine",
};
const SGLANG: Names = Names {
    prefix: "sglang",
    kv_cache_usage: &["token_usage"],
    running: "num_running_reqs",
    waiting: "num_queue_reqs",
    scheduler: "dp_rank",
};
const LLAMA_SERVER: Names = Names {
    prefix: "llamacpp",
    // Versions before May 2025 have it.
    kv_cache_usage: &["kv_cache_usage_ratio"],
    running: "requests_processing",
    waiting: "requests_deferred",
    scheduler: "engine",
};

const PATIENCE: Duration = Duration::from_secs(5);

/// What an engine says of itself, read at once.
pub(in crate::drivers) async fn ask(engine: &Engine) -> Result<EngineFigures, NoLoad> {
    let answer = ask::get(engine.address, "/metrics", PATIENCE).await.map_err(NoLoad::Unreadable)?;
    if !answer.status.is_success() {
        return Err(NoLoad::Unreadable(format!("/metrics answers {}", answer.status.as_u16())));
    }
    let text = String::from_utf8_lossy(&answer.body);
    let tokens = token_counters::read(engine.family, &engine.model, &text);
    Ok(EngineFigures { load: read(engine.family, &text), tokens })
}

/// The load that the text tells. Several schedulers in one engine share its cache and add their calls.
fn read(family: Family, text: &str) -> EngineLoad {
    let names = match family {
        Family::ForebayEngine => &[FOREBAY_ENGINE][..],
        Family::Vllm => &[VLLM],
        Family::Sglang => &[SGLANG],
        Family::LlamaServer => &[LLAMA_SERVER],
        Family::Unknown => &[FOREBAY_ENGINE, VLLM, SGLANG, LLAMA_SERVER],
    };
    let loads = names.iter().map(|names| read_as(names, text));
    loads.into_iter().find(|load| *load != EngineLoad::default()).unwrap_or_default()
}

fn read_as(names: &Names, text: &str) -> EngineLoad {
    let values = |name: &str| by_scheduler(names, name, text);
    let sum = |name| Some(values(name)).filter(|values| !values.is_empty()).map(|values| values.iter().sum());
    let mean = |name: &&str| {
        let values = values(name);
        #[expect(clippy::cast_precision_loss, reason = "a handful of schedulers")]
        let count = values.len() as f64;
        (!values.is_empty()).then(|| (values.iter().sum::<f64>() / count).clamp(0.0, 1.0))
    };
    EngineLoad {
        kv_cache_usage: names.kv_cache_usage.iter().find_map(mean),
        running: sum(names.running),
        waiting: sum(names.waiting),
    }
}

/// One value for each scheduler. Ranks that repeat their scheduler's figures count once: the highest.
fn by_scheduler(names: &Names, name: &str, text: &str) -> Vec<f64> {
    let mut found: BTreeMap<&str, f64> = BTreeMap::new();
    for sample in text.lines().filter_map(Sample::parse) {
        // Gateways in between write the colon as an underscore.
        let bare = sample.name.strip_prefix(names.prefix).and_then(|rest| rest.strip_prefix([':', '_']));
        if bare == Some(name) {
            let highest = found.entry(sample.label(names.scheduler).unwrap_or_default()).or_insert(sample.value);
            *highest = highest.max(sample.value);
        }
    }
    found.into_values().collect()
}

/// `name{label="value",…} 1.5 [timestamp]`
pub(crate) struct Sample<'a> {
    pub(crate) name: &'a str,
    labels: &'a str,
    pub(crate) value: f64,
}

impl<'a> Sample<'a> {
    /// Nothing for comments, and for figures that are none: NaN is no load.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let name_end = line.find(|letter: char| letter == '{' || letter.is_whitespace())?;
        let (name, behind) = line.split_at(name_end);
        let (labels, value) = match behind.strip_prefix('{') {
            Some(inside) => inside.split_at(closing_brace(inside)?),
            None => ("", behind),
        };
        let value: f64 = value.trim_start_matches('}').split_whitespace().next()?.parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some(Self { name, labels, value })
    }

    pub(crate) fn label(&self, wanted: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        while let Some((name, behind)) = rest.split_once("=\"") {
            let end = closing_quote(behind)?;
            if name.trim_start_matches([',', ' ']) == wanted {
                return Some(&behind[..end]);
            }
            rest = &behind[end + 1..];
        }
        None
    }
}

/// Where the labels end: the first brace that is not inside a value.
fn closing_brace(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let next = at + text[at..].find(['"', '}'])?;
        if text[next..].starts_with('}') {
            return Some(next);
        }
        at = next + 1 + closing_quote(&text[next + 1..])? + 1;
    }
}

/// Where a value ends: the first quotation mark that is not escaped.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(
        kv_cache_usage: impl Into<Option<f64>>,
        running: impl Into<Option<f64>>,
        waiting: impl Into<Option<f64>>,
    ) -> EngineLoad {
        EngineLoad { kv_cache_usage: kv_cache_usage.into(), running: running.into(), waiting: waiting.into() }
    }

    #[test]
    fn vllm_is_read_by_its_new_and_its_old_name() {
        let new = "# HELP vllm:num_requests_running Number of requests in model execution batches.\n\
            # TYPE vllm:num_requests_running gauge\n\
            vllm:num_requests_running{engine=\"0\",model_name=\"dedicated/chat\"} 3.0\n\
            vllm:num_requests_waiting{engine=\"0\",model_name=\"dedicated/chat\"} 2.0\n\
            vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"dedicated/chat\",reason=\"capacity\"} 9.0\n\
            vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"dedicated/chat\"} 0.25\n";
        assert_eq!(read(Family::Vllm, new), load(0.25, 3.0, 2.0));
        let old = "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\nvllm:num_requests_running{model_name=\"m\"} 1.0\n\
            vllm:num_requests_waiting{model_name=\"m\"} 0.0\n";
        assert_eq!(read(Family::Vllm, old), load(0.5, 1.0, 0.0));
        let both = "vllm:gpu_cache_usage_perc 0.9\nvllm:kv_cache_usage_perc 0.1\n";
        assert_eq!(read(Family::Vllm, both), load(0.1, None, None));
    }

    #[test]
    fn schedulers_of_one_engine_share_the_cache_and_add_their_calls() {
        let text = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n\
            vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n\
            vllm:num_requests_waiting{engine=\"0\"} 0\nvllm:num_requests_waiting{engine=\"1\"} 1\n";
        assert_eq!(read(Family::Vllm, text), load(0.5, 7.0, 1.0));
    }

    #[test]
    fn sglang_ranks_that_repeat_a_figure_count_once() {
        let text = "sglang:token_usage{model_name=\"m\",tp_rank=\"0\",dp_rank=\"0\"} 0.5\n\
            sglang:token_usage{model_name=\"m\",tp_rank=\"1\",dp_rank=\"0\"} 0.5\n\
            sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\",dp_rank=\"0\"} 4.0\n\
            sglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\",dp_rank=\"0\"} 4.0\n\
            sglang:num_queue_reqs{model_name=\"m\",tp_rank=\"0\",dp_rank=\"0\"} 1.0\n";
        assert_eq!(read(Family::Sglang, text), load(0.5, 4.0, 1.0));
        assert_eq!(read(Family::Sglang, &text.replace("sglang:", "sglang_")), load(0.5, 4.0, 1.0));
    }

    #[test]
    fn the_built_in_engine_is_read() {
        let text = "# TYPE forebay:kv_cache_usage_ratio gauge\nforebay:kv_cache_usage_ratio 0.125\n\
            forebay:num_requests_running 2\nforebay:num_requests_waiting 0\n# EOF\n";
        assert_eq!(read(Family::ForebayEngine, text), load(0.125, 2.0, 0.0));
        assert_eq!(read(Family::Unknown, text), load(0.125, 2.0, 0.0));
    }

    #[test]
    fn llama_server_tells_no_cache_usage() {
        let text = "llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\nllamacpp:n_busy_slots_per_decode 1\n";
        assert_eq!(read(Family::LlamaServer, text), load(None, 1.0, 2.0));
    }

    #[test]
    fn what_is_missing_or_no_number_is_never_zero() {
        for text in [
            "",
            "<html>",
            "vllm:kv_cache_usage_perc NaN\n",
            "vllm:kv_cache_usage_perc{engine=\"0\" 0.5\n",
            "vllm:kv_cache_usage_perc\n",
            "vllm:kv_cache_usage_perc{} x\n",
            "vllm:kv_cache_usage_perc -1\n",
        ] {
            assert_eq!(read(Family::Vllm, text), EngineLoad::default(), "{text}");
            assert_eq!(read(Family::Unknown, text), EngineLoad::default(), "{text}");
        }
    }

    #[test]
    fn labels_may_hold_anything() {
        let text = r#"vllm:kv_cache_usage_perc{model_name="a\"} 9,engine=\"7",engine="0"} 0.5 1700000000"#;
        let sample = Sample::parse(text).unwrap();
        assert_eq!((sample.label("engine"), sample.name), (Some("0"), "vllm:kv_cache_usage_perc"));
        assert_eq!(read(Family::Vllm, text), load(0.5, None, None));
    }
}
