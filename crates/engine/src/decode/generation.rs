//! One answer in the making: everything about it but its place in the cache, so that it can give that up and come back.

use super::events::{Event, Finish, Progress, Tokens};
use super::logprobs::{Logprob, logprob};
use super::text::Text;
use crate::metrics::Metrics;
use crate::sampling::Sampler;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::vocab::LlamaVocab;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// What to answer, and how.
pub(crate) struct Order {
    /// Not empty, and with room in the context for `max_new` more.
    pub prompt: Vec<LlamaToken>,
    pub max_new: usize,
    pub sampler: Sampler,
    pub stops: Vec<String>,
    /// How many of the likeliest tokens to tell beside each chosen one; `None`: no probabilities at all.
    pub logprobs: Option<usize>,
}

/// An order on its way.
pub(super) struct Generation {
    choice: usize,
    /// The prompt, then what was generated.
    pub(super) tokens: Vec<LlamaToken>,
    prompt: usize,
    cached: Option<usize>,
    max_new: usize,
    generated: usize,
    sampler: Sampler,
    text: Text,
    top: Option<usize>,
    /// Probabilities of tokens whose text is still kept back.
    logprobs: Vec<Logprob>,
    events: mpsc::Sender<Event>,
    arrived: Instant,
    last_token: Option<Instant>,
    _place: OwnedSemaphorePermit,
}

impl Generation {
    pub(super) fn new(choice: usize, order: Order, events: mpsc::Sender<Event>, place: OwnedSemaphorePermit) -> Self {
        Self {
            choice,
            prompt: order.prompt.len(),
            tokens: order.prompt,
            cached: None,
            max_new: order.max_new,
            generated: 0,
            sampler: order.sampler,
            text: Text::new(order.stops),
            top: order.logprobs,
            logprobs: Vec::new(),
            events,
            arrived: Instant::now(),
            last_token: None,
            _place: place,
        }
    }

    /// Whether nobody waits for it any more.
    pub(super) fn abandoned(&self) -> bool {
        self.events.is_closed()
    }

    pub(super) fn same_prompt(&self, other: &Self) -> bool {
        self.tokens[..self.prompt] == other.tokens[..other.prompt]
    }

    /// Notes how much of the prompt was found in the cache; what it finds when it comes back does not count.
    pub(super) fn start_with(&mut self, reused: usize, metrics: &Metrics) {
        if self.cached.is_none() {
            self.cached = Some(reused);
            metrics.prompt(self.prompt, reused);
        }
    }

    /// Takes the next token from the logits at `row`; gives why the answer has ended, if it has.
    pub(super) fn advance(
        &mut self,
        context: &LlamaContext<'_>,
        row: i32,
        vocabulary: &LlamaVocab<'_>,
        metrics: &Metrics,
    ) -> Option<Finish> {
        let token = self.sampler.choose(context, row);
        self.generated += 1;
        self.note_time(metrics);
        if vocabulary.is_eog(token) {
            return Some(Finish::Stop);
        }
        self.tokens.push(token);
        if let Some(count) = self.top {
            self.logprobs.push(logprob(context.get_logits_ith(row), token, count));
        }
        let text = self.text.push(&vocabulary.token_to_piece(token, false, None));
        let ended = if self.text.stopped() {
            Some(Finish::Stop)
        } else {
            (self.generated >= self.max_new).then_some(Finish::Length)
        };
        if !text.is_empty() {
            let logprobs = std::mem::take(&mut self.logprobs);
            self.tell(Progress::Piece { text, logprobs, tokens: self.tokens_so_far() });
        }
        ended
    }

    /// Tells that it cannot be completed.
    pub(super) fn fail(&self) {
        self.tell(Progress::Failed);
    }

    /// Tells that it is whole.
    pub(super) fn finish(mut self, reason: Finish) {
        let text = self.text.finish();
        let logprobs = std::mem::take(&mut self.logprobs);
        self.tell(Progress::Finished { reason, text, logprobs, tokens: self.tokens_so_far() });
    }

    fn tokens_so_far(&self) -> Tokens {
        Tokens { prompt: self.prompt, cached: self.cached.unwrap_or(0), generated: self.generated }
    }

    fn note_time(&mut self, metrics: &Metrics) {
        let now = Instant::now();
        match self.last_token.replace(now) {
            None => metrics.first_token((now - self.arrived).as_secs_f64()),
            Some(before) => metrics.next_token((now - before).as_secs_f64()),
        }
    }

    fn tell(&self, progress: Progress) {
        // Full it cannot be, see `Decoder::submit`; closed means that the client left, which the next step notices.
        let _ = self.events.try_send(Event { choice: self.choice, progress });
    }
}
