//! Tenants that call at a rate, and tenants that always have calls waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use serde_json::{Value, json};
use testkit::fake_engine::FakeEngine;
use testkit::http::Client;
use tokio::task::JoinSet;

use super::{FIRST_TOKEN_MILLIS, MODEL, TOKEN_MILLIS, TOKENS};
use crate::proxy_bench::load::open_loop::Latencies;

/// Between two looks at the engine.
const SAMPLE_PERIOD: Duration = Duration::from_millis(5);
/// Tokens of the responses of a tenant that floods; [`TOKENS`] on average.
pub(super) const LENGTHS: std::ops::RangeInclusive<usize> = TOKENS / 2..=TOKENS + TOKENS / 2;
/// A call that was rejected is repeated after this time.
const RETRY: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(super) struct Tenant {
    pub(super) client: Client,
    /// What the engine reports for each of its prompts, which are as long.
    pub(super) prompt_tokens: u64,
}

impl Tenant {
    /// A chat whose response has this many tokens.
    pub(super) fn request(&self, is_stream: bool, tokens: usize) -> Value {
        let words = usize::try_from(self.prompt_tokens).unwrap_or_default();
        // The engine sends a whole response after its delay.
        let after_first = if is_stream { 0 } else { tokens as u64 * TOKEN_MILLIS };
        json!({
            "model": MODEL, "stream": is_stream, "max_tokens": tokens,
            "messages": [{"role": "user", "content": "and ".repeat(words)}],
            "fake": {
                "delay_ms": FIRST_TOKEN_MILLIS + after_first, "chunks": tokens, "chunk_delay_ms": TOKEN_MILLIS,
                "prompt_tokens": self.prompt_tokens,
            },
        })
    }

    fn body(&self, is_stream: bool, tokens: usize) -> Bytes {
        Bytes::from(self.request(is_stream, tokens).to_string())
    }

    /// The times in milliseconds until the first token of streams that begin at this rate.
    pub(super) async fn first_tokens(&self, per_second: f64, span: Duration) -> anyhow::Result<Latencies> {
        let body = self.body(true, TOKENS);
        let mut calls: JoinSet<anyhow::Result<f64>> = JoinSet::new();
        let (start, mut number) = (Instant::now(), 0_u32);
        loop {
            let due = start + Duration::from_secs_f64(f64::from(number) / per_second);
            if due >= start + span {
                break;
            }
            tokio::time::sleep_until(due.into()).await;
            let (client, body) = (self.client.clone(), body.clone());
            calls.spawn(async move {
                let sent = Instant::now();
                let mut stream = client.try_open_stream("/chat/completions", body).await?;
                ensure!(stream.status == 200, "a call was rejected: {}", stream.status);
                stream.try_next_event().await?.context("the stream is empty")?;
                let first = sent.elapsed().as_secs_f64() * 1e3;
                stream.rest().await;
                Ok(first)
            });
            number += 1;
        }
        let ended = calls.join_all().await;
        Ok(Latencies::of(ended.into_iter().collect::<anyhow::Result<_>>()?))
    }
}

/// Calls that are repeated as soon as they end, until this is dropped. Their lengths differ, as those of people do: of equal
/// length, all would end at the same moment, and a call of another tenant would wait for it.
pub(super) struct Flood {
    tokens: Arc<AtomicU64>,
    _callers: JoinSet<()>,
}

impl Flood {
    pub(super) fn start(tenant: &Tenant, concurrency: usize) -> Self {
        let tokens = Arc::new(AtomicU64::new(0));
        let mut callers = JoinSet::new();
        let bodies: Arc<[(u64, Bytes)]> =
            LENGTHS.map(|length| (tenant.prompt_tokens + length as u64, tenant.body(false, length))).collect();
        for caller in 0..concurrency {
            let (client, bodies, tokens) = (tenant.client.clone(), Arc::clone(&bodies), Arc::clone(&tokens));
            callers.spawn(async move {
                for number in caller.. {
                    let (cost, body) = &bodies[number % bodies.len()];
                    let response = client.try_send(http::Method::POST, "/chat/completions", body.clone()).await;
                    match response {
                        Ok(response) if response.status == 200 => {
                            tokens.fetch_add(*cost, Ordering::Relaxed);
                        }
                        Ok(_) | Err(_) => tokio::time::sleep(RETRY).await,
                    }
                }
            });
        }
        Self { tokens, _callers: callers }
    }

    /// Tokens of the calls that have ended.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }
}

/// The mean share of its slots that the engine uses.
pub(super) async fn occupancy(engine: &FakeEngine, slots: usize, span: Duration) -> f64 {
    let (mut sum, mut samples) = (0, 0_usize);
    let end = Instant::now() + span;
    while Instant::now() < end {
        sum += engine.in_flight();
        samples += 1;
        tokio::time::sleep(SAMPLE_PERIOD).await;
    }
    sum as f64 / (samples.max(1) * slots) as f64
}
