//! Turns prompts into tokens and tokens into text, with the tokenizer of the engine. Counts against requests per minute;
//! costs nothing.
//!
//! The formats are vLLM's. What an engine returns is passed on as it is written, because it is JSON already.

use crate::count_tokens::{read_length, read_member};
use crate::error::CallError;
use crate::relay::{AttemptError, collect_error};
use crate::request::Operation;
use crate::resolve::{Target, note_model};
use crate::response_memory::ResponseMemory;
use crate::side_call::{MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES, TIMEOUT};
use crate::{Call, Dataplane};
use bytes::Bytes;
use domain::limits::RateLimitStatus;
use domain::model::EngineKind;
use fleet::{Backend, Slot};
use json::{Reader, ValueKind};

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

/// What the tokenizer of an engine is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenizerRoute {
    Tokenize,
    Detokenize,
}

/// The tokenizer of an engine.
struct Tokenizer<'a> {
    replica: &'a Backend,
    engine: EngineKind,
    call: &'a Call,
    context_length: u64,
}

impl Dataplane {
    pub async fn tokenize(&self, call: &mut Call) -> Result<TokenizedPrompt, CallError> {
        let (response, context_length, rate_limits) = self.ask_tokenizer(call, TokenizerRoute::Tokenize).await?;
        let array = |name: &[u8]| raw(&response, name, ValueKind::Array);
        let (Some(tokens), Some(count)) = (array(b"tokens"), read_length(&response, b"tokens")) else {
            return Err(unusable());
        };
        let max_model_len = read_member(&response, b"max_model_len", |reader| {
            Ok(std::str::from_utf8(reader.number()?).ok().and_then(|digits| digits.parse().ok()))
        });
        let max_model_len = max_model_len.unwrap_or(context_length);
        Ok(TokenizedPrompt { count, max_model_len, tokens, token_strs: array(b"token_strs"), rate_limits })
    }

    pub async fn detokenize(&self, call: &mut Call) -> Result<Detokenized, CallError> {
        let (response, _, rate_limits) = self.ask_tokenizer(call, TokenizerRoute::Detokenize).await?;
        // As vLLM and forebay-engine, SGLang, and llama-server name it.
        let names: [&[u8]; 3] = [b"prompt", b"text", b"content"];
        let text = names.into_iter().find_map(|name| raw(&response, name, ValueKind::String));
        Ok(Detokenized { text: text.ok_or_else(unusable)?, rate_limits })
    }

    /// The response of an engine, and the context length of its model.
    async fn ask_tokenizer(
        &self,
        call: &mut Call,
        route: TokenizerRoute,
    ) -> Result<(Bytes, u64, Option<RateLimitStatus>), CallError> {
        let target = self.resolve_any(call)?;
        let context_length = target.route().model.context_length;
        note_model(call, target.route());
        if call.request.body.len() > MAX_REQUEST_BYTES {
            let param = match (route, &call.request.operation) {
                (TokenizerRoute::Detokenize, _) => "tokens",
                (TokenizerRoute::Tokenize, Operation::Chat { .. }) => "messages",
                (TokenizerRoute::Tokenize, _) => "prompt",
            };
            let why = format!("has more than {MAX_REQUEST_BYTES} bytes");
            return Err(CallError::Invalid { param: param.into(), why });
        }
        self.check_quarantine(call)?;
        let admission = self.admit_side_call(call, &target).await?;
        let asked = tokio::time::timeout(TIMEOUT, Box::pin(self.ask_any(call, &target, route, context_length))).await;
        match asked {
            Ok(Ok(response)) => Ok((response, context_length, admission.rate_limits)),
            Ok(Err(error)) => {
                call.tap.note(|record| record.cause = error.cause());
                Err(error.into_call_error(&target))
            }
            Err(_) => Err(CallError::UpstreamTimeout { limit: TIMEOUT }),
        }
    }

    async fn ask_any(
        &self,
        call: &Call,
        target: &Target,
        route: TokenizerRoute,
        context_length: u64,
    ) -> Result<Bytes, AttemptError> {
        let not_serving = |seconds| AttemptError::Final(CallError::NotServing { retry_after_secs: seconds });
        if self.loses_too_many(call) {
            return Err(not_serving(Some(RETRY_AFTER_SECS)));
        }
        let pool = &target.route().pool;
        let picked = pool.pick_for_side_request(|replica| replica.upstream.engine.is_some());
        let Ok(slot) = picked else {
            let is_unknown = !pool.replicas().iter().any(|replica| replica.upstream.engine.is_some());
            if is_unknown && !pool.replicas().is_empty() {
                let why = "is served by an engine without a route for tokens".into();
                return Err(AttemptError::Final(CallError::Invalid { param: "model".into(), why }));
            }
            return Err(not_serving(None));
        };
        let asked = self.ask_at(&slot, call, route, context_length).await;
        if let Err(error) = &asked {
            self.record_side_failure(slot.replica(), call, error);
        }
        asked
    }

    async fn ask_at(
        &self,
        slot: &Slot,
        call: &Call,
        route: TokenizerRoute,
        context_length: u64,
    ) -> Result<Bytes, AttemptError> {
        let replica = slot.replica();
        let Some(engine) = replica.upstream.engine else { return Err(AttemptError::Bad("an unknown engine".into())) };
        let tokenizer = Tokenizer { replica, engine, call, context_length };
        let (path, body) = match (route, engine) {
            (TokenizerRoute::Detokenize, _) => ("/detokenize", tokenizer.own_body()),
            (TokenizerRoute::Tokenize, EngineKind::LlamaServer) => {
                let text = match call.request.operation {
                    Operation::Chat { .. } => self.rendered_chat(&tokenizer).await?,
                    Operation::Completions(_) | Operation::Embeddings(_) | Operation::Rerank(_) => {
                        Bytes::copy_from_slice(call.request.prompt())
                    }
                };
                ("/tokenize", text_body(&call.request.body, text))
            }
            (TokenizerRoute::Tokenize, EngineKind::Vllm | EngineKind::Sglang | EngineKind::ForebayEngine) => {
                ("/tokenize", tokenizer.own_body())
            }
        };
        self.ask_route(&tokenizer, path, body).await
    }

    /// A chat as llama-server's template writes it, as a string in JSON.
    async fn rendered_chat(&self, tokenizer: &Tokenizer<'_>) -> Result<Bytes, AttemptError> {
        let rendered = self.ask_route(tokenizer, "/apply-template", tokenizer.own_body()).await?;
        let text = raw(&rendered, b"prompt", ValueKind::String);
        text.ok_or_else(|| AttemptError::Bad("the rendered chat is not a text".into()))
    }

    async fn ask_route(&self, tokenizer: &Tokenizer<'_>, path: &str, body: Vec<Bytes>) -> Result<Bytes, AttemptError> {
        let Tokenizer { replica, call, context_length, .. } = *tokenizer;
        let mut memory = ResponseMemory::new(&*self.memory, &call.caller.organization);
        let head = replica.head_at_root(path);
        let mut exchange = self.ask_or_reject(replica, call, &head, body, context_length).await?;
        let grow = |bytes| memory.grow_for(bytes);
        exchange.collect(MAX_RESPONSE_BYTES, self.timeouts.idle, grow).await.map_err(collect_error)
    }
}

impl Tokenizer<'_> {
    /// The client's request, with the engine's own name of the model.
    fn own_body(&self) -> Vec<Bytes> {
        let request = &self.call.request;
        let mut edits = request.upstream_edits(&self.replica.upstream.model, false, None);
        request.continue_prompt(self.engine, &mut edits);
        edits.pieces(&request.body)
    }
}

/// llama-server's request for the tokens of a text, which is a string in JSON.
fn text_body(request: &[u8], text: Bytes) -> Vec<Bytes> {
    let adds_special = read_member(request, b"add_special_tokens", |reader| match reader.kind()? {
        ValueKind::Bool => reader.boolean().map(Some),
        _ => reader.skip().map(|()| None),
    });
    let start = match adds_special {
        Some(false) => &b"{\"add_special\":false,\"parse_special\":true,\"content\":"[..],
        Some(true) | None => b"{\"add_special\":true,\"parse_special\":true,\"content\":",
    };
    vec![Bytes::from_static(start), text, Bytes::from_static(b"}")]
}

/// The member of an object as it is written, if it is of this kind.
fn raw(object: &Bytes, name: &[u8], kind: ValueKind) -> Option<Bytes> {
    let span = read_member(object, name, |reader: &mut Reader<'_>| {
        let found = reader.kind()?;
        reader.span().map(|span| (found == kind).then_some(span))
    });
    span.map(|span| object.slice(span))
}

fn unusable() -> CallError {
    CallError::BadGateway { cause: "the response of the tokenizer has neither tokens nor a text".into() }
}
