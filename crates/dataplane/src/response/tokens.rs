//! Counts the tokens of a response: as reported by the engine, otherwise estimated.

use crate::json::edits::Edits;
use crate::json::{JsonError, Reader, ValueKind};
use domain::usage::{Certainty, Tokens};
use std::ops::Range;

/// A rough average for English text.
const BYTES_PER_TOKEN: u64 = 4;

/// A `usage` object of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReportedUsage {
    pub(super) tokens: Tokens,
    open: usize,
    total: Option<(Range<usize>, u64)>,
}

impl ReportedUsage {
    /// Reads the value of `usage`; anything but an object counts as absent.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, JsonError> {
        if reader.kind()? != ValueKind::Object {
            return reader.skip().map(|_| None);
        }
        let mut reported = Self { open: reader.position(), ..Self::default() };
        let mut has_prompt = false;
        reader.object(|reader, name, _| {
            match name.raw() {
                b"prompt_tokens" => {
                    has_prompt = true;
                    reported.tokens.prompt = count(reader)?;
                }
                b"completion_tokens" => reported.tokens.completion = count(reader)?,
                b"total_tokens" => {
                    let value = count(reader)?;
                    let end = reader.position();
                    let digits = end - value_start(reader, end);
                    reported.total = Some((end - digits..end, value));
                }
                b"prompt_tokens_details" => reported.tokens.cached = cached(reader)?,
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        reported.tokens.cached = reported.tokens.cached.min(reported.tokens.prompt);
        Ok(has_prompt.then_some(reported))
    }

    /// Sets the total to the sum of its parts.
    pub(super) fn add_up(&self, edits: &mut Edits<'_>) {
        let sum = self.tokens.total();
        match &self.total {
            Some((_, total)) if *total == sum => {}
            Some((span, _)) => edits.replace(span.clone(), sum.to_string().into_bytes()),
            None => edits.insert(self.open + 1, format!("\"total_tokens\":{sum},").into_bytes()),
        }
    }
}

/// The start of the digits that end at `end`.
fn value_start(reader: &Reader<'_>, end: usize) -> usize {
    let before = reader.bytes(&(0..end));
    end - before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The maximum that is believed, so that a faulty engine cannot overflow the sums.
const MAX_TOKENS: u64 = 1 << 40;

/// A count; anything but a number is 0.
fn count(reader: &mut Reader<'_>) -> Result<u64, JsonError> {
    if reader.kind()? != ValueKind::Number {
        return reader.skip().map(|_| 0);
    }
    let mut digits = reader.number()?.iter();
    let value = digits
        .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)?.into()));
    Ok(value.unwrap_or(0).min(MAX_TOKENS))
}

fn cached(reader: &mut Reader<'_>) -> Result<u64, JsonError> {
    if reader.kind()? != ValueKind::Object {
        return reader.skip().map(|_| 0);
    }
    let mut cached = 0;
    reader.object(|reader, name, _| {
        if name.raw() == b"cached_tokens" {
            cached = count(reader)?;
            return Ok(());
        }
        reader.skip()
    })?;
    Ok(cached)
}

/// Counts the tokens of one response while it passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenMeter {
    prompt_bytes: u64,
    reported: Option<Tokens>,
    /// Text pieces of a stream; engines usually send one token at a time.
    pieces: u64,
    /// Text bytes of a response that is not streamed.
    text_bytes: u64,
    /// The engine returned something, so it used tokens.
    has_response: bool,
}

impl TokenMeter {
    pub(crate) fn new(prompt_bytes: usize) -> Self {
        Self { prompt_bytes: prompt_bytes as u64, ..Self::default() }
    }

    pub(super) fn report(&mut self, tokens: Tokens) {
        self.reported = Some(tokens);
    }

    pub(super) fn piece(&mut self) {
        self.pieces += 1;
        self.has_response = true;
    }

    pub(super) fn text(&mut self, bytes: usize) {
        self.text_bytes += bytes as u64;
        self.has_response = true;
    }

    pub(super) fn note_response(&mut self) {
        self.has_response = true;
    }

    /// Tokens generated so far: reported, or else estimated.
    pub(crate) fn completion(&self) -> u64 {
        self.reported.map_or(self.pieces, |tokens| tokens.completion)
    }

    /// The current counts. Running usage is exact for the tokens generated so far.
    pub(crate) fn tokens(&self) -> (Tokens, Certainty) {
        match self.reported {
            Some(tokens) => (tokens, Certainty::Exact),
            None if !self.has_response => (Tokens::default(), Certainty::Void),
            None => {
                let prompt = self.prompt_bytes.div_ceil(BYTES_PER_TOKEN);
                let completion = self.pieces + self.text_bytes.div_ceil(BYTES_PER_TOKEN);
                (Tokens { prompt, completion, cached: 0 }, Certainty::Estimated)
            }
        }
    }
}
