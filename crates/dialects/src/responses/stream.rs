//! Turns the chunks of a chat stream into the events of a response.
//!
//! The output of a response consists of items, each of which is added, gets text in pieces, and is done. Text and reasoning
//! are done as soon as another item follows. Events name their item, so several tool calls may be open at once, as chat
//! interleaves them; a call whose arguments are complete is done when another item follows, the others at the end. Example:
//!
//! ```text
//! chunk            events, besides those of parts
//! "Hi"             added 0, "Hi"
//! call a: {"x"     done 0, added 1, {"x"
//! call b: {}       added 2, {}
//! call a: :1}      1 goes on: :1}
//! end              done 1, done 2, completed
//! ```

use super::ResponseOptions;
use super::events::{Events, Placed, WRITES_AT_END};
use super::output::{ItemStatus, OutputItem, OutputKind, ToolCall};
use super::resource::{Status, Usage};
use super::response::{call_id, end_status};
use crate::chat_part::{ChatPart, FinishReason, ToolPart};
use crate::writer::Output;
use crate::{Failure, FailureKind, MAX_TOOL_CALLS, StreamTranslator, TranslateError};
use bytes::{Bytes, BytesMut};
use domain::usage::Tokens;
use json::{JsonPieces, RawStr};
use std::collections::HashMap;
use std::sync::Arc;

/// The most bytes of output, which the last event repeats.
const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// The most bytes of log probabilities, which the last event repeats, too. A token takes about 1.5 KiB with its 20
/// alternatives, so this is enough for 20,000 tokens.
const MAX_LOGPROB_BYTES: usize = 32 << 20;
/// The most copies of the output that exist while a stream ends: what was kept, the events that end a message, and the
/// last event. A response that is to be stored has one more.
const COPIES_AT_END: usize = WRITES_AT_END + 2;
/// What an item counts for besides its text.
const ITEM_BYTES: usize = 256;

pub(crate) struct ResponseStream {
    options: Arc<ResponseOptions>,
    /// The memory of `options`.
    echo_bytes: usize,
    events: Events,
    /// In the order in which they were added.
    items: Vec<OutputItem>,
    /// The message or the reasoning that goes on.
    open_text: Option<usize>,
    calls: Vec<StreamedCall>,
    /// The place of the last call with each of the engine's numbers.
    numbered: HashMap<u64, usize>,
    /// The size of the output, without log probabilities.
    bytes: usize,
    logprob_bytes: usize,
    finish: Option<FinishReason>,
    reasoning_tokens: u64,
}

/// A tool call whose pieces arrive.
struct StreamedCall {
    /// The engine's number of the call.
    index: u64,
    id: Option<Box<[u8]>>,
    /// Arguments that came before the name.
    held: Vec<u8>,
    /// The place of its item; `None` until the name is known.
    item: Option<usize>,
    /// `None` once they are not JSON.
    arguments: Option<JsonPieces>,
}

impl StreamedCall {
    fn push(&mut self, piece: RawStr<'_>) {
        if let Some(pieces) = &mut self.arguments
            && pieces.push(&piece.decoded()).is_err()
        {
            self.arguments = None;
        }
    }

    fn is_complete(&self) -> bool {
        self.arguments.is_some_and(|pieces| pieces.is_complete())
    }
}

impl ResponseStream {
    pub(crate) fn new(options: Arc<ResponseOptions>) -> Self {
        Self {
            echo_bytes: options.echo_bytes(),
            options,
            events: Events::default(),
            items: Vec::new(),
            open_text: None,
            calls: Vec::new(),
            numbered: HashMap::new(),
            bytes: 0,
            logprob_bytes: 0,
            finish: None,
            reasoning_tokens: 0,
        }
    }

    /// A stream whose events before this number were written by another.
    pub(crate) fn continuing(options: Arc<ResponseOptions>, number: u64) -> Self {
        Self { events: Events::starting_at(number), ..Self::new(options) }
    }

    fn start(&mut self, out: &mut BytesMut) {
        if self.events.is_empty() {
            for name in [&b"response.created"[..], b"response.in_progress"] {
                self.events.response(name, &self.options, Status::InProgress, &[], None, out);
            }
        }
    }

    fn grow(&mut self, bytes: usize) -> Result<(), TranslateError> {
        self.bytes += bytes;
        self.check_bounds()
    }

    fn check_bounds(&self) -> Result<(), TranslateError> {
        if self.bytes > MAX_OUTPUT_BYTES || self.logprob_bytes > MAX_LOGPROB_BYTES {
            return Err(TranslateError::Unexpected("the response is too large"));
        }
        Ok(())
    }

    /// Adds to the open item of this kind, or to a new one.
    fn add_text(
        &mut self,
        kind: OutputKind,
        text: RawStr<'_>,
        logprobs: Option<&[u8]>,
        out: &mut BytesMut,
    ) -> Result<(), TranslateError> {
        let continues = |place: &usize| {
            matches!(
                (&self.items[*place].kind, &kind),
                (OutputKind::Message, OutputKind::Message) | (OutputKind::Reasoning, OutputKind::Reasoning)
            )
        };
        let place = match self.open_text.filter(continues) {
            Some(place) => place,
            None => {
                let place = self.add_item(kind, out)?;
                self.open_text = Some(place);
                place
            }
        };
        self.append(place, text.raw(), logprobs, out)
    }

    /// Ends what is complete and adds an item. Returns its place.
    fn add_item(&mut self, kind: OutputKind, out: &mut BytesMut) -> Result<usize, TranslateError> {
        self.grow(ITEM_BYTES)?;
        self.end_text(ItemStatus::Completed, out);
        self.end_calls(StreamedCall::is_complete, out);
        let index = self.items.len();
        self.items.push(OutputItem::new(kind));
        let placed = Placed { item: &self.items[index], index, options: &self.options };
        self.events.added(placed, out);
        Ok(index)
    }

    fn append(
        &mut self,
        index: usize,
        text: &[u8],
        logprobs: Option<&[u8]>,
        out: &mut BytesMut,
    ) -> Result<(), TranslateError> {
        self.grow(text.len())?;
        let item = &mut self.items[index];
        item.text.extend_from_slice(text);
        self.logprob_bytes += item.add_logprobs(logprobs.unwrap_or_default());
        self.check_bounds()?;
        let placed = Placed { item: &self.items[index], index, options: &self.options };
        self.events.delta(placed, text, logprobs, out);
        Ok(())
    }

    fn add_tool_piece(&mut self, piece: &ToolPart<'_>, out: &mut BytesMut) -> Result<(), TranslateError> {
        let position = match self.find_call(piece)? {
            Some(position) => position,
            None => self.begin_call(piece)?,
        };
        if self.calls[position].item.is_none()
            && let Some(name) = piece.name
        {
            self.name_call(position, name, out)?;
        }
        let Some(arguments) = piece.arguments else { return Ok(()) };
        let call = &mut self.calls[position];
        call.push(arguments);
        let Some(item) = call.item else {
            call.held.extend_from_slice(arguments.raw());
            return self.grow(arguments.raw().len());
        };
        if self.items[item].status != ItemStatus::InProgress {
            // The arguments were complete. Some engines send an empty piece at the end.
            let is_rest = arguments.decoded().trim_ascii().is_empty();
            let error = TranslateError::Unexpected("a tool call goes on after its arguments are complete");
            return if is_rest { Ok(()) } else { Err(error) };
        }
        self.append(item, arguments.raw(), None, out)
    }

    /// The call that a piece belongs to. Some engines number all calls alike, but give each its id.
    fn find_call(&mut self, piece: &ToolPart<'_>) -> Result<Option<usize>, TranslateError> {
        // Most pieces belong to the last call, which needs no search.
        let position = match self.calls.last() {
            Some(last) if last.index == piece.index => Some(self.calls.len() - 1),
            _ => self.numbered.get(&piece.index).copied(),
        };
        if let (Some(position), Some(id)) = (position, piece.id) {
            match &self.calls[position].id {
                Some(known) if **known != *id.raw() => return Ok(None),
                Some(_) => {}
                None => {
                    self.grow(id.raw().len())?;
                    self.calls[position].id = Some(id.raw().into());
                }
            }
        }
        Ok(position)
    }

    fn begin_call(&mut self, piece: &ToolPart<'_>) -> Result<usize, TranslateError> {
        if self.calls.len() == MAX_TOOL_CALLS {
            return Err(TranslateError::Unexpected("there are too many tool calls"));
        }
        self.grow(ITEM_BYTES + piece.id.map_or(0, |id| id.raw().len()))?;
        self.numbered.insert(piece.index, self.calls.len());
        self.calls.push(StreamedCall {
            index: piece.index,
            id: piece.id.map(|id| id.raw().into()),
            held: Vec::new(),
            item: None,
            arguments: Some(JsonPieces::default()),
        });
        Ok(self.calls.len() - 1)
    }

    /// Adds the item of a call, with what it holds.
    fn name_call(&mut self, position: usize, name: RawStr<'_>, out: &mut BytesMut) -> Result<(), TranslateError> {
        let call = &self.calls[position];
        let id = call_id(call.id.as_deref(), position, &self.options);
        self.grow(id.len() + name.raw().len())?;
        let kind = OutputKind::Call(ToolCall { id, name: name.raw().into() });
        let item = self.add_item(kind, out)?;
        let call = &mut self.calls[position];
        call.item = Some(item);
        let held = std::mem::take(&mut call.held);
        self.bytes -= held.len();
        if held.is_empty() { Ok(()) } else { self.append(item, &held, None, out) }
    }

    fn end_text(&mut self, status: ItemStatus, out: &mut BytesMut) {
        if let Some(index) = self.open_text.take() {
            self.end_item(index, status, out);
        }
    }

    /// Ends the open calls for which `is_due` holds.
    fn end_calls(&mut self, is_due: fn(&StreamedCall) -> bool, out: &mut BytesMut) {
        for position in 0..self.calls.len() {
            let call = &self.calls[position];
            if let Some(index) = call.item
                && self.items[index].status == ItemStatus::InProgress
                && is_due(call)
            {
                self.end_item(index, ItemStatus::Completed, out);
            }
        }
    }

    fn end_item(&mut self, index: usize, status: ItemStatus, out: &mut BytesMut) {
        self.items[index].status = status;
        let placed = Placed { item: &self.items[index], index, options: &self.options };
        self.events.done(placed, out);
    }

    /// Ends what was cut off by the end of the response.
    fn end_cut(&mut self, out: &mut BytesMut) {
        self.end_text(ItemStatus::Incomplete, out);
        self.end_calls(StreamedCall::is_complete, out);
        for index in 0..self.items.len() {
            if self.items[index].status == ItemStatus::InProgress {
                self.end_item(index, ItemStatus::Incomplete, out);
            }
        }
    }
}

impl StreamTranslator for ResponseStream {
    fn chunk(&mut self, chunk: &[u8], _tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError> {
        let part = ChatPart::read(chunk)?;
        self.start(out);
        self.finish = part.finish.or(self.finish);
        self.reasoning_tokens = part.reasoning_tokens.unwrap_or(self.reasoning_tokens);
        if let Some(text) = part.reasoning {
            self.add_text(OutputKind::Reasoning, text, None, out)?;
        }
        if let Some(text) = part.content {
            self.add_text(OutputKind::Message, text, part.logprobs, out)?;
        }
        part.tool_calls.iter().try_for_each(|piece| self.add_tool_piece(piece, out))
    }

    fn kept_bytes(&self) -> usize {
        let copies = COPIES_AT_END + usize::from(self.options.finished.is_some());
        self.echo_bytes + copies * (self.bytes + self.logprob_bytes)
    }

    fn keep_alive(&mut self, out: &mut BytesMut) {
        if !self.events.is_empty() {
            out.put(b": ping\n\n");
        }
    }

    fn end(&mut self, tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError> {
        self.start(out);
        let status = end_status(self.finish);
        let is_cut = matches!(status, Status::Incomplete(_));
        if self.calls.iter().any(|call| call.item.is_none()) && !is_cut {
            return Err(TranslateError::Unexpected("a tool call has no name"));
        }
        if self.items.is_empty() {
            self.open_text = Some(self.add_item(OutputKind::Message, out)?);
        }
        if is_cut {
            self.end_cut(out);
        } else {
            self.end_text(ItemStatus::Completed, out);
            self.end_calls(|_| true, out);
        }
        let usage = Usage { tokens, reasoning_tokens: self.reasoning_tokens };
        let name: &[u8] = if is_cut { b"response.incomplete" } else { b"response.completed" };
        let response = self.events.response(name, &self.options, status, &self.items, Some(usage), out);
        if let Some(finished) = &self.options.finished {
            finished.set(Bytes::copy_from_slice(&out[response]));
        }
        Ok(())
    }

    fn fail(&mut self, failure: Failure<'_>, out: &mut BytesMut) -> bool {
        self.start(out);
        for item in self.items.iter_mut().filter(|item| item.status == ItemStatus::InProgress) {
            item.status = ItemStatus::Incomplete;
        }
        let status = Status::Failed { code: failure_code(failure.kind), message: failure.message };
        self.events.response(b"response.failed", &self.options, status, &self.items, None, out);
        true
    }
}

/// The codes that clients of this API know.
const fn failure_code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::ContextOverflow => "context_length_exceeded",
        FailureKind::RateLimit => "rate_limit_exceeded",
        FailureKind::Quota => "insufficient_quota",
        FailureKind::Overloaded => "server_is_overloaded",
        FailureKind::Server => "server_error",
    }
}
