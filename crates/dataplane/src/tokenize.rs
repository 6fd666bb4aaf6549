//! Turns prompts into tokens and tokens into text, with the tokenizer of the engine. Counts against requests per minute;
//! costs nothing.
//!
//! The formats are vLLM's. What an engine returns is passed on as it is written, because it is JSON already.

use crate::count_tokens::{raw_member, read_length, read_member};
use crate::error::CallError;
use crate::quarantine::RunningAttempt;
use crate::relay::{AttemptError, collect_error};
use crate::request::Operation;
use crate::resolve::{Target, note_model};
use crate::response_memory::ResponseMemory;
use crate::side_call::{MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES, own_body, text_body};
use crate::{Call, Dataplane, capable};
use bytes::Bytes;
use dialects::Dialect;
use domain::capabilities::{Capability, CapabilitySet};
use domain::limits::RateLimitStatus;
use domain::model::EngineKind;
use fleet::backend::BackendId;
use fleet::{Backend, Pool, Slot};
use json::ValueKind;
use std::time::Instant;

/// How long a workspace that keeps ending engines has to wait.
const RETRY_AFTER_SECS: u64 = 60;

/// The tokens of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenizedPrompt {
    pub count: u64,
    pub max_model_len: u64,
    /// An array of ids, as JSON.
    pub tokens: Bytes,
    /// An array of texts, as JSON; `None` if the engine did not return them.
    pub token_strs: Option<Bytes>,
    /// `None` for dedicated endpoints, which have no rate limits.
    pub rate_limits: Option<RateLimitStatus>,
}

/// The text of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detokenized {
    /// A string, as JSON.
    pub text: Bytes,
    /// `None` for dedicated endpoints, which have no rate limits.
    pub rate_limits: Option<RateLimitStatus>,
}

/// The route of a tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenizerRoute {
    Tokenize,
    Detokenize,
}

/// The response of an engine, as far as it is returned.
struct TokenLists {
    count: u64,
    /// `None` if the engine did not return it.
    max_model_len: Option<u64>,
    tokens: Bytes,
    token_strs: Option<Bytes>,
}

impl TokenLists {
    fn read(response: &Bytes) -> Option<Self> {
        let array = |name: &[u8]| raw_member(response, name, ValueKind::Array);
        let max_model_len = read_member(response, b"max_model_len", |reader| {
            Ok(std::str::from_utf8(reader.number()?).ok().and_then(|digits| digits.parse().ok()))
        });
        Some(Self {
            tokens: array(b"tokens")?,
            count: read_length(response, b"tokens")?,
            max_model_len,
            token_strs: array(b"token_strs"),
        })
    }
}

/// What a tokenizer is asked for a call, whose model has this context length.
#[derive(Clone, Copy)]
struct Question<'a> {
    call: &'a Call,
    route: TokenizerRoute,
    context_length: u64,
}

impl Dataplane {
    pub async fn tokenize(&self, call: &mut Call) -> Result<TokenizedPrompt, CallError> {
        let (response, context_length, rate_limits) = self.ask_tokenizer(call, TokenizerRoute::Tokenize).await?;
        let read = self.read_response(call, response, TokenLists::read).await;
        let TokenLists { count, max_model_len, tokens, token_strs } = read.ok_or_else(unusable)?;
        let max_model_len = max_model_len.unwrap_or(context_length);
        Ok(TokenizedPrompt { count, max_model_len, tokens, token_strs, rate_limits })
    }

    pub async fn detokenize(&self, call: &mut Call) -> Result<Detokenized, CallError> {
        let (response, _, rate_limits) = self.ask_tokenizer(call, TokenizerRoute::Detokenize).await?;
        let text = self.read_response(call, response, read_text).await;
        Ok(Detokenized { text: text.ok_or_else(unusable)?, rate_limits })
    }

    /// The response of an engine, and the context length of its model.
    async fn ask_tokenizer(
        &self,
        call: &mut Call,
        route: TokenizerRoute,
    ) -> Result<(Bytes, u64, Option<RateLimitStatus>), CallError> {
        let target = self.resolve_any(call)?;
        let model = target.route();
        note_model(call, target.route());
        check_size(call, route)?;
        // The replicas of an endpoint that does not serve say nothing of those that it will have.
        if matches!(target, Target::Serverless(_)) {
            check_tokenizer(&model.pool, call.request.needs)?;
        }
        call.request.adapt_to(model.model.chat);
        let context_length = model.model.context_length;
        self.check_quarantine(call)?;
        let admission = self.admit_side_call(call, &target).await?;
        if self.loses_too_many(call) {
            return Err(CallError::NotServing { retry_after_secs: Some(RETRY_AFTER_SECS) });
        }
        let slot = Box::pin(self.tokenizer_slot(call, &target)).await?;
        let question = Question { call, route, context_length };
        match self.ask_any(question, &target, slot).await {
            Ok(response) => Ok((response, context_length, admission.rate_limits)),
            Err(error) => {
                call.tap.note(|record| record.cause = error.cause());
                Err(error.into_call_error(&target))
            }
        }
    }

    /// A slot at a replica with a tokenizer. A call to an endpoint that has none ready is held as other calls are.
    async fn tokenizer_slot(&self, call: &mut Call, target: &Target) -> Result<Slot, CallError> {
        match (pick(target, &[]), target) {
            (Some(slot), _) => Ok(slot),
            (None, Target::Dedicated(endpoint)) => {
                let _open = endpoint.open_call();
                let slot = self.hold(call, target).await?;
                // The kind of its engine was not known before.
                check_tokenizer(&target.route().pool, call.request.needs)?;
                Ok(slot)
            }
            (None, Target::Serverless(_)) => Err(CallError::NotServing { retry_after_secs: None }),
        }
    }

    /// Asks another replica if the first one cannot be reached.
    async fn ask_any(&self, question: Question<'_>, target: &Target, slot: Slot) -> Result<Bytes, AttemptError> {
        match self.ask_at(&slot, question).await {
            Err(error @ AttemptError::Unreachable(_)) => match pick(target, &[slot.replica().id]) {
                Some(other) => self.ask_at(&other, question).await,
                None => Err(error),
            },
            asked => asked,
        }
    }

    async fn ask_at(&self, slot: &Slot, question: Question<'_>) -> Result<Bytes, AttemptError> {
        let attempt = self.running_attempt(question.call, slot.replica(), Instant::now());
        let asked = Box::pin(self.ask_tokenizer_of(&attempt, question));
        self.within_timeout(&attempt, asked).await
    }

    async fn ask_tokenizer_of(
        &self,
        attempt: &RunningAttempt<'_>,
        question: Question<'_>,
    ) -> Result<Bytes, AttemptError> {
        let Question { call, route, .. } = question;
        let (replica, request) = (attempt.replica, &call.request);
        let own = || own_body(replica, request);
        let (path, body) = match (route, replica.upstream.engine) {
            (TokenizerRoute::Detokenize, _) => ("/detokenize", own()),
            (TokenizerRoute::Tokenize, Some(EngineKind::LlamaServer)) => {
                let text = match request.operation {
                    Operation::Chat { .. } => {
                        let rendered = self.ask_route(attempt, question, "/apply-template", own()).await?;
                        let prompt = |rendered: &Bytes| raw_member(rendered, b"prompt", ValueKind::String);
                        let text = self.read_response(call, rendered, prompt).await;
                        text.ok_or_else(|| AttemptError::Bad("the rendered chat is not a text".into()))?
                    }
                    Operation::Completions(_) | Operation::Embeddings(_) | Operation::Rerank(_) => {
                        Bytes::copy_from_slice(request.prompt())
                    }
                };
                ("/tokenize", text_body(adds_special(&request.body), text))
            }
            (TokenizerRoute::Tokenize, Some(EngineKind::Vllm | EngineKind::Sglang | EngineKind::ForebayEngine)) => {
                ("/tokenize", own())
            }
            (TokenizerRoute::Tokenize, None) => return Err(AttemptError::Bad("an unknown engine".into())),
        };
        self.ask_route(attempt, question, path, body).await
    }

    async fn ask_route(
        &self,
        attempt: &RunningAttempt<'_>,
        Question { call, context_length, .. }: Question<'_>,
        path: &str,
        body: Vec<Bytes>,
    ) -> Result<Bytes, AttemptError> {
        let mut memory = ResponseMemory::new(&*self.memory, &call.caller.organization);
        let head = attempt.replica.head_at_root(path);
        let mut exchange = self.ask_or_reject(attempt, &head, body, context_length).await?;
        let grow = |bytes| memory.grow_for(bytes);
        let response = exchange.collect(MAX_RESPONSE_BYTES, self.timeouts.idle, grow).await.map_err(collect_error)?;
        Ok(memory.hold(response))
    }
}

fn check_size(call: &Call, route: TokenizerRoute) -> Result<(), CallError> {
    if call.request.body.len() <= MAX_REQUEST_BYTES {
        return Ok(());
    }
    let param = match (route, &call.request.operation) {
        (TokenizerRoute::Detokenize, _) => "tokens",
        (TokenizerRoute::Tokenize, Operation::Chat { .. }) => "messages",
        (TokenizerRoute::Tokenize, _) => "prompt",
    };
    Err(CallError::Invalid { param: param.into(), why: format!("has more than {MAX_REQUEST_BYTES} bytes") })
}

/// Whether an engine of the model may have a tokenizer that can be asked. The formats depend on the kind of the engine.
fn check_tokenizer(pool: &Pool, needs: CapabilitySet) -> Result<(), CallError> {
    capable::check(pool, needs, &Dialect::Chat)?;
    if pool.replicas().is_empty() || pool.replicas().iter().any(|replica| has_tokenizer(replica)) {
        return Ok(());
    }
    let present = pool.capabilities().present();
    Err(CallError::Incapable { param: "model", missing: Capability::Tokenize, present })
}

fn has_tokenizer(replica: &Backend) -> bool {
    replica.upstream.engine.is_some()
}

/// A slot at a replica that was not `tried`.
fn pick(target: &Target, tried: &[BackendId]) -> Option<Slot> {
    let route = target.route();
    route.pool.pick_for_side_request(|replica| has_tokenizer(replica) && !tried.contains(&replica.id)).ok()
}

/// Whether the tokens of a text begin with those that the model expects there.
fn adds_special(request: &[u8]) -> bool {
    let member = read_member(request, b"add_special_tokens", |reader| match reader.kind()? {
        ValueKind::Bool => reader.boolean().map(Some),
        _ => reader.skip().map(|()| None),
    });
    member.unwrap_or(true)
}

fn read_text(response: &Bytes) -> Option<Bytes> {
    // As vLLM and forebay-engine, SGLang, and llama-server name it.
    let names: [&[u8]; 3] = [b"prompt", b"text", b"content"];
    names.into_iter().find_map(|name| raw_member(response, name, ValueKind::String))
}

fn unusable() -> CallError {
    CallError::BadGateway { cause: "the response of the tokenizer has neither tokens nor a text".into() }
}
