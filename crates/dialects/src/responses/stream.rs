//! Turns the chunks of a chat stream into the events of a response.
//!
//! The output of a response consists of items, each of which is added, gets text in pieces, and is done. Text and reasoning
//! are done as soon as another item follows. Events name their item, so several tool calls may be open at once, as chat
//! interleaves them; a call whose arguments are complete is done when another item follows, the others at the end. Text and
//! reasoning wait until the calls are complete: clients expect nothing but calls beside an open call. Example:
//!
//! ```text
//! chunk            events, besides those of parts
//! "Hi"             added 0, "Hi"
//! call a: {"x"     done 0, added 1, {"x"
//! call b: {}       added 2, {}
//! "Bye"
//! call a: :1}      1 goes on: :1}; done 1, done 2, added 3, "Bye"
//! end              done 3, completed
//! ```

use super::ResponseOptions;
use super::events::{Events, Placed};
use super::output::{OutputItem, OutputKind, ToolCall};
use super::response::{Status, end_status, response};
use super::wire::{ItemStatus, Usage};
use crate::chat_part::{ChatPart, FinishReason, ToolPart};
use crate::raw_text::{ListBuilder, RawText, Text, TextBuilder};
use crate::{Failure, FailureKind, MAX_TOOL_CALLS, StreamTranslator, TranslateError, sse};
use bytes::BytesMut;
use domain::usage::Tokens;
use json::JsonPieces;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;

/// The most bytes of output, which the last event repeats.
const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// The most bytes of log probabilities, which the last event repeats, too. A token takes about 1.5 KiB with its 20
/// alternatives, so this is enough for 20,000 tokens.
const MAX_LOGPROB_BYTES: usize = 32 << 20;
/// How often the events that end a message repeat it.
const WRITES_AT_END: usize = 3;
/// The most copies of the output that exist while a stream ends: what was kept, the events that end a message, and the
/// last event. A response that is to be stored has one more.
const COPIES_AT_END: usize = WRITES_AT_END + 2;
const FIRST_EVENTS: [&str; 2] = ["response.created", "response.in_progress"];
/// What an item counts for besides its text.
const ITEM_BYTES: usize = 256;

pub(crate) struct ResponseStream {
    options: Arc<ResponseOptions>,
    events: Events,
    /// In the order in which they were added.
    items: Vec<OutputItem>,
    /// The message or the reasoning that goes on.
    open_text: Option<usize>,
    /// Text and reasoning that came while calls were open.
    waiting: Vec<WaitingText>,
    calls: Vec<StreamedCall>,
    /// The place of the last call with each of the engine's numbers.
    numbered: HashMap<u64, usize>,
    /// The size of the output, without log probabilities.
    bytes: usize,
    logprob_bytes: usize,
    finish: Option<FinishReason>,
    reasoning_tokens: u64,
}

/// The kinds of items that have text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Reasoning,
    Message,
}

impl TextKind {
    fn item(self) -> OutputKind {
        match self {
            Self::Reasoning => OutputKind::Reasoning,
            Self::Message => OutputKind::Message,
        }
    }

    fn is_of(self, item: &OutputItem) -> bool {
        match item.kind {
            OutputKind::Reasoning => self == Self::Reasoning,
            OutputKind::Message => self == Self::Message,
            OutputKind::Call(_) => false,
        }
    }
}

struct WaitingText {
    kind: TextKind,
    text: TextBuilder,
    logprobs: ListBuilder,
    /// The size of the log probabilities.
    logprob_bytes: usize,
}

/// A tool call whose pieces arrive.
struct StreamedCall {
    /// The engine's number of the call.
    index: u64,
    /// Escaped.
    id: Option<Box<str>>,
    /// Arguments that came before the name.
    held: TextBuilder,
    /// The place of its item; `None` until the name is known.
    item: Option<usize>,
    /// `None` once they are not JSON.
    arguments: Option<JsonPieces>,
}

impl StreamedCall {
    fn push(&mut self, piece: RawText<'_>) {
        if let Some(pieces) = &mut self.arguments
            && pieces.push(piece.decoded().as_bytes()).is_err()
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
            options,
            events: Events::default(),
            items: Vec::new(),
            open_text: None,
            waiting: Vec::new(),
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

    /// Begins the response before its engine does.
    pub(crate) fn open(mut self, out: &mut BytesMut) {
        self.start(out);
        self.options.opened.set();
    }

    fn start(&mut self, out: &mut BytesMut) {
        if !self.events.is_empty() {
            return;
        }
        if self.options.opened.is_set() {
            self.events = Events::starting_at(FIRST_EVENTS.len() as u64);
            return;
        }
        for name in FIRST_EVENTS {
            self.events.response(name, &response(&self.options, Status::InProgress, &[], None), out);
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

    /// Adds to the open item of this kind, or to a new one. Text waits while a call is open.
    fn add_text(
        &mut self,
        kind: TextKind,
        text: &RawValue,
        logprobs: Option<&RawValue>,
        out: &mut BytesMut,
    ) -> Result<(), TranslateError> {
        let place = match self.open_text.filter(|place| kind.is_of(&self.items[*place])) {
            Some(place) => place,
            None if self.has_open_call() => return self.keep_waiting(kind, text, logprobs),
            None => {
                let place = self.add_item(kind.item(), out)?;
                self.open_text = Some(place);
                place
            }
        };
        self.append(place, text, logprobs, out)
    }

    /// Whether a call may get further arguments.
    fn has_open_call(&self) -> bool {
        let is_open = |call: &StreamedCall| call.item.is_some_and(|place| self.items[place].is_in_progress());
        self.calls.iter().any(|call| is_open(call) && !call.is_complete())
    }

    fn keep_waiting(
        &mut self,
        kind: TextKind,
        text: &RawValue,
        logprobs: Option<&RawValue>,
    ) -> Result<(), TranslateError> {
        if self.waiting.last().is_none_or(|last| last.kind != kind) {
            self.grow(ITEM_BYTES)?;
            let (text, logprobs) = (TextBuilder::default(), ListBuilder::default());
            self.waiting.push(WaitingText { kind, text, logprobs, logprob_bytes: 0 });
        }
        if let Some(last) = self.waiting.last_mut() {
            let (escaped, before) = (RawText::of(text).map_or("", RawText::escaped), last.logprob_bytes);
            last.text.push(escaped);
            last.logprob_bytes += logprobs.map_or(0, |list| last.logprobs.extend(list));
            self.logprob_bytes += last.logprob_bytes - before;
            self.bytes += escaped.len();
        }
        self.check_bounds()
    }

    /// Adds the text that has waited, if no call is open any more.
    fn add_waiting(&mut self, out: &mut BytesMut) -> Result<(), TranslateError> {
        if self.waiting.is_empty() || self.has_open_call() {
            return Ok(());
        }
        for WaitingText { kind, text, logprobs, logprob_bytes } in std::mem::take(&mut self.waiting) {
            self.bytes -= ITEM_BYTES + text.len();
            self.logprob_bytes -= logprob_bytes;
            self.add_text(kind, &text.finish(), logprobs.finish().as_deref(), out)?;
        }
        Ok(())
    }

    /// Ends what is complete and adds an item. Returns its place.
    fn add_item(&mut self, kind: OutputKind, out: &mut BytesMut) -> Result<usize, TranslateError> {
        self.grow(ITEM_BYTES)?;
        self.end_text(ItemStatus::Completed, out);
        self.end_calls(StreamedCall::is_complete, out);
        let output_index = self.items.len();
        self.items.push(OutputItem::new(kind, output_index, &self.options));
        let placed = Placed { item: &self.items[output_index], output_index, options: &self.options };
        self.events.added(placed, out);
        Ok(output_index)
    }

    fn append(
        &mut self,
        output_index: usize,
        text: &RawValue,
        logprobs: Option<&RawValue>,
        out: &mut BytesMut,
    ) -> Result<(), TranslateError> {
        let escaped = RawText::of(text).map_or("", RawText::escaped);
        self.grow(escaped.len())?;
        self.logprob_bytes += self.items[output_index].push(escaped, logprobs);
        self.check_bounds()?;
        let placed = Placed { item: &self.items[output_index], output_index, options: &self.options };
        self.events.delta(placed, Text::Raw(text), logprobs, out);
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
            call.held.push(arguments.escaped());
            return self.grow(arguments.escaped().len());
        };
        if !self.items[item].is_in_progress() {
            // The arguments were complete. Some engines send an empty piece at the end.
            let is_rest = arguments.decoded().trim_ascii().is_empty();
            let error = TranslateError::Unexpected("a tool call goes on after its arguments are complete");
            return if is_rest { Ok(()) } else { Err(error) };
        }
        self.append(item, arguments.as_raw(), None, out)
    }

    /// The call that a piece belongs to. Some engines number all calls alike, but give each its id.
    fn find_call(&mut self, piece: &ToolPart<'_>) -> Result<Option<usize>, TranslateError> {
        // Most pieces belong to the last call, which needs no search.
        let position = match self.calls.last() {
            Some(last) if last.index == piece.index => Some(self.calls.len() - 1),
            _ => self.numbered.get(&piece.index).copied(),
        };
        if let (Some(position), Some(id)) = (position, piece.id.map(RawText::escaped)) {
            match &self.calls[position].id {
                Some(known) if **known != *id => return Ok(None),
                Some(_) => {}
                None => {
                    self.grow(id.len())?;
                    self.calls[position].id = Some(id.into());
                }
            }
        }
        Ok(position)
    }

    fn begin_call(&mut self, piece: &ToolPart<'_>) -> Result<usize, TranslateError> {
        if self.calls.len() == MAX_TOOL_CALLS {
            return Err(TranslateError::Unexpected("there are too many tool calls"));
        }
        let id = piece.id.map(|id| Box::from(id.escaped()));
        self.grow(ITEM_BYTES + id.as_deref().map_or(0, str::len))?;
        self.numbered.insert(piece.index, self.calls.len());
        let (held, arguments) = (TextBuilder::default(), Some(JsonPieces::default()));
        self.calls.push(StreamedCall { index: piece.index, id, held, item: None, arguments });
        Ok(self.calls.len() - 1)
    }

    /// Adds the item of a call, with what it holds.
    fn name_call(&mut self, position: usize, name: RawText<'_>, out: &mut BytesMut) -> Result<(), TranslateError> {
        let call = ToolCall::new(self.calls[position].id.as_deref(), name, position, &self.options);
        self.grow(call.bytes())?;
        let item = self.add_item(OutputKind::Call(call), out)?;
        let call = &mut self.calls[position];
        call.item = Some(item);
        let held = std::mem::take(&mut call.held);
        self.bytes -= held.len();
        if held.is_empty() { Ok(()) } else { self.append(item, &held.finish(), None, out) }
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
                && self.items[index].is_in_progress()
                && is_due(call)
            {
                self.end_item(index, ItemStatus::Completed, out);
            }
        }
    }

    fn end_item(&mut self, output_index: usize, status: ItemStatus, out: &mut BytesMut) {
        let item = &mut self.items[output_index];
        let had_text = !item.is_empty();
        item.end(status, &self.options);
        let placed = Placed { item, output_index, options: &self.options };
        self.events.done(placed, had_text, out);
    }

    /// Ends what is open, and then what has waited for that.
    fn end_items(&mut self, is_cut: bool, out: &mut BytesMut) -> Result<(), TranslateError> {
        let last = if is_cut { ItemStatus::Incomplete } else { ItemStatus::Completed };
        self.end_text(last, out);
        self.end_calls(StreamedCall::is_complete, out);
        for index in 0..self.items.len() {
            if self.items[index].is_in_progress() {
                self.end_item(index, last, out);
            }
        }
        self.add_waiting(out)?;
        self.end_text(last, out);
        Ok(())
    }
}

impl StreamTranslator for ResponseStream {
    fn chunk(&mut self, chunk: &[u8], _tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError> {
        let chunk = String::from_utf8_lossy(chunk);
        let part = ChatPart::read(&chunk)?;
        self.start(out);
        self.finish = part.finish.or(self.finish);
        self.reasoning_tokens = part.reasoning_tokens.unwrap_or(self.reasoning_tokens);
        if let Some(text) = part.reasoning {
            self.add_text(TextKind::Reasoning, text.as_raw(), None, out)?;
        }
        if let Some(text) = part.content {
            self.add_text(TextKind::Message, text.as_raw(), part.logprobs, out)?;
        }
        for piece in &part.tool_calls {
            self.add_tool_piece(piece, out)?;
        }
        self.add_waiting(out)
    }

    fn kept_bytes(&self) -> usize {
        let copies = COPIES_AT_END + usize::from(self.options.finished.is_some());
        self.options.echo_bytes() + copies * (self.bytes + self.logprob_bytes)
    }

    fn keep_alive(&mut self, out: &mut BytesMut) {
        if !self.events.is_empty() {
            sse::write_comment(out);
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
        self.end_items(is_cut, out)?;
        let usage = Usage::new(tokens, self.reasoning_tokens);
        let name = if is_cut { "response.incomplete" } else { "response.completed" };
        let response = response(&self.options, status, &self.items, Some(usage));
        self.events.response(name, &response, out);
        if let Some(finished) = &self.options.finished {
            finished.set(&response);
        }
        Ok(())
    }

    fn fail(&mut self, failure: Failure<'_>, out: &mut BytesMut) -> bool {
        self.start(out);
        for item in self.items.iter_mut().filter(|item| item.is_in_progress()) {
            item.end(ItemStatus::Incomplete, &self.options);
        }
        let status = Status::Failed { code: failure_code(failure.kind), message: failure.message };
        self.events.response("response.failed", &response(&self.options, status, &self.items, None), out);
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
