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
    /// In the order of [`NAMES`]: where the value is, and its type, if there is one.
    found: [Option<(Range<usize>, ValueKind)>; NAMES.len()],
}

impl Reasoning {
    /// Reads the value of one of the members. Returns the bytes of its text, 0 for one that repeats the other.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, name: &[u8]) -> Result<u64, JsonError> {
        let kind = reader.kind()?;
        let span = reader.span()?;
        let bytes = if kind == ValueKind::String { span.len() as u64 - 2 } else { 0 };
        let is_first = self.found.iter().flatten().all(|(text, kind)| *kind != ValueKind::String || text.len() <= 2);
        let place = usize::from(name != NAMES[0].as_bytes());
        self.found[place] = Some((span, kind));
        Ok(if is_first { bytes } else { 0 })
    }

    /// Writes a text under its other name, too, unless the engine did or there is too much of it. A null is replaced.
    pub(super) fn write_both(&self, text: &[u8], budget: &mut RepeatBudget, edits: &mut Edits<'_>) {
        use ValueKind::{Null, String};
        let (span, name, other) = match &self.found {
            [Some((span, String)), other @ (None | Some((_, Null)))] => (span, NAMES[1], other),
            [other @ (None | Some((_, Null))), Some((span, String))] => (span, NAMES[0], other),
            _ => return,
        };
        if budget.take(span.len()) {
            let value = &text[span.clone()];
            match other {
                Some((null, _)) => edits.replace(null.clone(), value.to_vec()),
                None => edits.insert(span.end, [b",\"", name.as_bytes(), b"\":", value].concat()),
            }
        }
    }
}
