//! Counts the tokens of a prompt without generating anything. Counts against requests per minute; costs nothing.
//!
//! The engine counts, with its own tokenizer and template, if its kind has a route for it; otherwise, and if it fails, the
//! length of the prompt gives an estimate.

use crate::error::CallError;
use crate::quarantine::RunningAttempt;
use crate::relay::AttemptError;
use crate::request::ParsedRequest;
use crate::resolve::Target;
use crate::response_memory::ResponseMemory;
use crate::side_call::{MAX_REQUEST_BYTES, own_body, text_body};
use crate::{Call, Dataplane};
use bytes::Bytes;
use dialects::NativeHead;
use dialects::Traits;
use domain::Caller;
use domain::limits::RateLimitStatus;
use domain::model::{EngineKind, NativeApi};
use fleet::Backend;
use json::{JsonError, Reader, ValueKind};
use std::time::Instant;

/// How an engine counts the tokens of a chat.
#[derive(Debug, Clone, Copy)]
enum Counting {
    /// One route renders the chat and counts.
    Tokenize,
    /// One route renders the chat, another one counts the tokens of a text.
    RenderAndTokenize,
    /// The route of Anthropic's API.
    Messages,
}

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
        self.check_quarantine(call)?;
        let admission = self.admit_side_call(call, &target).await?;
        let counted = match self.count_at_engine(call, &target).await {
            Ok(counted) => counted,
            Err(error) => {
                call.tap.note(|record| record.cause = error.cause());
                None
            }
        };
        let estimate = || call.request.estimate.likely_prompt_within(target.route().model.context_length);
        let tokens = counted.unwrap_or_else(estimate);
        Ok(CountedTokens { tokens, is_estimate: counted.is_none(), rate_limits: admission.rate_limits })
    }

    /// `None` if no replica is ready whose engine can count, or if the count would cost too much. A prompt can end an engine
    /// here as well as in a call.
    async fn count_at_engine(&self, call: &Call, target: &Target) -> Result<Option<u64>, AttemptError> {
        if call.request.body.len() > MAX_REQUEST_BYTES || self.loses_too_many(call) {
            return Ok(None);
        }
        let request = &call.request;
        let picked = target.route().pool.pick_for_side_request(|replica| counting(replica, request).is_some());
        let Ok(slot) = picked else { return Ok(None) };
        let attempt = self.running_attempt(call, slot.replica(), Instant::now());
        self.within_timeout(&attempt, Box::pin(self.count_at(&attempt))).await
    }

    async fn count_at(&self, attempt: &RunningAttempt<'_>) -> Result<Option<u64>, AttemptError> {
        let (replica, call) = (attempt.replica, attempt.call);
        let request = &call.request;
        let Some(way) = counting(replica, request) else { return Ok(None) };
        let chat = || own_body(replica, request);
        let tokenize = || replica.head_at_root("/tokenize");
        let mut memory = ResponseMemory::new(&*self.memory, &call.caller.organization);
        let counted = match way {
            Counting::Tokenize => {
                let response = self.ask_for(attempt, &tokenize(), chat(), &mut memory).await?;
                let Some(response) = response else { return Ok(None) };
                self.read_response(call, response, |response| read_count(response, b"count")).await
            }
            Counting::Messages => {
                let head = NativeHead { model: &replica.upstream.model, limit: None, cache_salt: None };
                let Some(native) = &request.native else { return Ok(None) };
                let body = native.pieces(head);
                let route = &replica.template.message_tokens;
                let response = self.ask_for(attempt, route, body, &mut memory).await?;
                response.and_then(|response| read_count(&response, b"input_tokens"))
            }
            Counting::RenderAndTokenize => {
                let template = replica.head_at_root("/apply-template");
                let rendered = self.ask_for(attempt, &template, chat(), &mut memory).await?;
                let Some(rendered) = rendered else { return Ok(None) };
                let prompt = |rendered: &Bytes| raw_member(rendered, b"prompt", ValueKind::String);
                let Some(text) = self.read_response(call, rendered, prompt).await else { return Ok(None) };
                let mut memory = ResponseMemory::new(&*self.memory, &call.caller.organization);
                let response = self.ask_for(attempt, &tokenize(), text_body(true, text), &mut memory).await?;
                let Some(response) = response else { return Ok(None) };
                self.read_response(call, response, |response| read_length(response, b"tokens")).await
            }
        };
        Ok(counted)
    }

    /// The traits of the model of this name, which its translated requests of this API depend on. The call itself
    /// reports a name without a model.
    pub fn chat_traits(&self, caller: &Caller, model: &str, api: NativeApi) -> Traits {
        let Ok(Some(target)) = self.find(caller, model) else { return Traits::default() };
        let route = target.route();
        Traits {
            context_length: route.model.context_length,
            thinking: route.model.thinking_switch(),
            merge_system: route.model.chat.merge_system,
            is_native: route.pool.replicas().iter().any(|replica| replica.upstream.native.contains(&api)),
            has_flex: matches!(target, Target::Serverless(_)),
        }
    }
}

/// `None` if the engine cannot count, or is not known to.
fn counting(replica: &Backend, request: &ParsedRequest) -> Option<Counting> {
    match replica.upstream.engine {
        // The route of SGLang takes a chat since the summer of 2026. Older ones reject it, so that the number is estimated.
        Some(EngineKind::Vllm | EngineKind::Sglang | EngineKind::ForebayEngine) => Some(Counting::Tokenize),
        Some(EngineKind::LlamaServer) => Some(Counting::RenderAndTokenize),
        None => {
            let speaks_messages = replica.upstream.native.contains(&NativeApi::Messages);
            let is_message = request.native.as_ref().is_some_and(|native| native.api == NativeApi::Messages);
            (speaks_messages && is_message).then_some(Counting::Messages)
        }
    }
}

/// Reads a member that is a count.
fn read_count(object: &[u8], name: &[u8]) -> Option<u64> {
    read_member(object, name, |reader| {
        let digits = reader.number()?;
        Ok(std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()))
    })
}

/// Reads the length of a member that is an array.
pub(crate) fn read_length(object: &[u8], name: &[u8]) -> Option<u64> {
    read_member(object, name, |reader| {
        let mut count = 0;
        reader.array(|reader, _| {
            count += 1;
            reader.skip()
        })?;
        Ok(Some(count))
    })
}

/// The member of an object as it is written, if it is of this kind.
pub(crate) fn raw_member(object: &Bytes, name: &[u8], kind: ValueKind) -> Option<Bytes> {
    let span = read_member(object, name, |reader| {
        let found = reader.kind()?;
        reader.span().map(|span| (found == kind).then_some(span))
    });
    span.map(|span| object.slice(span))
}

/// Reads one member of an object; `None` if it is not there or of another type.
pub(crate) fn read_member<T>(
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
