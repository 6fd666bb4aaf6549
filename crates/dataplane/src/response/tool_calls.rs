//! Tool calls of a chat, as clients of OpenAI expect them: engines differ in what they repeat and leave out.
//!
//! In a stream, the first part of a call has its id, type and name; the parts that follow have the index and more of the
//! arguments. Clients add parts up by index, so a call that an engine begins under the index of another one gets the next.

use super::BadUpstreamResponse;
use json::edits::Edits;
use json::members::{first_member, removal};
use json::{JsonError, Reader, ValueKind};
use std::ops::Range;

/// The most tool calls of a stream. Each part looks for its own among them.
const MAX_CALLS: usize = 512;
/// The most bytes of an id that are kept and compared with later ones; those of engines have some dozens.
const MAX_ID_BYTES: usize = 64;
const TYPE: &str = "\"type\":\"function\"";

/// A tool call in a response, or a part of one in a chunk, as ranges of the text.
#[derive(Debug)]
pub(super) struct ToolPart {
    /// After the brace.
    start: usize,
    is_empty: bool,
    /// Where its index is, and the index; without one, its position counts.
    index: (Option<Range<usize>>, u64),
    id: Option<Member>,
    /// Whether it has a type, and where one is that is null.
    r#type: Option<Member>,
    name: Option<Member>,
    arguments: Option<Member>,
}

/// A member that is a text, or null.
#[derive(Debug)]
struct Member {
    whole: Range<usize>,
    value: Range<usize>,
    is_null: bool,
}

impl Member {
    /// Whether it says nothing: null or an empty text.
    fn is_void(&self) -> bool {
        self.is_null || self.value.len() <= 2
    }
}

impl ToolPart {
    /// Reads the next value; `None` if it is not an object.
    pub(super) fn read(reader: &mut Reader<'_>, position: usize) -> Result<Option<Self>, JsonError> {
        if reader.kind()? != ValueKind::Object {
            reader.skip()?;
            return Ok(None);
        }
        let mut part = Self {
            start: reader.position() + 1,
            is_empty: true,
            index: (None, position as u64),
            id: None,
            r#type: None,
            name: None,
            arguments: None,
        };
        reader.object(|reader, name, name_at| {
            part.is_empty = false;
            match name.raw() {
                b"index" if reader.kind()? == ValueKind::Number => {
                    let start = reader.position();
                    let index = std::str::from_utf8(reader.number()?).ok().and_then(|digits| digits.parse().ok());
                    part.index = (Some(start..reader.position()), index.unwrap_or(part.index.1));
                }
                b"id" => part.id = Some(member(reader, name_at)?),
                b"type" => part.r#type = Some(member(reader, name_at)?),
                b"function" if reader.kind()? == ValueKind::Object => reader.object(|reader, name, name_at| {
                    match name.raw() {
                        b"name" => part.name = Some(member(reader, name_at)?),
                        b"arguments" => part.arguments = Some(member(reader, name_at)?),
                        _ => reader.skip()?,
                    }
                    Ok::<(), JsonError>(())
                })?,
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        Ok(Some(part))
    }

    /// Corrects a whole call.
    pub(super) fn normalize_whole(&self, edits: &mut Edits<'_>) {
        if let Some(r#type) = self.missing_type(edits) {
            edits.insert(self.start, first_member(r#type, !self.is_empty));
        }
        self.set_arguments(edits, "\"{}\"");
    }

    /// Replaces a type that is null. Returns the member if there is none.
    fn missing_type(&self, edits: &mut Edits<'_>) -> Option<&'static str> {
        match &self.r#type {
            None => return Some(TYPE),
            Some(member) if member.is_void() => edits.replace(member.whole.clone(), TYPE.as_bytes()),
            Some(_) => {}
        }
        None
    }

    /// `empty` in place of null.
    fn set_arguments(&self, edits: &mut Edits<'_>, empty: &'static str) {
        if let Some(arguments) = self.arguments.as_ref().filter(|arguments| arguments.is_null) {
            edits.replace(arguments.value.clone(), empty.as_bytes());
        }
    }
}

fn member(reader: &mut Reader<'_>, name_at: usize) -> Result<Member, JsonError> {
    let is_null = reader.kind()? == ValueKind::Null;
    let value = reader.span()?;
    Ok(Member { whole: name_at..value.end, value, is_null })
}

/// The tool calls that the choices of a stream have begun.
#[derive(Debug, Default)]
pub(super) struct ToolCalls(Vec<BegunCall>);

#[derive(Debug)]
struct BegunCall {
    choice: u32,
    /// The index that the engine gives, and the one that the client sees.
    given: u64,
    shown: u64,
    has_name: bool,
    /// As JSON.
    id: Vec<u8>,
}

impl BegunCall {
    /// Whether only arguments of it have come.
    fn is_unknown(&self) -> bool {
        !self.has_name && self.id.is_empty()
    }
}

impl ToolCalls {
    /// Corrects the part of a call of this choice.
    pub(super) fn normalize(
        &mut self,
        part: &ToolPart,
        choice: u32,
        chunk: &[u8],
        edits: &mut Edits<'_>,
    ) -> Result<(), BadUpstreamResponse> {
        let id = part.id.as_ref().filter(|id| !id.is_void()).map(|id| &chunk[id.value.clone()]);
        let id = id.map(|id| &id[..id.len().min(MAX_ID_BYTES)]);
        let has_name = part.name.as_ref().is_some_and(|name| !name.is_void());
        let (place, given) = &part.index;
        let begun = self.0.iter_mut().rev().find(|call| (call.choice, call.given) == (choice, *given));
        // Some engines make a new id for each part, so only one with a name begins a call; others name a call late.
        let begun = begun.filter(|call| !has_name || call.is_unknown() || id.is_none_or(|id| id == call.id));
        let (shown, dropped_id, missing_type) = match begun {
            Some(call) => {
                if has_name && call.is_unknown() {
                    call.id = id.unwrap_or_default().to_vec();
                }
                call.has_name |= has_name;
                if let Some(name) = part.name.as_ref().filter(|name| name.is_void()) {
                    edits.replace(removal(chunk, name.whole.clone()), Vec::new());
                }
                (call.shown, part.id.as_ref().filter(|_| id.is_none_or(|id| id != call.id)), None)
            }
            None => {
                let own = self.0.iter().filter(|call| call.choice == choice);
                if self.0.len() == MAX_CALLS {
                    return Err(BadUpstreamResponse::Unexpected("there are too many tool calls"));
                }
                let is_used = own.clone().any(|call| call.shown == *given);
                let next = own.map(|call| call.shown.saturating_add(1)).max();
                let shown = next.filter(|_| is_used).unwrap_or(*given);
                self.0.push(BegunCall { choice, given: *given, shown, has_name, id: id.unwrap_or_default().to_vec() });
                (shown, None, part.missing_type(edits))
            }
        };
        part.set_arguments(edits, "\"\"");
        let index = format!("\"index\":{shown}");
        let mut added = Vec::new();
        match (place, dropped_id) {
            (None, Some(id)) => edits.replace(id.whole.clone(), index.into_bytes()),
            (None, None) => added.push(index.as_str()),
            (Some(place), dropped_id) => {
                if shown != *given {
                    edits.replace(place.clone(), shown.to_string().into_bytes());
                }
                if let Some(id) = dropped_id {
                    edits.replace(removal(chunk, id.whole.clone()), Vec::new());
                }
            }
        }
        added.extend(missing_type);
        if !added.is_empty() {
            edits.insert(part.start, first_member(&added.join(","), !part.is_empty));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The parts of calls as the client gets them, one chunk each.
    fn normalized(parts: &[Value]) -> Vec<Value> {
        let mut calls = ToolCalls::default();
        let corrected = |part: &Value| {
            let text = part.to_string();
            let mut edits = Edits::default();
            let read = ToolPart::read(&mut Reader::new(text.as_bytes()), 0).unwrap().unwrap();
            calls.normalize(&read, 0, text.as_bytes(), &mut edits).unwrap();
            serde_json::from_slice(&edits.apply(&text.into())).unwrap()
        };
        parts.iter().map(corrected).collect()
    }

    #[test]
    fn a_usual_call_passes_as_it_is() {
        let parts = [
            json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}),
            json!({"index": 0, "function": {"arguments": "{}"}}),
            json!({"index": 1, "id": "b", "type": "function", "function": {"name": "f", "arguments": ""}}),
            json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": " "}}),
        ];
        assert_eq!(normalized(&parts), parts);
    }

    #[test]
    fn parts_are_completed_and_say_nothing_twice() {
        let parts = [
            json!({"id": "a", "function": {"name": "f", "arguments": null}}),
            json!({"index": 0, "id": "", "function": {"name": "", "arguments": "{"}}),
            json!({"id": null, "function": {"name": null, "arguments": "}"}}),
            json!({"index": 0, "id": "other", "function": {"arguments": ""}}),
            json!({}),
        ];
        let expected = [
            json!({"index": 0, "type": "function", "id": "a", "function": {"name": "f", "arguments": ""}}),
            json!({"index": 0, "function": {"arguments": "{"}}),
            json!({"index": 0, "function": {"arguments": "}"}}),
            json!({"index": 0, "function": {"arguments": ""}}),
            json!({"index": 0}),
        ];
        assert_eq!(normalized(&parts), expected);
        assert_eq!(normalized(&[json!({})]), [json!({"index": 0, "type": "function"})]);
    }

    #[test]
    fn a_call_under_the_index_of_another_one_gets_the_next() {
        let part = |index: u64, id: &str, name: &str| json!({"index": index, "id": id, "type": "function", "function": {"name": name}});
        let more = |index: u64| json!({"index": index, "function": {"arguments": "x"}});
        let parts =
            [part(0, "a", "f"), more(0), part(0, "b", "g"), more(0), part(2, "c", "h"), part(0, "d", "f"), more(2)];
        let expected =
            [part(0, "a", "f"), more(0), part(1, "b", "g"), more(1), part(2, "c", "h"), part(3, "d", "f"), more(2)];
        assert_eq!(normalized(&parts), expected);
    }

    #[test]
    fn a_call_may_be_named_after_its_first_arguments() {
        let parts = [
            json!({"index": 0, "type": "function", "function": {"arguments": "{"}}),
            json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "}"}}),
        ];
        assert_eq!(normalized(&parts), parts);
    }

    #[test]
    fn the_number_of_calls_is_bounded() {
        let mut calls = ToolCalls::default();
        let mut begin = |id: usize| {
            let text = format!("{{\"index\":0,\"id\":\"{id}\",\"function\":{{\"name\":\"f\"}}}}");
            let part = ToolPart::read(&mut Reader::new(text.as_bytes()), 0).unwrap().unwrap();
            calls.normalize(&part, 0, text.as_bytes(), &mut Edits::default())
        };
        assert!((0..MAX_CALLS).all(|id| begin(id).is_ok()) && begin(MAX_CALLS).is_err());
    }
}
