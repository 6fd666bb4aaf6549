//! Counts the tokens of a prompt without generating anything. Counts against requests per minute; costs nothing.
//!
//! The engine counts, with its own tokenizer and template, if its kind has a route for it; otherwise, and if it fails, the
//! length of the prompt gives an estimate.

use crate::error::CallError;
use crate::json::{self, JsonError, Reader, ValueKind};
use crate::resolve::Target;
use crate::translate::messages::Traits;
use crate::{Call, Dataplane};
use bytes::{Bytes, BytesMut};
use domain::Caller;
use domain::limits::RateLimitStatus;
use domain::model::EngineKind;
use fleet::Backend;
use http::StatusCode;
use http1::client::Request;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// Tokenizing takes milliseconds; an engine that needs longer is not worth the wait.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a response, which lists the tokens.
const MAX_RESPONSE_BYTES: usize = 32 << 20;

/// The tokens of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedTokens {
    pub tokens: u64,
    /// Estimated from the length of the prompt.
    pub is_estimate: bool,
    /// `None` for dedicated endpoints, which have no rate limits.
    pub rate_limits: Option<RateLimitStatus>,
}

impl Dataplane {
    pub async fn count_tokens(&self, call: &mut Call) -> Result<CountedTokens, CallError> {
        let target = self.resolve(call)?;
        let rate_limits = match &target {
            Target::Dedicated(_) => None,
            Target::Serverless(_) => {
                let request = call.tap.request_id().clone();
                Some(self.admission.admit_free(&call.caller, request).await?)
            }
        };
        let counted = tokio::time::timeout(TIMEOUT, Box::pin(self.count_at_engine(call, &target))).await;
        let counted = counted.ok().flatten();
        let tokens = counted.unwrap_or_else(|| call.request.estimate.likely_prompt());
        Ok(CountedTokens { tokens, is_estimate: counted.is_none(), rate_limits })
    }

    /// `None` if no replica is ready, or if its engine cannot count.
    async fn count_at_engine(&self, call: &Call, target: &Target) -> Option<u64> {
        let search = call.slot_search(target.tenant(&call.caller, &self.salt_secret), &[]);
        let slot = target.route().pool.pick(|| search.prompt(), search.tried, Instant::now()).ok()?;
        let replica = slot.replica();
        let body = call.request.upstream_edits(&replica.upstream.model, false, None).apply(&call.request.body);
        match replica.upstream.engine? {
            EngineKind::Vllm | EngineKind::ForebayEngine => {
                let response = self.ask(replica, "/tokenize", &body).await?;
                read_member(&response, b"count", |reader| {
                    let digits = reader.number()?;
                    Ok(std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()))
                })
            }
            EngineKind::LlamaServer => {
                let rendered = self.ask(replica, "/apply-template", &body).await?;
                let prompt = read_member(&rendered, b"prompt", |reader| {
                    Ok(Some(String::from_utf8_lossy(&reader.string()?.decoded()).into_owned()))
                })?;
                let content = json::quote(&prompt);
                let body = [b"{\"add_special\":true,\"parse_special\":true,\"content\":", &content[..], b"}"].concat();
                let response = self.ask(replica, "/tokenize", &body).await?;
                read_member(&response, b"tokens", |reader| {
                    let mut count = 0;
                    reader.array(|reader, _| {
                        count += 1;
                        reader.skip()
                    })?;
                    Ok(Some(count))
                })
            }
            // Its route takes no chat.
            EngineKind::Sglang => None,
        }
    }

    /// The response of a route at the root of the replica.
    async fn ask(&self, replica: &Backend, route: &str, body: &[u8]) -> Option<Bytes> {
        let mut start = BytesMut::with_capacity(512 + body.len());
        let root = replica.address.path.strip_suffix("/v1").unwrap_or(&replica.address.path);
        start.extend_from_slice(format!("POST {root}{route} HTTP/1.1\r\n").as_bytes());
        for (name, value) in &replica.template.headers {
            start.extend_from_slice(name.as_str().as_bytes());
            start.extend_from_slice(b": ");
            start.extend_from_slice(value.as_bytes());
            start.extend_from_slice(b"\r\n");
        }
        start.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        start.extend_from_slice(body);
        let mut connection = self.connections.open(replica).await.ok()?;
        let head = connection.send(&Request { start, rest: Vec::new() }, || ()).await.ok()?;
        let mut exchange = self.connections.exchange(connection, replica);
        let is_bounded = |_| Ok::<_, Infallible>(());
        let response = exchange.collect(MAX_RESPONSE_BYTES, self.timeouts.idle, is_bounded).await.ok()?;
        (head.status == StatusCode::OK).then_some(response)
    }

    /// The traits of the model that a name stands for, which its translated requests depend on. The call itself reports a
    /// name that stands for nothing.
    pub fn chat_traits(&self, caller: &Caller, model: &str) -> Traits {
        match self.route(caller, model) {
            Ok(Some(route)) => Traits {
                context_length: route.model.context_length,
                thinking: route.model.thinking_switch(),
                merge_system: route.model.chat.merge_system,
            },
            Ok(None) | Err(_) => Traits::default(),
        }
    }
}

/// Reads one member of an object; `None` if it is not there or of another type.
fn read_member<T>(
    object: &[u8],
    wanted: &[u8],
    read: impl Fn(&mut Reader<'_>) -> Result<Option<T>, JsonError>,
) -> Option<T> {
    let mut found = None;
    let mut reader = Reader::new(object);
    if reader.kind().ok()? != ValueKind::Object {
        return None;
    }
    let walked = reader.object(|reader, name, _| {
        if name.raw() != wanted {
            return reader.skip();
        }
        found = read(reader)?;
        Ok(())
    });
    walked.ok().and(found)
}
