//! The calls of another tenant, and sign-ins of its people, at a steady rate.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::json;
use testkit::http::Client;

use super::gateway::{MODEL, Target};
use super::http2::Http2;

/// Between two calls.
const PERIOD: Duration = Duration::from_millis(50);
/// Some calls have a prompt of this length, and some are sign-ins.
const LARGE_BYTES: usize = 200_000;
const LARGE_EVERY: u32 = 4;
const SIGN_IN_EVERY: u32 = 50;
/// What such a call is called in messages.
const LARGE_CALL: &str = "call of 200 KB";
/// A call that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What the others saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// In milliseconds.
    latencies: Vec<f64>,
    pub(crate) failed: usize,
    large: usize,
    failed_large: usize,
    /// The first failure.
    pub(crate) example: String,
}

impl Seen {
    pub(crate) fn calls(&self) -> usize {
        self.latencies.len() + self.failed
    }

    pub(crate) fn percentile(&self, part: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_by(f64::total_cmp);
        let index = (sorted.len() as f64 * part) as usize;
        sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    /// Whether a small call or a sign-in failed, or more than one in a hundred of the large calls.
    pub(crate) fn breaks_promise(&self) -> bool {
        self.failed > self.failed_large || self.failed_large * 100 > self.large
    }

    /// Adds what was seen later.
    pub(crate) fn extend(&mut self, later: Self) {
        self.latencies.extend(later.latencies);
        self.failed += later.failed;
        self.large += later.large;
        self.failed_large += later.failed_large;
        if self.example.is_empty() {
            self.example = later.example;
        }
    }

    fn add(&mut self, what: &str, outcome: anyhow::Result<u16>, latency: Duration) {
        let is_large = usize::from(what == LARGE_CALL);
        self.large += is_large;
        match outcome {
            Ok(200) => self.latencies.push(latency.as_secs_f64() * 1_000.0),
            failure => {
                self.failed += 1;
                self.failed_large += is_large;
                if self.example.is_empty() {
                    let failure = failure.map_or_else(|error| format!("{error:#}"), |status| status.to_string());
                    self.example = format!("{what}: {failure}");
                }
            }
        }
    }
}

/// Calls for a while, on a thread of its own: the attackers keep theirs busy.
pub(crate) fn start(target: Target, span: Duration) -> anyhow::Result<JoinHandle<anyhow::Result<Seen>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let calls = move || runtime.block_on(call(&target, span));
    Ok(std::thread::Builder::new().name("others".into()).spawn(calls)?)
}

async fn call(target: &Target, span: Duration) -> anyhow::Result<Seen> {
    let chat = |text: &str| {
        let messages = json!([{"role": "user", "content": text}]);
        Bytes::from(json!({"model": MODEL, "max_tokens": 2, "messages": messages}).to_string())
    };
    let (small, large) = (chat("hi"), chat(&"x".repeat(LARGE_BYTES)));
    let sign_in = Bytes::from(json!({"email": target.person.0, "password": target.person.1}).to_string());
    let client = Client::new(format!("http://{}", target.address));
    let calling = client.clone().key(&target.bystander);
    let mut http2 = match &target.tls {
        Some(_) => Some(Http2::connect(target, None).await?),
        None => None,
    };
    let (deadline, mut seen) = (Instant::now() + span, Seen::default());
    for round in 1_u32.. {
        let begun = Instant::now();
        if begun >= deadline {
            break;
        }
        let (what, client, path, body) = match round {
            // Over HTTP/2, all calls are small.
            _ if http2.is_some() => ("small call", &calling, "/v1/chat/completions", &small),
            _ if round % SIGN_IN_EVERY == 0 => ("sign-in", &client, "/api/session", &sign_in),
            _ if round % LARGE_EVERY == 0 => (LARGE_CALL, &calling, "/v1/chat/completions", &large),
            _ => ("small call", &calling, "/v1/chat/completions", &small),
        };
        let outcome = match &mut http2 {
            Some(connection) => tokio::time::timeout(TIMEOUT, connection.call(&target.bystander, body.clone())).await,
            None => {
                let call = async {
                    let response = client.try_send(Method::POST, path, body.clone()).await?;
                    anyhow::Ok(response.status.as_u16())
                };
                tokio::time::timeout(TIMEOUT, call).await
            }
        };
        let outcome = outcome.unwrap_or_else(|_| Err(anyhow::anyhow!("no response within {TIMEOUT:?}")));
        seen.add(what, outcome, begun.elapsed());
        tokio::time::sleep(PERIOD.saturating_sub(begun.elapsed())).await;
    }
    Ok(seen)
}
