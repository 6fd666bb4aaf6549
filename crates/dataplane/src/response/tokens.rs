//! Counts the tokens of a response: as reported by the engine, otherwise estimated.
//!
//! Streams are counted per choice. The running usage in a chunk is that of the chunk's own choice (vLLM, SGLang,
//! forebay-engine); only the usage in the last chunk, which has no choices, covers all of them. llama.cpp's server sends
//! such a chunk after each choice, with that choice alone. Example with two choices: `0:a`, `1:b`, `0:c`, each with its
//! running usage 1, 1, 2, make 3 tokens; without running usage, the three pieces of text make 3 tokens, too.
//!
//! A piece of text counts as one token until a report says more, and no report lowers the count of an earlier one: a
//! client that leaves pays at least for what it got.

use super::usage::ReportedUsage;
use crate::request::{BYTES_PER_TOKEN, EchoedPrompts};
use domain::usage::{Certainty, Tokens};
use fleet::Slot;

/// The tokens of one choice of a stream.
#[derive(Debug, Clone, Copy, Default)]
struct ChoiceTokens {
    /// Pieces of text; engines usually send one token at a time.
    pieces: u64,
    reported: u64,
}

impl ChoiceTokens {
    fn counted(self) -> u64 {
        self.pieces.max(self.reported)
    }
}

/// The counts of earlier replicas, if the response went on at another one.
#[derive(Debug, Clone)]
struct Carried {
    /// 0 if no replica reported it.
    prompt: u64,
    cached: Option<u64>,
    completion: u64,
    /// How many of `completion` are in the prompt of the current replica.
    in_prompt: u64,
    /// Pieces that were generated again.
    repeated: u64,
    is_exact: bool,
}

/// The choices that have ended, when a chunk without choices brings usage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) last: Option<u32>,
    /// No choice is still being generated.
    pub(super) all: bool,
}

/// The text of a response that is not streamed, for the tokens that the engine did not report.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnaryText {
    pub(super) choices: u64,
    /// Bytes of the first choice, and of all.
    pub(super) first: u64,
    pub(super) all: u64,
    /// The first choice ended at the token limit.
    pub(super) first_is_cut: bool,
    /// Further choices that ended at the token limit, and their bytes.
    pub(super) cut: u64,
    pub(super) cut_bytes: u64,
    /// The choices begin with their prompts.
    pub(super) repeats_prompts: bool,
}

/// Counts the tokens of one response while it passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenMeter {
    /// The prompt, until the engine reports it.
    estimated_prompt: u64,
    /// The largest report; 0 if there was none.
    prompt: u64,
    /// There are several prompts, and the usage of one choice has only that of its own.
    has_prompts: bool,
    /// `None` if the engine does not report it.
    cached: Option<u64>,
    /// The cached tokens of a stream that was cut before the engine reported them.
    assumed_cached: Option<u64>,
    /// The first choice has no place in `others`, so that a stream with one choice allocates nothing.
    first: ChoiceTokens,
    others: Vec<ChoiceTokens>,
    /// Sums over all choices.
    counted: u64,
    pieces: u64,
    /// The largest report for one choice.
    highest: u64,
    /// A report for all choices.
    whole: Option<u64>,
    /// Reports are known to be those of single choices: one was too small for all of them.
    is_per_choice: bool,
    /// Usage arrives after each choice, in chunks without choices.
    ends_per_choice: bool,
    /// The tokens of the text by its length, for streams without running usage whose pieces have several tokens; 0 if they do
    /// not seem to, and once the engine has reported the final count.
    by_length: u64,
    /// A part of the counts was estimated.
    is_estimated: bool,
    /// The engine reported usage, or returned something that used tokens.
    has_report: bool,
    has_response: bool,
    /// Boxed, because few responses have it.
    carried: Option<Box<Carried>>,
}

impl TokenMeter {
    pub(crate) fn new(estimated_prompt: u64) -> Self {
        Self { estimated_prompt, ..Self::default() }
    }

    /// Only usage of all choices counts for the prompt, of which there are several.
    pub(super) fn expect_prompts(&mut self) {
        self.has_prompts = true;
    }

    /// A piece of text of a streamed choice.
    pub(super) fn piece(&mut self, index: u32) {
        self.has_response = true;
        self.pieces += 1;
        let choice = self.choice(index);
        choice.pieces += 1;
        let is_new = choice.pieces > choice.reported;
        self.counted += u64::from(is_new);
    }

    /// The text so far has this many bytes, in a stream with one choice and without running usage.
    pub(super) fn note_length(&mut self, bytes: u64) {
        let tokens = bytes / BYTES_PER_TOKEN;
        if tokens >= 2 * self.pieces {
            self.by_length = self.by_length.max(tokens);
        }
    }

    /// The engine returned something, so it used tokens.
    pub(super) fn note_response(&mut self) {
        self.has_response = true;
    }

    /// Usage in a chunk of one choice.
    pub(super) fn report_choice(&mut self, index: u32, usage: &ReportedUsage, ended: Ended) {
        // Other choices have text, but nothing was ever reported: an engine without running usage, which adds the usage
        // of all choices to its last chunk.
        let is_whole = !self.has_report && self.pieces > self.choice(index).pieces;
        if is_whole {
            self.report_end(usage, ended);
            return;
        }
        self.note_prompt_of_choice(usage, index == 0);
        if let Some(tokens) = usage.completion() {
            self.raise(index, tokens);
        }
    }

    /// Usage in a chunk of several choices.
    pub(super) fn report_choices(&mut self, usage: &ReportedUsage) {
        self.note_prompt(usage, true);
        self.whole = self.whole.max(usage.completion());
    }

    /// Usage in a chunk without choices. Returns whether it is that of all choices.
    pub(super) fn report_end(&mut self, usage: &ReportedUsage, ended: Ended) -> bool {
        let tokens = usage.completion();
        if self.others.is_empty() {
            self.note_prompt(usage, true);
            if let Some(tokens) = tokens {
                if ended.all {
                    self.forget_surplus_pieces(tokens);
                }
                self.raise(0, tokens);
            }
            return true;
        }
        let enough = if self.is_per_choice { self.counted } else { self.highest.max(self.pieces) };
        if ended.all && !self.ends_per_choice && tokens.is_some_and(|tokens| tokens >= enough) {
            self.note_prompt(usage, true);
            self.whole = self.whole.max(tokens);
            return true;
        }
        self.note_prompt_of_choice(usage, ended.last == Some(0));
        match (ended.last, tokens) {
            (Some(last), Some(tokens)) => {
                self.ends_per_choice |= !ended.all;
                self.is_per_choice = true;
                self.raise(last, tokens);
            }
            // Running usage in chunks of their own.
            (None, tokens) => self.whole = self.whole.max(tokens),
            (Some(_), None) => {}
        }
        false
    }

    /// A response that is not streamed. `of_one_choice` is the engine's count for a single choice, if it gives one:
    /// llama.cpp's server reports the usage of the first choice only.
    pub(super) fn report_unary(&mut self, usage: Option<&ReportedUsage>, of_one_choice: Option<u64>, text: &UnaryText) {
        self.has_response = true;
        if let Some(usage) = usage {
            self.note_prompt(usage, true);
        }
        // The length of repeated prompts is an estimate, so it does not cast doubt on the engine.
        let may_be_nothing = text.all == 0 || text.repeats_prompts;
        let reported = usage.and_then(ReportedUsage::completion).filter(|tokens| *tokens > 0 || may_be_nothing);
        self.whole = Some(match reported {
            None => {
                self.is_estimated |= text.choices > 0;
                text.all.div_ceil(BYTES_PER_TOKEN)
            }
            Some(tokens) if text.choices > 1 && of_one_choice == Some(tokens) => {
                self.is_estimated = true;
                text.tokens_of_all(tokens)
            }
            Some(tokens) => tokens,
        });
    }

    /// The response continues at another replica, whose prompt contains what was generated so far unless it starts over. The
    /// counts so far are kept, and the prompt is not counted again.
    pub(super) fn resume(&mut self, starts_over: bool) {
        let (prompt, cached, completion) = (self.reported_prompt(), self.reported_cached(), self.completion());
        // Before the first token, nothing depends on what the replica reported.
        let is_exact = self.is_exact() || completion == 0;
        let in_prompt = if starts_over { 0 } else { completion };
        let carried = Carried { prompt, cached, completion, in_prompt, repeated: 0, is_exact };
        *self = Self { carried: Some(Box::new(carried)), ..Self::new(self.estimated_prompt) };
    }

    pub(super) fn is_resumed(&self) -> bool {
        self.carried.is_some()
    }

    /// The last piece was generated before, by another replica.
    pub(super) fn piece_is_repeated(&mut self) {
        if let Some(carried) = &mut self.carried
            && carried.repeated < carried.completion
        {
            carried.repeated += 1;
        }
    }

    /// Tokens generated so far: reported, or else estimated.
    pub(crate) fn completion(&self) -> u64 {
        let before = self.carried.as_ref().map_or(0, |carried| carried.completion - carried.repeated);
        before.saturating_add(self.completion_here())
    }

    /// Tokens generated by the current replica.
    fn completion_here(&self) -> u64 {
        match self.whole {
            None => self.counted.max(self.by_length),
            Some(whole) if self.is_per_choice => whole.max(self.counted),
            Some(whole) => whole.max(self.highest).max(self.pieces),
        }
    }

    /// The current counts. Running usage is exact for the tokens generated so far.
    pub(crate) fn tokens(&self) -> (Tokens, Certainty) {
        if !self.has_response && !self.has_report && self.carried.is_none() {
            return (Tokens::default(), Certainty::Void);
        }
        (self.so_far(), if self.is_exact() { Certainty::Exact } else { Certainty::Estimated })
    }

    /// The counts to show a client while the response is running, with the estimated prompt from the start.
    pub(crate) fn so_far(&self) -> Tokens {
        let prompt = match self.reported_prompt() {
            0 => self.estimated_prompt,
            reported => reported,
        };
        Tokens { prompt, completion: self.completion(), cached: self.cached().unwrap_or(0).min(prompt) }
    }

    /// 0 if no replica reported it. The prompt of a replica that continues a response includes what was generated before.
    fn reported_prompt(&self) -> u64 {
        match self.carried.as_deref() {
            None => self.prompt,
            Some(Carried { prompt: 0, in_prompt, .. }) => self.prompt.saturating_sub(*in_prompt),
            Some(Carried { prompt, .. }) => *prompt,
        }
    }

    fn cached(&self) -> Option<u64> {
        self.reported_cached().or(self.assumed_cached)
    }

    /// The stream was cut. Engines report cached tokens with their last usage, so those of a replica that does are estimated: the
    /// client should not pay the full price for them.
    pub(crate) fn assume_cached(&mut self, slot: &Slot) {
        if self.prompt > 0 && self.reported_cached().is_none() && slot.replica().reports_cached() {
            self.assumed_cached = Some(slot.cached_estimate().unwrap_or(0));
        }
    }

    fn reported_cached(&self) -> Option<u64> {
        self.carried.as_ref().and_then(|carried| carried.cached).or(self.cached)
    }

    /// Reports to the router what the engine counted in the prompt.
    pub(crate) fn teach(&self, slot: &Slot) {
        if self.prompt > 0 && self.carried.is_none() {
            slot.learn(self.prompt, self.cached.map(|cached| cached.min(self.prompt)));
        }
    }

    fn is_exact(&self) -> bool {
        let is_reported = |choice: &ChoiceTokens| choice.reported >= choice.pieces;
        self.prompt > 0
            && !self.is_estimated
            && self.assumed_cached.is_none()
            && self.carried.as_ref().is_none_or(|carried| carried.is_exact)
            && match self.whole {
                Some(whole) => self.completion_here() == whole,
                None => {
                    is_reported(&self.first)
                        && self.others.iter().all(is_reported)
                        // Otherwise it is not known whether the reports are to be added up.
                        && (self.is_per_choice || self.counted == self.highest)
                        && self.by_length <= self.counted
                }
            }
    }

    /// The final count of a single choice corrects the estimate: engines may send two pieces for one token, for instance
    /// the name and the arguments of a tool call. A count below half of the pieces is not believed.
    fn forget_surplus_pieces(&mut self, tokens: u64) {
        if tokens > 0 && tokens >= self.pieces / 2 {
            self.pieces = self.pieces.min(tokens);
            self.first.pieces = self.pieces;
            self.counted = self.first.counted();
            self.by_length = 0;
        }
    }

    fn raise(&mut self, index: u32, tokens: u64) {
        self.has_report |= tokens > 0;
        self.is_per_choice |= tokens < self.highest.max(self.pieces);
        self.highest = self.highest.max(tokens);
        let choice = self.choice(index);
        let before = choice.counted();
        choice.reported = choice.reported.max(tokens);
        let gained = choice.counted() - before;
        self.counted += gained;
    }

    fn note_prompt_of_choice(&mut self, usage: &ReportedUsage, of_first_choice: bool) {
        if !self.has_prompts {
            self.note_prompt(usage, of_first_choice);
        }
    }

    /// The cached part is that of the first choice; the others find the prompt in the cache because of it.
    fn note_prompt(&mut self, usage: &ReportedUsage, of_first_choice: bool) {
        if let Some(prompt) = usage.prompt() {
            self.has_report = true;
            self.prompt = self.prompt.max(prompt);
        }
        if let Some(cached) = usage.cached.filter(|_| of_first_choice) {
            self.cached = Some(cached);
        }
    }

    fn choice(&mut self, index: u32) -> &mut ChoiceTokens {
        let Some(position) = (index as usize).checked_sub(1) else { return &mut self.first };
        if position >= self.others.len() {
            self.others.resize(position + 1, ChoiceTokens::default());
        }
        &mut self.others[position]
    }
}

impl UnaryText {
    /// Counts one choice.
    pub(super) fn add(&mut self, bytes: u64, is_cut: bool) {
        if self.choices == 0 {
            (self.first, self.first_is_cut) = (bytes, is_cut);
        } else if is_cut {
            self.cut += 1;
            self.cut_bytes += bytes;
        }
        self.choices += 1;
        self.all += bytes;
    }

    /// Leaves out prompts with which the choices begin, once all choices are counted.
    pub(super) fn leave_out(&mut self, echo: Option<EchoedPrompts>) {
        if let Some(echo) = echo {
            self.repeats_prompts = true;
            self.all = self.all.saturating_sub(echo.bytes_in(self.choices));
        }
    }

    /// The tokens of all choices if the first one has `tokens`: as many for each that was cut at the same limit, and
    /// for the others by their length, rounded so that it is not too few.
    fn tokens_of_all(&self, tokens: u64) -> u64 {
        let mut sum = tokens;
        let mut bytes = self.all.saturating_sub(self.first);
        if self.first_is_cut {
            sum = sum.saturating_add(tokens.saturating_mul(self.cut));
            bytes = bytes.saturating_sub(self.cut_bytes);
        }
        let by_average = bytes.div_ceil(BYTES_PER_TOKEN);
        let by_first = bytes.saturating_mul(tokens).div_ceil(self.first.max(BYTES_PER_TOKEN));
        sum.saturating_add(by_average.max(by_first))
    }
}
