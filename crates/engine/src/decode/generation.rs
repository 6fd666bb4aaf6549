//! One running generation, independent of its cache placement, so that it can be displaced and resumed.

use super::cache::Salt;
use super::events::{Event, FinishReason, Progress, Tokens};
use super::logprobs::{Logprob, logprob};
use super::text::Text;
use crate::metrics::Metrics;
use crate::sampling::Sampler;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::vocab::LlamaVocab;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Prompt and settings of a generation.
pub(crate) struct GenerationRequest {
    /// Not empty, and leaves room in the context for `max_new` tokens.
    pub prompt: Vec<LlamaToken>,
    pub salt: Salt,
    pub max_new: usize,
    pub sampler: Sampler,
    pub stops: Vec<String>,
    /// Number of top alternatives per token; `None` disables log probabilities.
    pub logprobs: Option<usize>,
    /// Whether the tokens of the prompt get log probabilities, too.
    pub scores_prompt: bool,
    /// Whether a token that ends the generation gets one, though it has no text.
    pub scores_end: bool,
}

/// State of a generation.
pub(super) struct Generation {
    choice: usize,
    /// The prompt, followed by the generated tokens.
    pub(super) tokens: Vec<LlamaToken>,
    pub(super) salt: Salt,
    prompt: usize,
    cached: Option<usize>,
    max_new: usize,
    generated: usize,
    sampler: Sampler,
    text: Text,
    top: Option<usize>,
    /// The log probabilities of the prompt's tokens so far; `None` if they are not wanted, or were sent.
    scores: Option<Vec<Logprob>>,
    scores_end: bool,
    /// Log probabilities of tokens whose text is still buffered.
    logprobs: Vec<Logprob>,
    events: mpsc::Sender<Event>,
    arrived: Instant,
    last_token: Option<Instant>,
    _slot: OwnedSemaphorePermit,
}

impl Generation {
    pub(super) fn new(
        choice: usize,
        request: GenerationRequest,
        events: mpsc::Sender<Event>,
        slot: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            choice,
            prompt: request.prompt.len(),
            tokens: request.prompt,
            salt: request.salt,
            cached: None,
            max_new: request.max_new,
            generated: 0,
            sampler: request.sampler,
            text: Text::new(request.stops),
            top: request.logprobs,
            scores: request.scores_prompt.then(Vec::new),
            scores_end: request.scores_end,
            logprobs: Vec::new(),
            events,
            arrived: Instant::now(),
            last_token: None,
            _slot: slot,
        }
    }

    /// Whether the client has disconnected.
    pub(super) fn abandoned(&self) -> bool {
        self.events.is_closed()
    }

    /// Whether one can reuse the prompt of the other.
    pub(super) fn same_prompt(&self, other: &Self) -> bool {
        self.salt == other.salt && self.tokens[..self.prompt] == other.tokens[..other.prompt]
    }

    /// Whether tokens of the prompt are still to be scored.
    pub(super) fn is_scoring(&self) -> bool {
        self.scores.is_some()
    }

    /// How many tokens may come from the cache: the others are computed for their logits.
    pub(super) fn reusable(&self) -> usize {
        self.scores.as_ref().map_or(usize::MAX, Vec::len)
    }

    /// Scores the token of the prompt that follows the one at `at`, with the logits at `row`.
    pub(super) fn score(&mut self, context: &LlamaContext<'_>, at: usize, row: i32) {
        let Some(scores) = &mut self.scores else { return };
        // A prompt that was displaced is computed again in part.
        if at == scores.len() && at + 1 < self.prompt {
            scores.push(logprob(context.get_logits_ith(row), self.tokens[at + 1], self.top.unwrap_or(0)));
        }
        if scores.len() + 1 == self.prompt {
            let logprobs = std::mem::take(scores);
            self.scores = None;
            self.send(Progress::Scored { logprobs });
        }
    }

    /// Records how much of the prompt was cached. Only the first start counts, not a resume.
    pub(super) fn start_with(&mut self, reused: usize, metrics: &Metrics) {
        if self.cached.is_none() {
            self.cached = Some(reused);
            metrics.prompt(self.prompt, reused);
        }
    }

    /// Samples the next token from the logits at `row`; returns the finish reason if the generation has ended.
    pub(super) fn advance(
        &mut self,
        context: &LlamaContext<'_>,
        row: i32,
        vocabulary: &LlamaVocab<'_>,
        metrics: &Metrics,
    ) -> Option<FinishReason> {
        if self.max_new == 0 {
            return Some(FinishReason::Length);
        }
        let token = self.sampler.sample(context, row);
        self.generated += 1;
        self.record_time(metrics);
        let is_end = vocabulary.is_eog(token);
        if let Some(count) = self.top.filter(|_| !is_end || self.scores_end) {
            self.logprobs.push(logprob(context.get_logits_ith(row), token, count));
        }
        if is_end {
            return Some(FinishReason::Stop);
        }
        self.tokens.push(token);
        let text = self.text.push(&vocabulary.token_to_piece(token, false, None));
        let ended = if self.text.stopped() {
            Some(FinishReason::Stop)
        } else {
            (self.generated >= self.max_new).then_some(FinishReason::Length)
        };
        if !text.is_empty() {
            let logprobs = std::mem::take(&mut self.logprobs);
            self.send(Progress::Piece { text, logprobs, tokens: self.tokens_so_far() });
        }
        ended
    }

    /// Reports a failure.
    pub(super) fn fail(&self) {
        self.send(Progress::Failed);
    }

    /// Reports the end.
    pub(super) fn finish(mut self, reason: FinishReason) {
        let text = self.text.finish();
        let logprobs = std::mem::take(&mut self.logprobs);
        self.send(Progress::Finished { reason, text, logprobs, tokens: self.tokens_so_far() });
    }

    fn tokens_so_far(&self) -> Tokens {
        Tokens { prompt: self.prompt, cached: self.cached.unwrap_or(0), generated: self.generated }
    }

    fn record_time(&mut self, metrics: &Metrics) {
        let now = Instant::now();
        match self.last_token.replace(now) {
            None => metrics.first_token((now - self.arrived).as_secs_f64()),
            Some(before) => metrics.next_token((now - before).as_secs_f64()),
        }
    }

    fn send(&self, progress: Progress) {
        // The channel cannot be full, see `Decoder::submit`. If it is closed, the next step removes the generation.
        let _ = self.events.try_send(Event { choice: self.choice, progress });
    }
}
