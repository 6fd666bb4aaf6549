//! One chunk of a chat stream.

use super::finish::{Finish, finish};
use super::members::{first_member, is_empty_object, removal};
use super::tokens::{Meter, Reported};
use super::{Nonsense, upstream_error};
use crate::edits::Edits;
use crate::json::{Kind, Malformed, Reader};
use bytes::BytesMut;
use std::ops::Range;

/// Choices have an index of at most 127: `n` is at most 128.
const MAX_INDEX: u32 = 127;

/// What must stay the same from the first chunk to the last.
#[derive(Debug)]
pub(super) struct Chunks {
    /// The Model ID that the client sent, in quotes.
    model: Vec<u8>,
    /// The first chunk's `id` and `created`, as they stood.
    id: Option<Vec<u8>>,
    created: Option<Vec<u8>>,
    roles: u128,
    started: u128,
    finished: u128,
    wants_usage: bool,
    wants_running_usage: bool,
    usage_sent: bool,
}

#[derive(Default)]
struct Choice {
    index: u32,
    delta: Option<Delta>,
    finish: Option<Range<usize>>,
    finished: bool,
}

#[derive(Default)]
struct Delta {
    /// Where the object opens, or where the null stands instead.
    span: Range<usize>,
    is_null: bool,
    /// `"role":…` as a whole, and whether it says something.
    role: Option<(Range<usize>, bool)>,
    has_text: bool,
}

impl Chunks {
    pub(super) fn new(model: &str, wants_usage: bool, wants_running_usage: bool) -> Self {
        Self {
            model: crate::json::quote(model),
            id: None,
            created: None,
            roles: 0,
            started: 0,
            finished: 0,
            wants_usage,
            wants_running_usage,
            usage_sent: false,
        }
    }

    /// Whether every choice that began has ended.
    pub(super) fn all_finished(&self) -> bool {
        self.started != 0 && self.started == self.finished
    }

    /// Writes the chunk as the client should see it; nothing at all when it should not.
    pub(super) fn pass(&mut self, chunk: &[u8], meter: &mut Meter, out: &mut BytesMut) -> Result<(), Nonsense> {
        let mut reader = Reader::new(chunk);
        let mut edits = Edits::default();
        let mut usage = None;
        let mut choices = 0;
        let mut has_model = false;
        reader.object(|reader, name, name_at| {
            match name.raw() {
                b"id" => keep_first(&mut self.id, reader.span()?, chunk, &mut edits),
                b"created" => keep_first(&mut self.created, reader.span()?, chunk, &mut edits),
                b"model" => {
                    has_model = true;
                    let span = reader.span()?;
                    if chunk[span.clone()] != *self.model {
                        edits.replace(span, self.model.clone());
                    }
                }
                b"choices" if reader.kind()? == Kind::Array => reader.array(|reader, position| {
                    choices += 1;
                    self.choice(reader, position, chunk, meter, &mut edits)
                })?,
                b"usage" => {
                    let reported = Reported::read(reader)?;
                    usage = Some((name_at..reader.position(), reported));
                }
                b"error" if reader.kind()? != Kind::Null => {
                    let span = reader.span()?;
                    return Err(Nonsense::Reported(upstream_error::message(&chunk[span])));
                }
                b"object" => {
                    let span = reader.span()?;
                    if chunk[span] == *b"\"error\"" {
                        return Err(Nonsense::Reported(upstream_error::message(chunk)));
                    }
                }
                _ => reader.skip()?,
            }
            Ok::<(), Nonsense>(())
        })?;
        reader.end()?;
        let sent_before = self.usage_sent;
        self.settle_usage(chunk, usage, choices, meter, &mut edits);
        // A chunk without choices is the one with the usage, once, or nothing for the client.
        if choices == 0 && (sent_before || !self.usage_sent) {
            return Ok(());
        }
        if !has_model {
            let open = chunk.iter().position(|byte| *byte == b'{').unwrap_or(0);
            let member = [b"\"model\":", &self.model[..], b","].concat();
            edits.insert(open + 1, member);
        }
        out.extend_from_slice(b"data: ");
        edits.write_to(chunk, out);
        out.extend_from_slice(b"\n\n");
        Ok(())
    }

    fn settle_usage(
        &mut self,
        chunk: &[u8],
        usage: Option<(Range<usize>, Option<Reported>)>,
        choices: usize,
        meter: &mut Meter,
        edits: &mut Edits<'_>,
    ) {
        let Some((member, reported)) = usage else { return };
        if let Some(reported) = &reported {
            meter.report(reported.tokens);
        }
        let keep = if choices == 0 { self.wants_usage } else { self.wants_running_usage };
        match reported {
            Some(reported) if keep => {
                self.usage_sent |= choices == 0;
                reported.add_up(edits);
            }
            _ => edits.replace(removal(chunk, member), Vec::new()),
        }
    }

    fn choice(
        &mut self,
        reader: &mut Reader<'_>,
        position: usize,
        chunk: &[u8],
        meter: &mut Meter,
        edits: &mut Edits<'_>,
    ) -> Result<(), Nonsense> {
        reader.kind()?;
        let open = reader.position();
        if is_empty_object(chunk, open) {
            return Err(Nonsense::Unexpected("a choice is empty"));
        }
        let mut choice = Choice { index: u32::try_from(position).unwrap_or(MAX_INDEX), ..Choice::default() };
        reader.object(|reader, name, _| {
            match name.raw() {
                b"index" if reader.kind()? == Kind::Number => {
                    let digits = reader.number()?;
                    choice.index = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
                }
                b"delta" => choice.delta = Some(read_delta(reader, edits)?),
                b"finish_reason" => {
                    let kind = reader.kind()?;
                    let start = reader.position();
                    choice.finished = kind != Kind::Null;
                    if kind == Kind::String {
                        match finish(reader.string()?) {
                            Finish::Known => {}
                            Finish::Means(word) => edits.replace(start..reader.position(), word.as_bytes()),
                            Finish::Failure => return Err(Nonsense::Unexpected("the engine gave up on a choice")),
                        }
                    } else {
                        reader.skip()?;
                    }
                    choice.finish = Some(start..reader.position());
                }
                _ => reader.skip()?,
            }
            Ok::<(), Nonsense>(())
        })?;
        if choice.index > MAX_INDEX {
            return Err(Nonsense::Unexpected("a choice has an index above 127"));
        }
        if choice.finish.is_none() {
            edits.insert(open + 1, &b"\"finish_reason\":null,"[..]);
        }
        let bit = 1_u128 << choice.index;
        self.started |= bit;
        if choice.finished {
            self.finished |= bit;
        }
        if choice.delta.as_ref().is_some_and(|delta| delta.has_text) {
            meter.piece();
        }
        self.put_role(choice.delta, bit, open, chunk, edits);
        Ok(())
    }

    /// The role stands in the first delta of a choice and nowhere else.
    fn put_role(&mut self, delta: Option<Delta>, bit: u128, open: usize, chunk: &[u8], edits: &mut Edits<'_>) {
        const ROLE: &str = "\"role\":\"assistant\"";
        let first = self.roles & bit == 0;
        self.roles |= bit;
        let role = if first { ROLE } else { "" };
        match delta {
            None => edits.insert(open + 1, format!("\"delta\":{{{role}}},").into_bytes()),
            Some(delta) if delta.is_null => edits.replace(delta.span, format!("{{{role}}}").into_bytes()),
            Some(Delta { role: Some((member, says)), .. }) => match (first, says) {
                (true, true) => {}
                (true, false) => edits.replace(member, ROLE.as_bytes()),
                (false, _) => edits.replace(removal(chunk, member), Vec::new()),
            },
            Some(delta) if first => {
                let others_follow = !is_empty_object(chunk, delta.span.start);
                edits.insert(delta.span.start + 1, first_member(ROLE, others_follow));
            }
            Some(_) => {}
        }
    }

    /// The chunk that an engine should have sent last: no choices, and the usage.
    pub(super) fn write_usage(&mut self, meter: &Meter, out: &mut BytesMut) {
        if !self.wants_usage || self.usage_sent {
            return;
        }
        self.usage_sent = true;
        let (tokens, _) = meter.tokens();
        let id = self.id.as_deref().unwrap_or(b"\"\"");
        let created = self.created.as_deref().unwrap_or(b"0");
        out.extend_from_slice(b"data: {\"id\":");
        out.extend_from_slice(id);
        out.extend_from_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
        out.extend_from_slice(created);
        out.extend_from_slice(b",\"model\":");
        out.extend_from_slice(&self.model);
        let usage = format!(
            ",\"choices\":[],\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{}}}}}\n\n",
            tokens.prompt,
            tokens.completion,
            tokens.total()
        );
        out.extend_from_slice(usage.as_bytes());
    }
}

fn keep_first(first: &mut Option<Vec<u8>>, span: Range<usize>, chunk: &[u8], edits: &mut Edits<'_>) {
    match first {
        None => *first = Some(chunk[span].to_vec()),
        Some(first) if chunk[span.clone()] != **first => edits.replace(span, first.clone()),
        Some(_) => {}
    }
}

fn read_delta(reader: &mut Reader<'_>, edits: &mut Edits<'_>) -> Result<Delta, Malformed> {
    let kind = reader.kind()?;
    let start = reader.position();
    if kind != Kind::Object {
        let span = reader.span()?;
        return Ok(Delta { span, is_null: true, ..Delta::default() });
    }
    let mut delta = Delta::default();
    reader.object(|reader, name, name_at| {
        match name.raw() {
            b"role" => {
                let says = reader.kind()? == Kind::String;
                reader.skip()?;
                delta.role = Some((name_at..reader.position(), says));
            }
            b"content" | b"reasoning_content" | b"reasoning" | b"refusal" => {
                if reader.kind()? == Kind::String {
                    delta.has_text |= !reader.string()?.raw().is_empty();
                } else {
                    reader.skip()?;
                }
            }
            b"tool_calls" if reader.kind()? == Kind::Array => {
                delta.has_text = true;
                reader.array(|reader, position| number_tool_call(reader, position, edits))?;
            }
            _ => reader.skip()?,
        }
        Ok::<(), Malformed>(())
    })?;
    delta.span = start..reader.position();
    Ok(delta)
}

/// A tool call without an index is lost by some clients and breaks others.
fn number_tool_call(reader: &mut Reader<'_>, position: usize, edits: &mut Edits<'_>) -> Result<(), Malformed> {
    if reader.kind()? != Kind::Object {
        return reader.skip();
    }
    let open = reader.position();
    let mut numbered = false;
    let mut members = 0;
    reader.object(|reader, name, _| {
        members += 1;
        numbered |= name.raw() == b"index";
        reader.skip()
    })?;
    if !numbered {
        edits.insert(open + 1, first_member(&format!("\"index\":{position}"), members > 0));
    }
    Ok(())
}
