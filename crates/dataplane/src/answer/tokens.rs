//! The token counts of an answer: the engine's own where it gives them, else an estimate.

use crate::edits::Edits;
use crate::json::{Kind, Malformed, Reader};
use domain::usage::{Certainty, Tokens};
use std::ops::Range;

/// A rough English token.
const BYTES_PER_TOKEN: u64 = 4;

/// A `usage` object as the engine wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) tokens: Tokens,
    open: usize,
    total: Option<(Range<usize>, u64)>,
}

impl Reported {
    /// Reads the value of `usage`; null and what is no object count as absent.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, Malformed> {
        if reader.kind()? != Kind::Object {
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
            Ok::<(), Malformed>(())
        })?;
        reported.tokens.cached = reported.tokens.cached.min(reported.tokens.prompt);
        Ok(has_prompt.then_some(reported))
    }

    /// Makes the total the sum of its parts.
    pub(super) fn add_up(&self, edits: &mut Edits<'_>) {
        let sum = self.tokens.total();
        match &self.total {
            Some((_, total)) if *total == sum => {}
            Some((span, _)) => edits.replace(span.clone(), sum.to_string().into_bytes()),
            None => edits.insert(self.open + 1, format!("\"total_tokens\":{sum},").into_bytes()),
        }
    }
}

/// Where the value that ends at `end` starts: counts are digits only.
fn value_start(reader: &Reader<'_>, end: usize) -> usize {
    let before = reader.bytes(&(0..end));
    end - before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()
}

/// No call uses more; what an engine says beyond is nonsense that must not reach sums.
const MOST_TOKENS: u64 = 1 << 40;

/// A count; a null or something else is 0.
fn count(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    if reader.kind()? != Kind::Number {
        return reader.skip().map(|_| 0);
    }
    let mut digits = reader.number()?.iter();
    let value = digits
        .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)?.into()));
    Ok(value.unwrap_or(0).min(MOST_TOKENS))
}

fn cached(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    if reader.kind()? != Kind::Object {
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

/// Counts while an answer passes.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    prompt_bytes: u64,
    reported: Option<Tokens>,
    /// Pieces of text seen in a stream: engines send a token at a time.
    pieces: u64,
    /// Bytes of text seen in an answer that came at once.
    text_bytes: u64,
    /// Something came back, so something was used.
    answered: bool,
}

impl Meter {
    pub fn new(prompt_bytes: usize) -> Self {
        Self { prompt_bytes: prompt_bytes as u64, ..Self::default() }
    }

    pub(super) fn report(&mut self, tokens: Tokens) {
        self.reported = Some(tokens);
    }

    pub(super) fn piece(&mut self) {
        self.pieces += 1;
        self.answered = true;
    }

    pub(super) fn text(&mut self, bytes: usize) {
        self.text_bytes += bytes as u64;
        self.answered = true;
    }

    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    /// Tokens generated so far, as far as that can be told.
    pub(crate) fn completion(&self) -> u64 {
        self.reported.map_or(self.pieces, |tokens| tokens.completion)
    }

    /// What is known at this moment. Running usage is exact for what was generated so far.
    pub fn tokens(&self) -> (Tokens, Certainty) {
        match self.reported {
            Some(tokens) => (tokens, Certainty::Exact),
            None if !self.answered => (Tokens::default(), Certainty::Void),
            None => {
                let prompt = self.prompt_bytes.div_ceil(BYTES_PER_TOKEN);
                let completion = self.pieces + self.text_bytes.div_ceil(BYTES_PER_TOKEN);
                (Tokens { prompt, completion, cached: 0 }, Certainty::Estimated)
            }
        }
    }
}
