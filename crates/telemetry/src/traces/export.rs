//! Exports spans to the receiver in batches, off the path of calls. Spans that it does not accept are dropped and counted.

use super::otlp::{
    Attributes, ExportRequest, ExportResponse, KeyValue, Resource, ResourceSpans, Scope, ScopeSpans, Span,
};
use super::queue::{Finished, Queue};
use super::{TracesConfig, names, spans};
use fleet::Connector;
use http::{HeaderValue, Request, StatusCode, header};
use prost::Message;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Most calls in one request.
const BATCH: usize = 512;
/// Pause between batches.
const PAUSE: Duration = Duration::from_secs(1);
/// Attempts for a receiver that is unavailable or busy, with exponential backoff.
const MAX_ATTEMPTS: u32 = 4;
const MIN_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The export loop, with the attributes of this process.
pub(super) struct Exporter {
    pub(super) config: TracesConfig,
    pub(super) node: String,
    pub(super) connector: Connector,
    pub(super) queue: Arc<Queue>,
}

/// Why a batch was not accepted.
enum ExportError {
    /// Retrying would not help.
    Rejected(String),
    /// Retrying may help.
    Unavailable { why: String, wait: Option<Duration> },
}

impl Exporter {
    /// Runs until `no_more`; then exports the rest without retries.
    pub(super) async fn run(self, mut waiting: mpsc::Receiver<Finished>, mut no_more: watch::Receiver<bool>) {
        let mut batch = Vec::new();
        let mut is_failing = false;
        loop {
            let is_final = *no_more.borrow_and_update();
            while batch.len() < BATCH
                && let Ok(finished) = waiting.try_recv()
            {
                batch.push(finished);
            }
            let is_full = batch.len() == BATCH;
            if !batch.is_empty() {
                self.queue.taken(&batch);
                self.export(std::mem::take(&mut batch), is_final, &mut is_failing).await;
            } else if is_final {
                return;
            }
            if !is_full && !is_final {
                let _ = tokio::time::timeout(PAUSE, no_more.changed()).await;
            }
        }
    }

    async fn export(&self, batch: Vec<Finished>, is_last: bool, is_failing: &mut bool) {
        let all: Vec<Span> = batch.into_iter().flat_map(|call| spans::of_call(call.context, call.details)).collect();
        let count = all.len() as u64;
        let figures = self.queue.figures();
        match self.send_with_retries(self.request(all), if is_last { 1 } else { MAX_ATTEMPTS }).await {
            Ok(rejected) => {
                *is_failing = false;
                figures.count_exported(count.saturating_sub(rejected));
                figures.count_refused(rejected);
            }
            Err(error) => {
                let why = match &error {
                    ExportError::Rejected(why) => {
                        figures.count_refused(count);
                        why
                    }
                    ExportError::Unavailable { why, .. } => {
                        figures.count_unreachable(count);
                        why
                    }
                };
                // Log only the first failure; the metrics show the others.
                if !std::mem::replace(is_failing, true) {
                    tracing::warn!(why, spans = count, "traces are dropped because the receiver does not accept them");
                }
            }
        }
    }

    /// Returns the number of spans that the receiver rejected from an accepted batch.
    async fn send_with_retries(&self, request: Vec<u8>, max_attempts: u32) -> Result<u64, ExportError> {
        let mut backoff = MIN_BACKOFF;
        let mut attempts = 1;
        loop {
            match self.send(request.clone()).await {
                Err(ExportError::Unavailable { wait, .. }) if attempts < max_attempts => {
                    tokio::time::sleep(wait.unwrap_or(backoff).min(MAX_BACKOFF)).await;
                    (attempts, backoff) = (attempts + 1, backoff * 2);
                }
                done => return done,
            }
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<u64, ExportError> {
        let mut request =
            Request::post(&self.config.url).body(body).map_err(|error| ExportError::Rejected(error.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("forebay/", env!("CARGO_PKG_VERSION"))));
        headers.extend(self.config.headers.iter().cloned());
        let response = outbound::call(self.connector.clone(), request).await;
        let response = response.map_err(|error| ExportError::Unavailable { why: error.to_string(), wait: None })?;
        let why = || format!("status {}", response.status().as_u16());
        match response.status() {
            status if status.is_success() => Ok(rejected(response.body())),
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let wait =
                    response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                Err(ExportError::Unavailable { why: why(), wait: wait.map(Duration::from_secs) })
            }
            _ => Err(ExportError::Rejected(why())),
        }
    }

    fn request(&self, spans: Vec<Span>) -> Vec<u8> {
        let scope = Scope { name: "forebay".into(), version: env!("CARGO_PKG_VERSION").into() };
        let schema_url = names::SCHEMA_URL.to_owned();
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, schema_url: schema_url.clone() }];
        let resource = Some(Resource { attributes: self.attributes() });
        ExportRequest { resource_spans: vec![ResourceSpans { resource, scope_spans, schema_url }] }.encode_to_vec()
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let mut attributes = Attributes::default();
        attributes.put(names::SERVICE_NAME, self.config.service_name.as_str());
        attributes.put(names::SERVICE_VERSION, env!("CARGO_PKG_VERSION"));
        attributes.put(names::SERVICE_INSTANCE, self.node.as_str());
        attributes.0
    }
}

/// The number of rejected spans; 0 if the response cannot be decoded.
fn rejected(body: &[u8]) -> u64 {
    let partial = ExportResponse::decode(body).ok().and_then(|response| response.partial_success);
    partial.map_or(0, |partial| {
        if !partial.error_message.is_empty() {
            tracing::warn!(why = partial.error_message, "the receiver of traces sent a warning");
        }
        u64::try_from(partial.rejected_spans).unwrap_or(0)
    })
}
