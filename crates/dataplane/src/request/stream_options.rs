//! The member `stream_options` of a chat request.

use json::{Checks, JsonError, Path, Reader, ValueKind, other_spelling, shorten};
use std::ops::Range;

/// The most options that are forwarded without being known.
const MAX_OTHERS: usize = 16;

/// The client's options of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    /// Wants a last chunk with the usage.
    pub(crate) usage: bool,
    /// Wants running usage in every chunk.
    pub(crate) running_usage: bool,
    /// The engine is asked for a whole response, which becomes a stream here.
    pub(crate) is_gathered: bool,
    /// The range of the value of `stream`.
    pub(super) switch: Range<usize>,
    member: Option<OptionsMember>,
}

/// The ranges of `stream_options` and of its members that the gateway does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OptionsMember {
    span: Range<usize>,
    others: Vec<Range<usize>>,
}

impl StreamOptions {
    /// The value of `stream`.
    pub(super) fn read_switch(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<bool, JsonError> {
        reader.kind()?;
        let start = reader.position();
        let is_on = checks.boolean(reader, &"stream")?.unwrap_or(false);
        self.switch = start..reader.position();
        Ok(is_on)
    }

    /// The value of `stream_options`.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), JsonError> {
        reader.kind()?;
        let start = reader.position();
        let mut others = Vec::new();
        if checks.is(reader, &"stream_options", ValueKind::Object)? {
            reader.object(|reader, name, name_at| {
                if name.is("include_usage") {
                    self.usage = checks.boolean(reader, &"stream_options.include_usage")?.unwrap_or(false);
                } else if name.is("continuous_usage_stats") {
                    let running = checks.boolean(reader, &"stream_options.continuous_usage_stats")?;
                    self.running_usage = running.unwrap_or(false);
                } else {
                    let decoded = name.decoded();
                    if let Some(known) = other_spelling(&decoded, &["include_usage", "continuous_usage_stats"]) {
                        let path = Path::Member(&"stream_options", shorten(&decoded));
                        checks.invalid(&path, || format!("must be written `{known}`"));
                    }
                    let value = reader.span()?;
                    if others.len() < MAX_OTHERS {
                        others.push(name_at..value.end);
                    } else {
                        checks.invalid(&"stream_options", || format!("must have at most {MAX_OTHERS} unknown members"));
                    }
                }
                Ok::<(), JsonError>(())
            })?;
        }
        self.member = Some(OptionsMember { span: start..reader.position(), others });
        Ok(())
    }

    /// The range of the member in the body, if it is there.
    pub(super) fn span(&self) -> Option<Range<usize>> {
        self.member.as_ref().map(|member| member.span.clone())
    }

    /// The options for the upstream: always with usage, and with the members that the gateway does not know.
    pub(super) fn for_upstream(&self, body: &[u8], running_usage: bool) -> Vec<u8> {
        let mut options = br#"{"include_usage":true"#.to_vec();
        if running_usage || self.running_usage {
            options.extend_from_slice(br#","continuous_usage_stats":true"#);
        }
        for other in self.member.iter().flat_map(|member| &member.others) {
            options.push(b',');
            options.extend_from_slice(&body[other.clone()]);
        }
        options.push(b'}');
        options
    }
}
