//! Forwards the responses of engines that speak the client's API themselves.
//!
//! Only the id and the name of the model change. Usage is read as it passes; until it arrives, which is at the end of most
//! streams, the text is counted. Example in Anthropic's API:
//!
//! ```text
//! event                                            counted so far
//! message_start, usage of 10 + 0 tokens            10 + 0
//! content_block_delta "Hello", then " world"       10 + 2, estimated
//! message_delta, usage of 10 + 3 tokens            10 + 3
//! ```

use super::service_tier::{FLEX, FLEX_MEMBER};
use super::tokens::{Ended, TokenMeter, UnaryText};
use super::upstream_error::{self, UpstreamError};
use super::usage::ReportedUsage;
use super::{BadUpstreamResponse, note_once};
use crate::error::CallError;
use bytes::{Bytes, BytesMut};
use dialects::Dialect;
use domain::model::NativeApi;
use json::edits::Edits;
use json::members::is_empty_object;
use json::{JsonError, Reader, ValueKind, quote};

/// The members that hold what a model has written. Signatures and ids are not among them.
const TEXT_MEMBERS: [&[u8]; 8] =
    [b"text", b"thinking", b"partial_json", b"arguments", b"input", b"name", b"refusal", b"delta"];
/// The most bytes of events that are held back until the engine has written something.
const MAX_HELD_BYTES: usize = 1 << 20;

/// The members of a response that are ours, as JSON.
#[derive(Debug)]
pub(crate) struct OwnMembers {
    api: NativeApi,
    id: Vec<u8>,
    model: Vec<u8>,
    is_flex: bool,
}

impl OwnMembers {
    /// `None` for an API that every engine speaks.
    pub(crate) fn new(dialect: &Dialect, model: &str) -> Option<Self> {
        let (api, id) = dialect.native_api()?;
        Some(Self { api, id: quote(&id), model: quote(model), is_flex: dialect.is_flex() })
    }

    /// Names the tier where a message has it.
    fn name_tier(&self, usage: Option<&ReportedUsage>, edits: &mut Edits<'_>) {
        if let Some(usage) = usage.filter(|_| self.is_flex && self.api == NativeApi::Messages) {
            usage.set_flex(edits);
        }
    }
}

/// Converts a response that is not streamed, and counts its tokens.
pub(crate) fn normalize(
    response: &Bytes,
    own: &OwnMembers,
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    let mut reader = Reader::new(response);
    let mut edits = Edits::default();
    if reader.kind()? != ValueKind::Object {
        return Err(BadUpstreamResponse::Unexpected("the response is not an object"));
    }
    let resource = Resource::read(&mut reader, response, own, &mut edits)?;
    reader.end()?;
    if let Some(error) = resource.error {
        return Err(BadUpstreamResponse::Reported(error));
    }
    let Some(bytes) = resource.text else {
        return Err(BadUpstreamResponse::Unexpected("the response has no content"));
    };
    let text = UnaryText { choices: 1, first: bytes, all: bytes, ..UnaryText::default() };
    meter.report_unary(resource.usage.as_ref(), None, &text);
    Ok(edits.apply(response))
}

/// What is read of a message or a response, whole or within an event.
#[derive(Debug, Default)]
struct Resource {
    usage: Option<ReportedUsage>,
    /// Bytes of what the model has written; `None` if it has no such member.
    text: Option<u64>,
    error: Option<UpstreamError>,
}

impl Resource {
    /// Reads the object at which `reader` stands, which is a part of `text`.
    fn read(
        reader: &mut Reader<'_>,
        text: &[u8],
        own: &OwnMembers,
        edits: &mut Edits<'_>,
    ) -> Result<Self, BadUpstreamResponse> {
        let open = reader.position();
        let mut resource = Self::default();
        let (mut has_id, mut has_model, mut has_tier) = (false, false, false);
        reader.object(|reader, name, _| {
            match (name.raw(), own.api) {
                (b"id", _) => {
                    note_once(&mut has_id)?;
                    edits.replace(reader.span()?, own.id.clone());
                }
                (b"model", _) => {
                    note_once(&mut has_model)?;
                    edits.replace(reader.span()?, own.model.clone());
                }
                (b"service_tier", NativeApi::Responses) if own.is_flex => {
                    note_once(&mut has_tier)?;
                    edits.replace(reader.span()?, FLEX);
                }
                (b"content", NativeApi::Messages) | (b"output", NativeApi::Responses) => {
                    let is_list = reader.kind()? == ValueKind::Array;
                    let bytes = text_bytes(reader)?;
                    resource.text = is_list.then_some(bytes);
                }
                (b"usage", api) => resource.usage = ReportedUsage::read_native(reader, api)?,
                (b"error", _) if reader.kind()? != ValueKind::Null => {
                    let span = reader.span()?;
                    resource.error = Some(upstream_error::reported(&text[span]));
                }
                _ => reader.skip()?,
            }
            Ok::<(), BadUpstreamResponse>(())
        })?;
        let is_empty = || is_empty_object(text, open);
        own.name_tier(resource.usage.as_ref(), edits);
        if own.is_flex && own.api == NativeApi::Responses && !has_tier && !is_empty() {
            edits.insert(open + 1, FLEX_MEMBER);
        }
        if !has_model {
            let comma: &[u8] = if is_empty() { b"" } else { b"," };
            edits.insert(open + 1, [b"\"model\":", &own.model[..], comma].concat());
        }
        Ok(resource)
    }
}

/// Forwards the events of a stream.
pub(crate) struct NativeEvents {
    own: OwnMembers,
    dialect: Dialect,
    /// The number of the next event; some APIs number them.
    next_number: u64,
    /// Bytes of text in deltas, and in items that are done.
    delta_bytes: u64,
    done_bytes: u64,
    /// The engine has written something: until then another one can take over, so nothing is sent.
    has_begun: bool,
    is_done: bool,
}

/// One event of an engine.
#[derive(Default)]
struct NativeEvent<'a> {
    kind: &'a [u8],
    number: Option<u64>,
    /// Bytes of text in a delta, and in an item.
    delta: u64,
    item: u64,
    usage: Option<ReportedUsage>,
    /// The error of the response, if it has failed.
    error: Option<UpstreamError>,
}

impl NativeEvents {
    /// `None` for an API that every engine speaks.
    pub(crate) fn new(dialect: &Dialect, model: &str) -> Option<Self> {
        Some(Self {
            own: OwnMembers::new(dialect, model)?,
            dialect: dialect.clone(),
            next_number: 0,
            delta_bytes: 0,
            done_bytes: 0,
            has_begun: false,
            is_done: false,
        })
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the last event has passed.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Forwards the data of an event.
    pub(super) fn pass(
        &mut self,
        data: &[u8],
        meter: &mut TokenMeter,
        out: &mut BytesMut,
    ) -> Result<(), BadUpstreamResponse> {
        let mut edits = Edits::default();
        let mut event = self.read(data, &mut edits)?;
        match event.kind {
            b"error" => return Err(BadUpstreamResponse::Reported(upstream_error::reported(data))),
            b"ping" if !self.has_begun => return Ok(()),
            _ => {}
        }
        let failure = match event.error.take() {
            Some(error) => Some(BadUpstreamResponse::Reported(error)),
            None if event.kind == b"response.failed" => {
                Some(BadUpstreamResponse::Unexpected("the engine gave up on the response"))
            }
            None => None,
        };
        // The work for a response that failed counts if the engine reports it.
        if failure.is_none() || event.usage.is_some() {
            self.count(&event, meter);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.next_number = event.number.unwrap_or(self.next_number).saturating_add(1);
        self.is_done = matches!(event.kind, b"message_stop" | b"response.completed" | b"response.incomplete");
        for part in [b"event: ", event.kind, b"\ndata: "] {
            out.extend_from_slice(part);
        }
        edits.write_to(data, out);
        out.extend_from_slice(b"\n\n");
        let is_first =
            matches!(event.kind, b"message_start" | b"response.created" | b"response.queued" | b"response.in_progress");
        self.has_begun |= !is_first || out.len() > MAX_HELD_BYTES;
        Ok(())
    }

    fn read<'a>(&self, data: &'a [u8], edits: &mut Edits<'_>) -> Result<NativeEvent<'a>, BadUpstreamResponse> {
        let mut event = NativeEvent::default();
        let mut reader = Reader::new(data);
        if reader.kind()? != ValueKind::Object {
            return Err(BadUpstreamResponse::Unexpected("an event is not an object"));
        }
        let (mut has_resource, mut has_usage) = (false, false);
        reader.object(|reader, name, _| {
            match (name.raw(), reader.kind()?) {
                (b"type", ValueKind::String) => event.kind = reader.string()?.raw(),
                (b"message" | b"response", ValueKind::Object) => {
                    note_once(&mut has_resource)?;
                    let resource = Resource::read(reader, data, &self.own, edits)?;
                    (event.usage, event.error) = (resource.usage, resource.error);
                }
                (b"usage", _) => {
                    note_once(&mut has_usage)?;
                    event.usage = ReportedUsage::read_native(reader, self.own.api)?;
                    self.own.name_tier(event.usage.as_ref(), edits);
                }
                (b"delta", ValueKind::String) => event.delta += reader.string()?.raw().len() as u64,
                (b"delta" | b"content_block", _) => event.delta += text_bytes(reader)?,
                (b"item", _) => event.item = text_bytes(reader)?,
                (b"sequence_number", ValueKind::Number) => {
                    event.number = std::str::from_utf8(reader.number()?).ok().and_then(|digits| digits.parse().ok());
                }
                (b"error", ValueKind::Object | ValueKind::String) => {
                    let span = reader.span()?;
                    return Err(BadUpstreamResponse::Reported(upstream_error::reported(&data[span])));
                }
                _ => reader.skip()?,
            }
            Ok::<(), BadUpstreamResponse>(())
        })?;
        reader.end()?;
        if event.kind.is_empty() {
            return Err(BadUpstreamResponse::Unexpected("an event has no type"));
        }
        Ok(event)
    }

    fn count(&mut self, event: &NativeEvent<'_>, meter: &mut TokenMeter) {
        meter.note_response();
        let is_item = event.kind == b"response.output_item.added";
        let text = event.delta + if is_item { event.item } else { 0 };
        if text > 0 {
            meter.piece(0);
        }
        self.delta_bytes += text;
        if event.kind == b"response.output_item.done" {
            self.done_bytes += event.item;
        }
        if text > 0 || event.item > 0 {
            meter.note_length(self.delta_bytes.max(self.done_bytes));
        }
        if let Some(usage) = &event.usage {
            // The usage at the start is that of the prompt.
            let all = event.kind != b"message_start";
            meter.report_end(usage, Ended { last: Some(0), all });
        }
    }

    /// What is kept to write an error.
    pub(super) fn kept_bytes(&self) -> usize {
        self.dialect.echo_bytes()
    }

    /// Writes that the stream has failed. Returns false if the API leaves this to its surface.
    pub(super) fn fail(&self, error: &CallError, out: &mut BytesMut) -> bool {
        error.with_failure(|failure| self.dialect.fail_native(failure, self.next_number, out))
    }
}

/// The bytes of the text in a value of any type.
fn text_bytes(reader: &mut Reader<'_>) -> Result<u64, JsonError> {
    let mut bytes = 0;
    match reader.kind()? {
        ValueKind::Array => reader.array(|reader, _| {
            bytes += text_bytes(reader)?;
            Ok::<(), JsonError>(())
        })?,
        ValueKind::Object => reader.object(|reader, name, _| {
            let is_text = TEXT_MEMBERS.contains(&name.raw());
            bytes += match (reader.kind()?, is_text) {
                (ValueKind::String, true) => reader.string()?.raw().len() as u64,
                // The arguments of a tool, as JSON.
                (ValueKind::Object, true) => reader.span()?.len().saturating_sub("{}".len()) as u64,
                _ => text_bytes(reader)?,
            };
            Ok::<(), JsonError>(())
        })?,
        ValueKind::String | ValueKind::Number | ValueKind::Bool | ValueKind::Null => reader.skip()?,
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "native_tests.rs"]
pub(crate) mod tests;
