//! Parses a request in one pass over its bytes.
//!
//! A body that is not JSON or lacks a required member is rejected at once. An invalid value is kept for later, because
//! an unknown model is reported before it.

mod cache;
pub mod chat;
pub mod completions;
mod continuation;
pub mod embeddings;
mod end_user;
mod estimate;
mod fingerprint;
mod image;
mod media;
mod messages;
mod others;
mod prompts;
pub mod rerank;
mod score;
mod stream_options;
pub mod tokens;
mod tools;
mod upstream;
mod written;

pub(crate) use completions::{CompletionOptions, EchoedPrompts};
pub(crate) use embeddings::{EmbeddingOptions, Encoding};
pub use end_user::EndUserMembers;
pub(crate) use estimate::{BYTES_PER_TOKEN, TokenEstimate};
pub(crate) use fingerprint::SessionContext;
pub(crate) use rerank::{RerankOptions, ScoreForm};
pub(crate) use stream_options::StreamOptions;

pub use json::ParseError;

use bytes::Bytes;
use cache::CacheMembers;
use dialects::{NativeRequest, Translation};
use domain::capabilities::{Capability, CapabilitySet};
use domain::model::{ChatTraits, Modality, ReasoningNames, RequestRules};
use fingerprint::FingerprintMembers;
use fleet::Fingerprint;
use fleet::routing::TokenRatio;
use json::{Checks, InvalidParam, JsonError, Reader, ValueKind};
use others::OtherMembers;
use std::ops::Range;
use std::sync::OnceLock;

/// The maximum size of a response that is not streamed.
pub(crate) const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// A member that the model does not accept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnsupportedParam {
    pub(crate) param: String,
    pub(crate) why: &'static str,
}

/// A prompt that no engine of the model can take.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PromptOverflow {
    pub(crate) param: &'static str,
    /// Estimated, and more than the context has.
    pub(crate) tokens: u64,
}

/// The parts of a request that the gateway needs.
#[derive(Debug, Clone)]
pub struct ParsedRequest {
    /// The body as received, without a byte order mark.
    pub body: Bytes,
    pub(crate) model: String,
    model_span: Range<usize>,
    /// The range of `messages`, `prompt` or `input` in the body.
    prompt: Range<usize>,
    /// The names of reasoning in messages of the assistant, which become the engine's own.
    reasoning_names: Vec<Range<usize>>,
    pub(crate) operation: Operation,
    pub(crate) estimate: TokenEstimate,
    cache: CacheMembers,
    others: OtherMembers,
    /// The path of an address from which an engine would fetch media.
    remote_media: Option<String>,
    fingerprint_members: FingerprintMembers,
    /// Set once it is needed.
    fingerprint: OnceLock<Fingerprint>,
    pub(crate) invalid: Option<InvalidParam>,
    /// Set if the request was translated, and may also be passed through to engines that speak its own API.
    pub(crate) native: Option<NativeRequest>,
    /// Values that engines do not get.
    hidden: Vec<Range<usize>>,
    /// The response continues the last message, where the engine can.
    continues_message: bool,
    /// What the engine must be able to do.
    pub(crate) needs: CapabilitySet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    Chat {
        streaming: Option<StreamOptions>,
    },
    Completions(CompletionOptions),
    Embeddings(EmbeddingOptions),
    /// Rerank and score.
    Rerank(RerankOptions),
}

impl Operation {
    pub(crate) const fn modality(&self) -> Modality {
        match self {
            Self::Chat { .. } | Self::Completions(_) => Modality::Chat,
            Self::Embeddings(_) => Modality::Embedding,
            Self::Rerank(_) => Modality::Rerank,
        }
    }

    /// Whether the call is one of the searches that models for rerank may have a price for. Scores are none.
    pub(crate) const fn is_search(&self) -> bool {
        matches!(self, Self::Rerank(RerankOptions { form: ScoreForm::Rerank { .. }, .. }))
    }

    /// How the client wants the response streamed.
    pub(crate) const fn streaming(&self) -> Option<&StreamOptions> {
        match self {
            Self::Chat { streaming } | Self::Completions(CompletionOptions { streaming, .. }) => streaming.as_ref(),
            Self::Embeddings(_) | Self::Rerank(_) => None,
        }
    }

    /// The most bytes of the request that the response repeats, beside what the engine returns.
    pub(crate) fn echo_bytes(&self) -> usize {
        match self {
            Self::Chat { .. } | Self::Completions(_) | Self::Embeddings(_) => 0,
            Self::Rerank(options) => options.echo_bytes(),
        }
    }
}

/// A request of another API, as one of chat.
#[derive(Debug)]
pub struct Translated<O> {
    pub request: ParsedRequest,
    /// What the response needs to know of the request.
    pub options: O,
    /// The types of tools that no engine has.
    pub left_out_tools: Vec<String>,
}

impl<O> Translated<O> {
    /// Reads the chat request of a translation, which has checked the members itself, but for the size of grammars, and knows
    /// some of them better.
    pub fn parse(translation: Translation<O>) -> Result<Self, ParseError> {
        let Translation { body, invalid, format_member, remote_media, soft_limit, native, options, .. } = translation;
        let (left_out_tools, continues_message) = (translation.left_out_tools, translation.continues_message);
        let (request, mut grammar) = chat::parse_apart(body)?;
        if let Some(grammar) = grammar.as_mut().filter(|grammar| grammar.param == "response_format") {
            grammar.param = format_member.to_owned();
        }
        let invalid = invalid.or(grammar);
        let estimate = match soft_limit {
            Some(limit) => request.estimate.limited_softly(limit),
            None => request.estimate,
        };
        let estimate = estimate.or_native(native.as_ref().map_or(0, NativeRequest::prompt_bytes));
        let request = ParsedRequest { estimate, invalid, remote_media, native, continues_message, ..request };
        Ok(Self { request, options, left_out_tools })
    }
}

impl ParsedRequest {
    /// A request of which only the model and the prompt matter.
    fn bare(
        body: Bytes,
        (model, model_span): (String, Range<usize>),
        prompt: Range<usize>,
        operation: Operation,
        estimate: TokenEstimate,
        (invalid, needed): (Option<InvalidParam>, Capability),
    ) -> Self {
        Self {
            body,
            model,
            model_span,
            prompt,
            reasoning_names: Vec::new(),
            operation,
            estimate,
            cache: CacheMembers::default(),
            others: OtherMembers::default(),
            remote_media: None,
            fingerprint_members: FingerprintMembers::default(),
            fingerprint: OnceLock::new(),
            invalid,
            native: None,
            hidden: Vec::new(),
            continues_message: false,
            needs: CapabilitySet::EMPTY.with(needed),
        }
    }

    /// Sends these values of the client's body as null. A request that is written from scratch does not have them.
    pub fn hide(&mut self, values: Vec<Range<usize>>) {
        if !matches!(self.operation, Operation::Rerank(_)) {
            self.hidden = values;
        }
    }

    /// The bytes that the request takes: the chat, and what is kept of a request in another API.
    pub fn kept_bytes(&self) -> usize {
        self.body.len() + self.native.as_ref().map_or(0, NativeRequest::body_bytes)
    }

    /// The bytes of the prompt; `None` if it has parts other than text, or is not text.
    pub(crate) fn text_bytes(&self) -> Option<u64> {
        (!self.estimate.opaque && self.estimate.token_ids.is_none()).then_some(self.prompt_bytes())
    }

    fn prompt_bytes(&self) -> u64 {
        self.prompt.len() as u64 + self.estimate.native_only
    }

    /// The prompts that the response repeats; `None` if it does not.
    pub(crate) fn echo(&self) -> Option<EchoedPrompts> {
        match &self.operation {
            Operation::Completions(options) if options.echo => {
                let of_ids = self.estimate.token_ids.map(|ids| ids.saturating_mul(BYTES_PER_TOKEN));
                let bytes = of_ids.unwrap_or_else(|| self.prompt_bytes());
                Some(EchoedPrompts { bytes, prompts: options.prompts as u64 })
            }
            Operation::Completions(_) | Operation::Chat { .. } | Operation::Embeddings(_) | Operation::Rerank(_) => {
                None
            }
        }
    }

    /// The tokens of the prompt, estimated from its length and what is known of the model, unless it is token ids. They are
    /// never more than the call has reserved.
    pub(crate) fn prompt_tokens(&self, context_length: u64, ratio: &TokenRatio) -> u64 {
        let tokens = self.estimate.token_ids.unwrap_or_else(|| {
            // Rounded up at four bytes per token.
            let text = self.prompt_bytes().saturating_sub(self.estimate.opaque_bytes);
            ratio.prompt_tokens(text.saturating_add(BYTES_PER_TOKEN - 1)).saturating_add(self.estimate.media_tokens)
        });
        tokens.min(self.estimate.bound(context_length).prompt)
    }

    /// The member with which the response of a model with this context is too large, if it is not streamed.
    pub(crate) fn oversized(&self, context_length: u64) -> Option<&'static str> {
        match &self.operation {
            Operation::Chat { .. } | Operation::Completions(_) if self.asks_for_stream() => None,
            Operation::Chat { .. } | Operation::Completions(_) => {
                self.estimate.oversized(context_length, MAX_RESPONSE_BYTES as u64)
            }
            Operation::Rerank(_) => None,
            Operation::Embeddings(options) => {
                (options.least_bytes()? >= MAX_RESPONSE_BYTES as u64).then_some("dimensions")
            }
        }
    }

    /// How the prompt exceeds a context of this length, whatever the tokenizer of the engine; `None` if it may fit.
    pub(crate) fn overflow(&self, context_length: u64) -> Option<PromptOverflow> {
        let least = self.estimate.least_prompt();
        let param = match &self.operation {
            Operation::Chat { .. } => "messages",
            Operation::Completions(_) => "prompt",
            Operation::Embeddings(_) => "input",
            Operation::Rerank(RerankOptions { form: ScoreForm::Rerank { .. }, .. }) => "query",
            Operation::Rerank(RerankOptions { form: ScoreForm::Score, .. }) => "queries",
        };
        (least > context_length).then(|| PromptOverflow { param, tokens: self.estimate.likely_prompt().max(least) })
    }

    /// The number of choices that the client requested.
    pub(crate) fn choices(&self) -> u64 {
        self.estimate.choices()
    }

    /// `messages`, `prompt` or `input` as the client wrote them.
    pub(crate) fn prompt(&self) -> &[u8] {
        &self.body[self.prompt.clone()]
    }

    /// Whether the client asks for the flex tier.
    pub(crate) fn is_flex(&self) -> bool {
        self.others.is_flex
    }

    /// The part of the request that a model with these rules does not support.
    pub(crate) fn unsupported(&self, rules: &RequestRules) -> Option<UnsupportedParam> {
        if let Some(name) = self.others.refused_by(rules) {
            return Some(UnsupportedParam { param: name.to_owned(), why: "is not supported by this model" });
        }
        let param = self.remote_media.clone().filter(|_| !rules.media_urls)?;
        Some(UnsupportedParam { param, why: "must be a data: URL, because this model does not fetch media" })
    }

    /// Copies the body out of the connection's buffer, so that a call which waits for long does not retain the buffer.
    pub(crate) fn detach_body(&mut self) {
        self.body = Bytes::copy_from_slice(&self.body);
    }

    /// Whether the client wants a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.operation.streaming().is_some()
    }

    /// Whether the engine is asked to stream.
    pub(crate) fn asks_for_stream(&self) -> bool {
        self.operation.streaming().is_some_and(|options| !options.is_gathered)
    }

    fn has_tools(&self) -> bool {
        self.body[self.fingerprint_members.tools.clone()].contains(&b'{')
    }

    /// Prepares the request for a model with these traits.
    pub(crate) fn adapt_to(&mut self, traits: ChatTraits) {
        self.estimate.count_images(traits.images);
        self.fingerprint_members.images = traits.images;
        if traits.reasoning_names == ReasoningNames::AsIs {
            self.reasoning_names.clear();
        }
        if traits.gathers_tools
            && self.has_tools()
            && let Operation::Chat { streaming: Some(options) } = &mut self.operation
        {
            options.is_gathered = true;
            self.native = None;
        }
    }
}

/// The member `model`, which every request has.
#[derive(Default)]
struct ModelMember {
    found: Option<(String, Range<usize>)>,
    is_invalid: bool,
}

impl ModelMember {
    fn read(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), JsonError> {
        match reader.kind()? {
            ValueKind::String => {
                let text = reader.string()?;
                let span = reader.position() - text.raw().len() - 2..reader.position();
                self.found = Some((String::from_utf8_lossy(&text.decoded()).into_owned(), span));
                Ok(())
            }
            ValueKind::Null => reader.skip(),
            other @ (ValueKind::Bool | ValueKind::Number | ValueKind::Array | ValueKind::Object) => {
                self.is_invalid = true;
                checks.invalid(&"model", || format!("must be a string, not {}", other.name()));
                reader.skip()
            }
        }
    }

    /// The name and its range. A model of the wrong type has no name to look up; it is reported as an invalid value.
    fn take(self, checks: &mut Checks) -> Result<(String, Range<usize>), ParseError> {
        match self.found {
            Some(found) => Ok(found),
            None if self.is_invalid => Ok((String::new(), 0..0)),
            None => {
                checks.missing(&"model");
                Err(checks.take_missing())
            }
        }
    }
}
