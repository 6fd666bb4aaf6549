//! How much the model should think, and reasoning that clients send back unread.

use crate::json::{RawStr, Reader, ValueKind, quote};
use crate::request::{Checks, ParseError};
use crate::translate::writer::write_member;
use domain::WorkspaceId;
use domain::model::ThinkingSwitch;
use store::ContentKeys;

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
        let Some(effort) = self.effort else { return };
        match switch {
            ThinkingSwitch::ReasoningEffort => write_member("reasoning_effort", &quote(effort), out),
            ThinkingSwitch::EnableThinking => {
                let value: &[u8] = match effort {
                    "none" => b"{\"enable_thinking\":false}",
                    _ => b"{\"enable_thinking\":true}",
                };
                write_member("chat_template_kwargs", value, out);
            }
            ThinkingSwitch::None => {}
        }
    }

    /// `{"effort":…,"summary":…}`.
    pub(super) fn echo(&self) -> Vec<u8> {
        let effort = self.effort.map_or(b"null".to_vec(), quote);
        let summary = self.summary.map_or(b"null".to_vec(), |kind| [b"\"", kind.raw(), b"\""].concat());
        [b"{\"effort\":", &effort[..], b",\"summary\":", &summary[..], b"}"].concat()
    }
}

/// Seals the reasoning that clients of a workspace keep for us, as `encrypted_content`.
#[derive(Debug, Clone)]
pub struct ReasoningSeal {
    pub keys: ContentKeys,
    pub workspace: WorkspaceId,
}

impl ReasoningSeal {
    /// Seals escaped text.
    pub(super) fn seal(&self, raw: &[u8]) -> String {
        self.keys.seal_reasoning(&self.workspace, &String::from_utf8_lossy(raw))
    }

    /// The escaped text of our own `encrypted_content`; `None` for that of other services, which only they can read, and
    /// for that of other workspaces.
    pub(super) fn open(&self, content: RawStr<'_>) -> Option<Vec<u8>> {
        let content = content.decoded();
        let raw = self.keys.open_reasoning(&self.workspace, std::str::from_utf8(&content).ok()?)?;
        Some(raw.into_bytes())
    }
}
