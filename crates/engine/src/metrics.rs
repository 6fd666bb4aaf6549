//! Prometheus metrics. Names begin with `forebay:`; the gateway's autoscaler reads the first three.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

/// Bucket bounds in seconds, as recommended by OpenTelemetry.
const FIRST_TOKEN: [f64; 16] =
    [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
const NEXT_TOKEN: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5];

/// All metrics of one engine.
pub(crate) struct Metrics {
    registry: Registry,
    cache_usage: Gauge<f64, AtomicU64>,
    running: Gauge,
    waiting: Gauge,
    prompt_tokens: Counter,
    cached_tokens: Counter,
    generated_tokens: Counter,
    steps: Counter,
    displaced: Counter,
    first_token: Histogram,
    next_token: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Registry::default(),
            cache_usage: Gauge::default(),
            running: Gauge::default(),
            waiting: Gauge::default(),
            prompt_tokens: Counter::default(),
            cached_tokens: Counter::default(),
            generated_tokens: Counter::default(),
            steps: Counter::default(),
            displaced: Counter::default(),
            first_token: Histogram::new(FIRST_TOKEN),
            next_token: Histogram::new(NEXT_TOKEN),
        };
        metrics.registered()
    }
}

impl Metrics {
    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        let usage = self.cache_usage.clone();
        registry.register("forebay:kv_cache_usage_ratio", "Fraction of the KV cache used by running requests", usage);
        registry.register("forebay:num_requests_running", "Completions being generated", self.running.clone());
        registry.register("forebay:num_requests_waiting", "Completions waiting in the queue", self.waiting.clone());
        registry.register("forebay:prompt_tokens", "Prompt tokens received", self.prompt_tokens.clone());
        let cached = self.cached_tokens.clone();
        registry.register("forebay:prompt_tokens_cached", "Prompt tokens found in the cache", cached);
        registry.register("forebay:generation_tokens", "Tokens generated", self.generated_tokens.clone());
        registry.register("forebay:decode_steps", "Batches computed", self.steps.clone());
        let displaced = self.displaced.clone();
        registry.register(
            "forebay:displaced",
            "Completions moved back to the queue because the cache was full",
            displaced,
        );
        let first = self.first_token.clone();
        registry.register("forebay:time_to_first_token_seconds", "Time from arrival to the first token", first);
        let next = self.next_token.clone();
        registry.register("forebay:time_per_output_token_seconds", "Time between tokens", next);
        self
    }

    /// Sets the load gauges after a step.
    pub(crate) fn set_load(&self, running: usize, waiting: usize, cache_usage: f64) {
        self.running.set(i64::try_from(running).unwrap_or(i64::MAX));
        self.waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        self.cache_usage.set(cache_usage);
    }

    /// Counts a prompt, of which `cached` tokens were in the cache.
    pub(crate) fn prompt(&self, tokens: usize, cached: usize) {
        self.prompt_tokens.inc_by(tokens as u64);
        self.cached_tokens.inc_by(cached as u64);
    }

    pub(crate) fn step(&self) {
        self.steps.inc();
    }

    pub(crate) fn displaced(&self) {
        self.displaced.inc();
    }

    pub(crate) fn first_token(&self, seconds: f64) {
        self.generated_tokens.inc();
        self.first_token.observe(seconds);
    }

    pub(crate) fn next_token(&self, seconds: f64) {
        self.generated_tokens.inc();
        self.next_token.observe(seconds);
    }

    /// The page for `GET /metrics`.
    pub(crate) fn page(&self) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut page, &self.registry);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn the_page_has_the_names_that_the_autoscaler_reads() {
        let metrics = Metrics::default();
        metrics.set_load(3, 2, 0.25);
        metrics.first_token(0.02);
        let page = metrics.page();
        for line in [
            "forebay:kv_cache_usage_ratio 0.25",
            "forebay:num_requests_running 3",
            "forebay:num_requests_waiting 2",
            "forebay:generation_tokens_total 1",
            "forebay:time_to_first_token_seconds_count 1",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
    }
}
