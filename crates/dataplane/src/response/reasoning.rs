//! Reasoning in a message: engines and clients call it `reasoning` or `reasoning_content`, so responses have both, unless
//! the model says otherwise.

use domain::model::ReasoningNames;
use json::edits::Edits;
use json::{JsonError, Reader, ValueKind};
use std::ops::Range;

const NAMES: [&str; 2] = ["reasoning", "reasoning_content"];
/// The most text of a response, or of a chunk, that is repeated: memory for the repetition is not reserved.
const MAX_REPEATED_BYTES: usize = 1 << 20;

/// What is left of [`MAX_REPEATED_BYTES`], over all choices.
#[derive(Debug)]
pub(super) struct RepeatBudget(usize);

impl RepeatBudget {
    /// A response that keeps the engine's name repeats nothing.
    pub(super) fn new(names: ReasoningNames) -> Self {
        match names {
            ReasoningNames::Both => Self(MAX_REPEATED_BYTES),
            ReasoningNames::AsIs => Self(0),
        }
    }

    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// The texts of a message or a delta.
#[derive(Default)]
pub(super) struct Reasoning {
    /// In the order of [`NAMES`]: where the value is, if there is one, and whether it is a text.
    found: [Option<(Range<usize>, bool)>; NAMES.len()],
}

impl Reasoning {
    /// Reads the value of one of the members. Returns the bytes of its text, 0 for one that repeats the other.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, name: &[u8]) -> Result<u64, JsonError> {
        let is_text = reader.kind()? == ValueKind::String;
        let span = reader.span()?;
        let bytes = if is_text { span.len() as u64 - 2 } else { 0 };
        let is_first = self.found.iter().flatten().all(|(text, is_text)| !is_text || text.len() <= 2);
        let place = usize::from(name != NAMES[0].as_bytes());
        self.found[place] = Some((span, is_text));
        Ok(if is_first { bytes } else { 0 })
    }

    /// Writes a text under its other name, too, unless the engine did or there is too much of it.
    pub(super) fn write_both(&self, text: &[u8], budget: &mut RepeatBudget, edits: &mut Edits<'_>) {
        let (span, name) = match &self.found {
            [Some((span, true)), None] => (span, NAMES[1]),
            [None, Some((span, true))] => (span, NAMES[0]),
            _ => return,
        };
        if budget.take(span.len()) {
            let repeated = [b",\"", name.as_bytes(), b"\":", &text[span.clone()]].concat();
            edits.insert(span.end, repeated);
        }
    }
}
