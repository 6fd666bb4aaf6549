//! How much the model should think, and reasoning that clients send back unread.

use super::request::write_member;
use crate::json::{RawStr, Reader, ValueKind, quote};
use crate::request::{Checks, ParseError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::model::ThinkingSwitch;

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/// Begins what we have written ourselves. The text is the client's own, so it is only encoded.
const OWN: &str = "forebay1:";

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

/// Encodes escaped text for `encrypted_content`.
pub(super) fn encrypt(raw: &[u8]) -> String {
    format!("{OWN}{}", STANDARD.encode(raw))
}

/// The escaped text of our own `encrypted_content`; `None` for that of other services, which only they can read.
pub(super) fn open_encrypted(content: RawStr<'_>) -> Option<Vec<u8>> {
    let content = content.decoded();
    let raw = STANDARD.decode(content.strip_prefix(OWN.as_bytes())?).ok()?;
    // A client may have changed it: it must still be the inside of a JSON string.
    let quoted = [b"\"", &raw[..], b"\""].concat();
    let mut reader = Reader::new(&quoted);
    let is_string = reader.string().is_ok() && reader.end().is_ok() && std::str::from_utf8(&raw).is_ok();
    is_string.then_some(raw)
}
