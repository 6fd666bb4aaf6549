//! How much the model should think, and reasoning that clients send back unread.

use super::wire::ReasoningEcho;
use crate::raw_text::of_raw;
use crate::thinking::Thinking;
use domain::model::ThinkingSwitch;
use json::{Checks, ParseError, RawStr, Reader, ValueKind};
use std::fmt;

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

#[derive(Debug, Default)]
pub(super) struct ReasoningRequest<'a> {
    effort: Option<&'static str>,
    /// The client wants a summary. There is no other than the reasoning itself.
    pub(super) has_summary: bool,
    /// The kind of summary, escaped.
    summary: Option<RawStr<'a>>,
}

impl<'a> ReasoningRequest<'a> {
    pub(super) fn read(json: &'a [u8], checks: &mut Checks) -> Result<Self, ParseError> {
        let mut request = Self::default();
        let mut reader = Reader::new(json);
        if json.is_empty() || !checks.is(&mut reader, &"reasoning", ValueKind::Object)? {
            return Ok(request);
        }
        reader.object(|reader, name, _| {
            match &*name.decoded() {
                b"effort" => {
                    if let Some(word) = checks.text(reader, &"reasoning.effort")? {
                        checks.word(word, &"reasoning.effort", &EFFORTS);
                        request.effort = EFFORTS.into_iter().find(|effort| word.is(effort));
                    }
                }
                b"summary" => request.summary = checks.text(reader, &"reasoning.summary")?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        request.has_summary = request.summary.is_some_and(|kind| !kind.is("none"));
        Ok(request)
    }

    /// Writes the model's own switch.
    pub(super) fn write_chat(&self, switch: ThinkingSwitch, out: &mut Vec<u8>) {
        let is_on = self.effort.map(|effort| effort != "none");
        Thinking { is_on, effort: self.effort, budget: None }.write(switch, out);
    }

    /// The member of the response.
    pub(super) fn echo(&self) -> ReasoningEcho {
        ReasoningEcho { effort: self.effort, summary: self.summary.map(of_raw) }
    }
}

/// Seals the reasoning that clients of a workspace keep for us, as `encrypted_content`.
pub trait ReasoningSeal: fmt::Debug + Send + Sync {
    fn seal(&self, reasoning: &str) -> String;

    /// `None` for what other services have sealed, which only they can read, and for what other workspaces have.
    fn open(&self, sealed: &str) -> Option<String>;
}

/// The escaped text of our own `encrypted_content`.
pub(super) fn open(seal: &dyn ReasoningSeal, content: RawStr<'_>) -> Option<Vec<u8>> {
    Some(seal.open(std::str::from_utf8(&content.decoded()).ok()?)?.into_bytes())
}
