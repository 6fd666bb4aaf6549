//! The text of a completion and its log probabilities, in the format of the completions API.

use super::chunks::finite;
use crate::completion::{CompletionRequest, Prompt};
use crate::decode::{FinishReason, Logprob, TokenLogprob};
use crate::model::Model;
use llama_cpp_2::token::LlamaToken;
use serde_json::{Map, Value, json};

/// The parts of a request that its response needs.
pub(super) struct TextOptions {
    pub(super) with_logprobs: bool,
    /// What each prompt adds to the beginning of its choices; empty unless the response echoes prompts.
    pub(super) echoes: Vec<Echo>,
    pub(super) prompts: usize,
    /// Choices per prompt.
    pub(super) choices: usize,
}

/// A prompt that is repeated.
#[derive(Clone)]
pub(super) struct Echo {
    pub(super) text: String,
    first: LlamaToken,
    first_shown: SpecialTokens,
}

/// Whether special tokens are a part of the text.
#[derive(Clone, Copy)]
enum SpecialTokens {
    Shown,
    Hidden,
}

impl TextOptions {
    pub(super) fn new(request: &CompletionRequest, prompts: &[Vec<LlamaToken>], model: &Model) -> Self {
        let bos = model.vocabulary().should_add_bos().then(|| model.vocabulary().bos());
        let is_added =
            |first: LlamaToken, text: &str| bos == Some(first) && !text.starts_with(&text_of(&[first], model));
        let echo = |(prompt, tokens): (&Prompt, &Vec<LlamaToken>)| {
            let first = tokens.first().copied().unwrap_or(model.any_token());
            let (text, first_shown) = match prompt {
                Prompt::Text(text) if is_added(first, text) => (text.clone(), SpecialTokens::Hidden),
                Prompt::Text(text) => (text.clone(), SpecialTokens::Shown),
                Prompt::Tokens(_) => (text_of(tokens, model), SpecialTokens::Shown),
            };
            Echo { text, first, first_shown }
        };
        let echoes = if request.echo { request.prompts.iter().zip(prompts).map(echo).collect() } else { Vec::new() };
        let with_logprobs = request.logprobs.is_some();
        Self { with_logprobs, echoes, prompts: prompts.len(), choices: request.choices }
    }

    /// The number of choices over all prompts.
    pub(super) fn all_choices(&self) -> usize {
        self.prompts * self.choices
    }

    pub(super) fn echo(&self, choice: usize) -> Option<&Echo> {
        self.echoes.get(choice / self.choices)
    }
}

/// The text of tokens, special ones included.
pub(super) fn text_of(tokens: &[LlamaToken], model: &Model) -> String {
    let vocabulary = model.vocabulary();
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| vocabulary.token_to_piece(*token, true, None)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Tokens with their log probabilities. The first token of a prompt has none.
#[derive(Default)]
pub(super) struct TextLogprobs {
    tokens: Vec<String>,
    token_logprobs: Vec<Option<f32>>,
    top_logprobs: Vec<Option<Map<String, Value>>>,
    text_offset: Vec<usize>,
    /// Characters before the next token.
    offset: usize,
}

impl TextLogprobs {
    /// The text before the first token has this many characters.
    pub(super) fn after(offset: usize) -> Self {
        Self { offset, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub(super) fn add_prompt(&mut self, echo: &Echo, logprobs: &[Logprob], model: &Model) {
        self.add_token(echo.first, echo.first_shown, model);
        self.token_logprobs.push(None);
        self.top_logprobs.push(None);
        self.add_tokens(logprobs, SpecialTokens::Shown, model);
    }

    /// Adds what the model wrote, whose text has no special tokens.
    pub(super) fn add(&mut self, logprobs: &[Logprob], model: &Model) {
        self.add_tokens(logprobs, SpecialTokens::Hidden, model);
    }

    fn add_tokens(&mut self, logprobs: &[Logprob], special: SpecialTokens, model: &Model) {
        for logprob in logprobs {
            self.add_token(logprob.chosen.token, special, model);
            self.token_logprobs.push(Some(finite(logprob.chosen.logprob)));
            let mut top = Map::new();
            // Two tokens may have the same text; the more likely one counts.
            for TokenLogprob { token, logprob } in logprob.top.iter().chain([&logprob.chosen]) {
                top.entry(text_of(&[*token], model)).or_insert_with(|| finite(*logprob).into());
            }
            self.top_logprobs.push(Some(top));
        }
    }

    fn add_token(&mut self, token: LlamaToken, special: SpecialTokens, model: &Model) {
        self.tokens.push(text_of(&[token], model));
        self.text_offset.push(self.offset);
        let shown = model.vocabulary().token_to_piece(token, matches!(special, SpecialTokens::Shown), None);
        self.offset += String::from_utf8_lossy(&shown).chars().count();
    }

    /// Takes the tokens so far; the next ones follow them in the text.
    pub(super) fn take(&mut self) -> Value {
        let offset = self.offset;
        let Self { tokens, token_logprobs, top_logprobs, text_offset, .. } =
            std::mem::replace(self, Self::after(offset));
        json!({
            "tokens": tokens,
            "token_logprobs": token_logprobs,
            "top_logprobs": top_logprobs,
            "text_offset": text_offset,
        })
    }
}

/// One choice of a response or of a chunk.
pub(super) fn choice(index: usize, text: &str, logprobs: &Value, finish: Option<FinishReason>) -> Value {
    let finish = finish.map(|finish| match finish {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
    });
    json!({"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish})
}
