//! Names of an engine's metrics, by family. They differ by engine and by version.

use super::Family;
use super::prometheus::Sample;

/// Names without the engine's prefix.
pub(super) struct MetricNames {
    pub(super) prefix: &'static str,
    /// Newest first; the first one present counts.
    pub(super) kv_cache_usage: &'static [&'static str],
    pub(super) running: &'static str,
    pub(super) waiting: &'static str,
    /// Label that distinguishes the schedulers of one engine.
    pub(super) scheduler: &'static str,
    pub(super) prompt_tokens: &'static str,
    pub(super) completion_tokens: &'static str,
    /// Whether the prompt counter includes tokens found in the prefix cache.
    pub(super) counts_cached: bool,
}

const FOREBAY_ENGINE: MetricNames = MetricNames {
    prefix: "forebay",
    kv_cache_usage: &["kv_cache_usage_ratio"],
    running: "num_requests_running",
    waiting: "num_requests_waiting",
    scheduler: "engine",
    prompt_tokens: "prompt_tokens_total",
    completion_tokens: "generation_tokens_total",
    counts_cached: true,
};
const VLLM: MetricNames = MetricNames {
    prefix: "vllm",
    // The second was the only one up to v0.9.1, and is gone since v0.12.
    kv_cache_usage: &["kv_cache_usage_perc", "gpu_cache_usage_perc"],
    ..FOREBAY_ENGINE
};
const SGLANG: MetricNames = MetricNames {
    prefix: "sglang",
    kv_cache_usage: &["token_usage"],
    running: "num_running_reqs",
    waiting: "num_queue_reqs",
    scheduler: "dp_rank",
    ..FOREBAY_ENGINE
};
const LLAMA_SERVER: MetricNames = MetricNames {
    prefix: "llamacpp",
    // Only in versions before May 2025.
    kv_cache_usage: &["kv_cache_usage_ratio"],
    running: "requests_processing",
    waiting: "requests_deferred",
    completion_tokens: "tokens_predicted_total",
    // It counts the tokens it processed, which excludes cached ones.
    counts_cached: false,
    ..FOREBAY_ENGINE
};

impl MetricNames {
    /// Names to try, in order: those of every known engine if the family is unknown.
    pub(super) fn candidates(family: Family) -> impl Iterator<Item = &'static Self> {
        family.candidates().iter().map(|family| match family {
            Family::ForebayEngine | Family::Unknown => &FOREBAY_ENGINE,
            Family::Vllm => &VLLM,
            Family::Sglang => &SGLANG,
            Family::LlamaServer => &LLAMA_SERVER,
        })
    }

    /// The samples of one metric.
    pub(super) fn samples<'a>(&self, name: &str, text: &'a str) -> impl Iterator<Item = Sample<'a>> {
        text.lines().filter_map(Sample::parse).filter(move |sample| {
            // Proxies in between write the colon as an underscore.
            let bare = sample.name.strip_prefix(self.prefix).and_then(|rest| rest.strip_prefix([':', '_']));
            bare == Some(name)
        })
    }
}
