//! Sends the calls of a trace at their times, whatever the router does, and measures until their first event.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use testkit::fake_engine::SimulatedWork;
use tokio::task::JoinSet;

use super::routers::StartedRouter;
use super::trace::{Trace, TraceCall};
use crate::proxy_bench::load::connection::Connection;

/// Waiting times in simulated seconds, and the work of the engines.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// Sorted.
    waits: Vec<f64>,
    pub(super) failures: usize,
    work: Vec<SimulatedWork>,
}

impl Figures {
    pub(super) fn of(mut waits: Vec<f64>, failures: usize) -> Self {
        waits.sort_by(f64::total_cmp);
        Self { waits, failures, work: Vec::new() }
    }

    pub(super) fn with_work(self, work: Vec<SimulatedWork>) -> Self {
        Self { work, ..self }
    }

    pub(super) fn mean(&self) -> f64 {
        self.waits.iter().sum::<f64>() / self.waits.len().max(1) as f64
    }

    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let at = self.waits.len() * percent / 100;
        self.waits.get(at.min(self.waits.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }

    /// Cached tokens of all prompt tokens.
    pub(super) fn hit_rate(&self) -> f64 {
        let sum = |of: fn(&SimulatedWork) -> u64| self.work.iter().map(of).sum::<u64>() as f64;
        sum(|work| work.cached_tokens) / sum(|work| work.prompt_tokens).max(1.0)
    }

    /// The work of the busiest engine in proportion to the mean.
    pub(super) fn imbalance(&self) -> f64 {
        let computed: Vec<f64> =
            self.work.iter().map(|work| (work.prompt_tokens - work.cached_tokens) as f64).collect();
        let mean = computed.iter().sum::<f64>() / computed.len().max(1) as f64;
        computed.iter().copied().fold(0.0, f64::max) / mean.max(1.0)
    }
}

pub(super) async fn run(trace: &Trace, router: &StartedRouter, speed: f64) -> anyhow::Result<Figures> {
    let start = Instant::now() + Duration::from_millis(200);
    let (mut calls, mut waits, mut failures) = (JoinSet::new(), Vec::new(), 0);
    let mut note = |ended: anyhow::Result<f64>| match ended {
        Ok(wait) => waits.push(wait),
        Err(error) => {
            if failures == 0 {
                eprintln!("a call failed: {error:#}");
            }
            failures += 1;
        }
    };
    for (number, call) in trace.calls().iter().enumerate() {
        let at = start + call.at.div_f64(speed);
        while let Some(ended) = calls.try_join_next() {
            note(ended?);
        }
        tokio::time::sleep_until(at.into()).await;
        let address = router.addresses[number % router.addresses.len()];
        let request = request(call, router, number);
        calls.spawn(async move {
            let mut connection = Connection::open(address).await?;
            let exchange = connection.exchange(&request, 200).await.context("call")?;
            Ok((exchange.first_payload - at).as_secs_f64() * speed)
        });
    }
    while let Some(ended) = calls.join_next().await {
        note(ended?);
    }
    Ok(Figures::of(waits, failures))
}

fn request(call: &TraceCall, router: &StartedRouter, number: usize) -> Vec<u8> {
    let body = json!({
        "model": router.model,
        "stream": true,
        "max_tokens": call.output_tokens,
        "messages": [{"role": "user", "content": call.prompt()}],
    })
    .to_string();
    let key = &router.keys[number % router.keys.len()];
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head, body].concat().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_all_calls_and_engines() {
        let work = |prompt_tokens, cached_tokens| SimulatedWork { prompts: 1, prompt_tokens, cached_tokens };
        let figures = Figures::of(vec![4.0, 1.0, 2.0, 3.0], 0).with_work(vec![work(400, 100), work(100, 0)]);
        let rounded = [figures.mean(), figures.percentile(50), figures.percentile(99), figures.imbalance()]
            .map(|figure| (figure * 10.0).round() as i64);
        assert_eq!(rounded, [25, 30, 40, 15]);
        assert_eq!((figures.hit_rate() * 100.0).round() as i64, 20);
    }
}
