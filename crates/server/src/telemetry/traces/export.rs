//! Tells the receiver of traces, in batches, off the path of calls. What it does not take in time is dropped and counted.

use super::otlp::{
    Attributes, ExportRequest, ExportResponse, KeyValue, Resource, ResourceSpans, Scope, ScopeSpans, Span,
};
use super::queue::{Finished, Queue};
use super::{names, spans};
use crate::config::TracesConfig;
use crate::outbound;
use fleet::Connector;
use http::{HeaderValue, Request, StatusCode, header};
use prost::Message;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Calls that are told at once.
const BATCH: usize = 512;
/// How long calls gather.
const GATHER: Duration = Duration::from_secs(1);
/// A receiver that is away or busy is asked so often, with growing pauses.
const TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What is said of every span: who tells it.
pub(super) struct Teller {
    pub(super) config: TracesConfig,
    pub(super) node: String,
    pub(super) connector: Connector,
    pub(super) queue: Arc<Queue>,
}

/// Why a batch was not taken.
enum NotTaken {
    /// Trying again would not help.
    Refused(String),
    /// It might.
    Away { why: String, wait: Option<Duration> },
}

impl Teller {
    /// Tells until nothing more comes; when that is certain, one last time without patience.
    pub(super) async fn run(self, mut waiting: mpsc::Receiver<Finished>, mut no_more: watch::Receiver<bool>) {
        let mut batch = Vec::new();
        let mut is_complaining = false;
        loop {
            let is_last_look = *no_more.borrow_and_update();
            while batch.len() < BATCH
                && let Ok(finished) = waiting.try_recv()
            {
                batch.push(finished);
            }
            let is_full = batch.len() == BATCH;
            if !batch.is_empty() {
                self.queue.taken(&batch);
                self.tell(std::mem::take(&mut batch), is_last_look, &mut is_complaining).await;
            } else if is_last_look {
                return;
            }
            if !is_full && !is_last_look {
                let _ = tokio::time::timeout(GATHER, no_more.changed()).await;
            }
        }
    }

    async fn tell(&self, batch: Vec<Finished>, is_last: bool, is_complaining: &mut bool) {
        let all: Vec<Span> = batch.into_iter().flat_map(|call| spans::of_call(call.context, call.sheet)).collect();
        let count = all.len() as u64;
        let figures = self.queue.figures();
        match self.send_until_taken(self.request(all), if is_last { 1 } else { TRIES }).await {
            Ok(rejected) => {
                *is_complaining = false;
                figures.count_exported(count.saturating_sub(rejected));
                figures.count_refused(rejected);
            }
            Err(not_taken) => {
                let why = match &not_taken {
                    NotTaken::Refused(why) => {
                        figures.count_refused(count);
                        why
                    }
                    NotTaken::Away { why, .. } => {
                        figures.count_unreachable(count);
                        why
                    }
                };
                // Once is enough: the metrics say how it goes on.
                if !std::mem::replace(is_complaining, true) {
                    tracing::warn!(why, spans = count, "traces are dropped: the receiver does not take them");
                }
            }
        }
    }

    /// How many spans the receiver refused of those that it took.
    async fn send_until_taken(&self, request: Vec<u8>, tries: u32) -> Result<u64, NotTaken> {
        let mut pause = FIRST_PAUSE;
        let mut tried = 1;
        loop {
            match self.send(request.clone()).await {
                Err(NotTaken::Away { wait, .. }) if tried < tries => {
                    tokio::time::sleep(wait.unwrap_or(pause).min(LONGEST_PAUSE)).await;
                    (tried, pause) = (tried + 1, pause * 2);
                }
                done => return done,
            }
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<u64, NotTaken> {
        let mut request =
            Request::post(&self.config.url).body(body).map_err(|error| NotTaken::Refused(error.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("forebay/", env!("CARGO_PKG_VERSION"))));
        headers.extend(self.config.headers.iter().cloned());
        let answer = outbound::call(self.connector.clone(), request).await;
        let answer = answer.map_err(|error| NotTaken::Away { why: error.to_string(), wait: None })?;
        let why = || format!("status {}", answer.status().as_u16());
        match answer.status() {
            status if status.is_success() => Ok(rejected(answer.body())),
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let wait =
                    answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                Err(NotTaken::Away { why: why(), wait: wait.map(Duration::from_secs) })
            }
            _ => Err(NotTaken::Refused(why())),
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

/// An answer that cannot be read refuses nothing.
fn rejected(body: &[u8]) -> u64 {
    let partial = ExportResponse::decode(body).ok().and_then(|answer| answer.partial_success);
    partial.map_or(0, |partial| {
        if !partial.error_message.is_empty() {
            tracing::warn!(why = partial.error_message, "the receiver of traces has something to say");
        }
        u64::try_from(partial.rejected_spans).unwrap_or(0)
    })
}
