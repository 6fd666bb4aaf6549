//! Load of an engine, read from its Prometheus metrics.

use super::metric_names::MetricNames;
use super::{Engine, EngineLoad, EngineMetrics, Family, LoadError, token_counters};
use std::collections::BTreeMap;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

impl Engine {
    /// Load and token counters from one metrics response.
    pub(crate) async fn metrics(&self) -> Result<EngineMetrics, LoadError> {
        let response = self.get("/metrics", TIMEOUT).await.map_err(LoadError::Unreadable)?;
        if !response.status.is_success() {
            return Err(LoadError::Unreadable(format!("/metrics returned {}", response.status.as_u16())));
        }
        let text = String::from_utf8_lossy(&response.body);
        let tokens = token_counters::read(self.family, &self.model, &text);
        Ok(EngineMetrics { load: read(self.family, &text), tokens })
    }
}

/// The load in the text of a metrics response.
pub(crate) fn read(family: Family, text: &str) -> EngineLoad {
    let loads = MetricNames::candidates(family).map(|names| read_as(names, text));
    loads.into_iter().find(|load| *load != EngineLoad::default()).unwrap_or_default()
}

/// Several schedulers of one engine share its cache and add up their calls.
fn read_as(names: &MetricNames, text: &str) -> EngineLoad {
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

/// One value per scheduler. Ranks repeat the figures of their scheduler, so the highest counts once.
fn by_scheduler(names: &MetricNames, name: &str, text: &str) -> Vec<f64> {
    let mut found: BTreeMap<&str, f64> = BTreeMap::new();
    for sample in names.samples(name, text) {
        let highest = found.entry(sample.label(names.scheduler).unwrap_or_default()).or_insert(sample.value);
        *highest = highest.max(sample.value);
    }
    found.into_values().collect()
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
    fn vllm_metrics_are_read_under_their_new_and_old_names() {
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
    fn schedulers_of_one_engine_share_the_cache_and_add_up_their_calls() {
        let text = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n\
            vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n\
            vllm:num_requests_waiting{engine=\"0\"} 0\nvllm:num_requests_waiting{engine=\"1\"} 1\n";
        assert_eq!(read(Family::Vllm, text), load(0.5, 7.0, 1.0));
    }

    #[test]
    fn repeated_figures_of_sglang_ranks_count_once() {
        let text = "sglang:token_usage{model_name=\"m\",tp_rank=\"0\",dp_rank=\"0\"} 0.5\n\
            sglang:token_usage{model_name=\"m\",tp_rank=\"1\",dp_rank=\"0\"} 0.5\n\
            sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\",dp_rank=\"0\"} 4.0\n\
            sglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\",dp_rank=\"0\"} 4.0\n\
            sglang:num_queue_reqs{model_name=\"m\",tp_rank=\"0\",dp_rank=\"0\"} 1.0\n";
        assert_eq!(read(Family::Sglang, text), load(0.5, 4.0, 1.0));
        assert_eq!(read(Family::Sglang, &text.replace("sglang:", "sglang_")), load(0.5, 4.0, 1.0));
    }

    #[test]
    fn metrics_of_the_built_in_engine_are_read() {
        let text = "# TYPE forebay:kv_cache_usage_ratio gauge\nforebay:kv_cache_usage_ratio 0.125\n\
            forebay:num_requests_running 2\nforebay:num_requests_waiting 0\n# EOF\n";
        assert_eq!(read(Family::ForebayEngine, text), load(0.125, 2.0, 0.0));
        assert_eq!(read(Family::Unknown, text), load(0.125, 2.0, 0.0));
    }

    #[test]
    fn llama_server_reports_no_cache_usage() {
        let text = "llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\nllamacpp:n_busy_slots_per_decode 1\n";
        assert_eq!(read(Family::LlamaServer, text), load(None, 1.0, 2.0));
    }

    #[test]
    fn missing_or_invalid_figures_are_none_and_not_zero() {
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
    fn escaped_quotes_and_braces_in_labels_do_not_end_them() {
        let text = r#"vllm:kv_cache_usage_perc{model_name="a\"} 9,engine=\"7",engine="0"} 0.5 1700000000"#;
        assert_eq!(read(Family::Vllm, text), load(0.5, None, None));
    }
}
