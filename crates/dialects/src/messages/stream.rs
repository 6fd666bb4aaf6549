//! Turns the chunks of a chat stream into the events of a message.
//!
//! A message consists of blocks, of which one is open at a time. Chat has no blocks: a chunk may bring thinking, text, and
//! pieces of several tool calls, in any order. So there is a queue of blocks. Only the first one is sent; the others hold
//! their text until it is their turn. Thinking and text end as soon as another block follows, a tool call when its
//! arguments are a complete object, so that engines which send one call after the other are not delayed. Example:
//!
//! ```text
//! chunk            queue afterwards         sent
//! "Hi"             text                     start 0, "Hi"
//! call a: {"x"     a                        stop 0, start 1, {"x"
//! call b: {}       a, b (holds {})
//! call a: :1}      b                        :1}, stop 1, start 2, {}
//! end                                       stop 2
//! ```

use super::MessageOptions;
use super::arguments::Arguments;
use super::ending::Ending;
use super::wire::{self, Delta, Event, Input, Message, SIGNATURE, Stop};
use crate::chat_part::{ChatPart, ToolPart};
use crate::raw_text::{RawText, Text, TextBuilder};
use crate::{StreamTranslator, TranslateError};
use bytes::BytesMut;
use domain::usage::Tokens;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::Arc;

/// The most bytes that a stream keeps: blocks whose turn has not come, and the names and ids of calls.
const MAX_HELD_BYTES: usize = 8 << 20;
const MAX_TOOL_CALLS: usize = 1024;

pub(crate) struct MessageStream {
    options: Arc<MessageOptions>,
    has_started: bool,
    /// Not empty once a block was begun: the last block stays open.
    queue: VecDeque<Block>,
    /// The number of blocks that have ended.
    ended: u64,
    held: HeldBytes,
    /// All calls so far, by the order in which they began.
    calls: Vec<KnownCall>,
    ending: Ending,
}

/// Counts what the stream keeps in memory, which the engine decides on.
#[derive(Default)]
struct HeldBytes(usize);

impl HeldBytes {
    fn add(&mut self, bytes: usize) -> Result<(), TranslateError> {
        self.0 += bytes;
        let error = TranslateError::Unexpected("interleaved tool calls are too large");
        if self.0 <= MAX_HELD_BYTES { Ok(()) } else { Err(error) }
    }

    fn release(&mut self, bytes: usize) {
        self.0 -= bytes;
    }
}

/// Names a tool call in later chunks.
struct KnownCall {
    /// The engine's number of the call.
    index: u64,
    id: Option<Box<RawValue>>,
}

struct Block {
    kind: BlockKind,
    /// Text that was not sent yet.
    held: TextBuilder,
    is_open: bool,
}

enum BlockKind {
    Text,
    Thinking,
    Tool(ToolCall),
}

struct ToolCall {
    /// The position in `calls`.
    position: usize,
    /// `None` until the engine has sent it.
    name: Option<Box<RawValue>>,
    arguments: Arguments,
}

pub(crate) fn write_ping(out: &mut BytesMut) {
    Event::Ping.write(out);
}

impl MessageStream {
    pub(crate) fn new(options: Arc<MessageOptions>) -> Self {
        Self {
            options,
            has_started: false,
            queue: VecDeque::new(),
            ended: 0,
            held: HeldBytes::default(),
            calls: Vec::new(),
            ending: Ending::default(),
        }
    }

    /// Begins the message before its engine does.
    pub(crate) fn open(mut self, tokens: Tokens, out: &mut BytesMut) {
        self.start(tokens, out);
        self.options.opened.set();
    }

    fn start(&mut self, tokens: Tokens, out: &mut BytesMut) {
        if self.has_started {
            return;
        }
        self.has_started = true;
        if self.options.opened.is_set() {
            return;
        }
        let message =
            Message::new(&self.options, Vec::new(), Stop::default(), self.ending.usage(&self.options, tokens));
        Event::MessageStart { message }.write(out);
        Event::Ping.write(out);
    }

    fn add(&mut self, part: &ChatPart<'_>, out: &mut BytesMut) -> Result<(), TranslateError> {
        if let Some(thinking) = part.reasoning.filter(|_| !self.options.omits_thinking) {
            let is_open = matches!(self.queue.back(), Some(Block { kind: BlockKind::Thinking, .. }));
            self.add_text(thinking, is_open, BlockKind::Thinking, out)?;
        }
        if let Some(text) = part.content {
            let is_open = matches!(self.queue.back(), Some(Block { kind: BlockKind::Text, .. }));
            self.add_text(text, is_open, BlockKind::Text, out)?;
        }
        part.tool_calls.iter().try_for_each(|piece| self.add_tool_piece(piece, out))
    }

    /// Adds to the last block if it is of this kind, else to a new one.
    fn add_text(
        &mut self,
        text: RawText<'_>,
        continues: bool,
        kind: BlockKind,
        out: &mut BytesMut,
    ) -> Result<(), TranslateError> {
        if !continues {
            self.push_block(kind)?;
        }
        self.append(self.queue.len() - 1, text, out)?;
        self.advance(out);
        Ok(())
    }

    /// Adds a block to the end of the queue.
    fn push_block(&mut self, kind: BlockKind) -> Result<(), TranslateError> {
        self.held.add(size_of::<Block>())?;
        self.queue.push_back(Block { kind, held: TextBuilder::default(), is_open: false });
        Ok(())
    }

    fn add_tool_piece(&mut self, piece: &ToolPart<'_>, out: &mut BytesMut) -> Result<(), TranslateError> {
        let position = match self.find_call(piece)? {
            Some(position) => position,
            None => self.begin_call(piece)?,
        };
        let is_call = |block: &Block| matches!(&block.kind, BlockKind::Tool(call) if call.position == position);
        let Some(place) = self.queue.iter().position(is_call) else {
            // The arguments were complete. Some engines repeat members or send an empty piece at the end.
            let is_rest = piece.arguments.is_none_or(|rest| rest.decoded().trim_ascii().is_empty());
            let error = TranslateError::Unexpected("a tool call goes on after its arguments are complete");
            return if is_rest { Ok(()) } else { Err(error) };
        };
        if let BlockKind::Tool(call) = &mut self.queue[place].kind {
            if call.name.is_none()
                && let Some(name) = piece.name
            {
                self.held.add(name.escaped().len())?;
                call.name = Some(name.as_raw().to_owned());
            }
            if let Some(arguments) = piece.arguments
                && call.arguments.push(arguments)?
            {
                self.append(place, arguments, out)?;
            }
        }
        self.advance(out);
        Ok(())
    }

    /// The call that a piece belongs to. Some engines number all calls alike, but give each its id.
    fn find_call(&mut self, piece: &ToolPart<'_>) -> Result<Option<usize>, TranslateError> {
        let Some(position) = self.calls.iter().rposition(|call| call.index == piece.index) else { return Ok(None) };
        let call = &mut self.calls[position];
        if let Some(id) = piece.id {
            match &call.id {
                Some(known) if known.get() != id.as_raw().get() => return Ok(None),
                Some(_) => {}
                None => {
                    self.held.add(id.escaped().len())?;
                    call.id = Some(id.as_raw().to_owned());
                }
            }
        }
        Ok(Some(position))
    }

    fn begin_call(&mut self, piece: &ToolPart<'_>) -> Result<usize, TranslateError> {
        if self.calls.len() == MAX_TOOL_CALLS {
            return Err(TranslateError::Unexpected("too many tool calls"));
        }
        let position = self.calls.len();
        self.held.add(piece.id.map_or(0, |id| id.escaped().len()))?;
        self.calls.push(KnownCall { index: piece.index, id: piece.id.map(|id| id.as_raw().to_owned()) });
        let call = ToolCall { position, name: None, arguments: Arguments::default() };
        self.push_block(BlockKind::Tool(call))?;
        Ok(position)
    }

    /// Sends text of the open block; holds that of the others.
    fn append(&mut self, place: usize, text: RawText<'_>, out: &mut BytesMut) -> Result<(), TranslateError> {
        let block = &mut self.queue[place];
        if block.is_open {
            block.write_delta(self.ended, text.into(), out);
            return Ok(());
        }
        self.held.add(text.escaped().len())?;
        block.held.push(text.escaped());
        Ok(())
    }

    /// Opens the first block of the queue, and ends it if it is complete and others follow.
    fn advance(&mut self, out: &mut BytesMut) {
        while let Some(first) = self.queue.front_mut() {
            let held = first.held.len();
            if !first.is_open && !first.open(self.ended, &self.options, &self.calls, out) {
                return;
            }
            self.held.release(held);
            let is_complete = match &first.kind {
                BlockKind::Text | BlockKind::Thinking => true,
                BlockKind::Tool(call) => call.arguments.are_complete(),
            };
            if self.queue.len() == 1 || !is_complete {
                return;
            }
            self.end_first(out);
        }
    }

    /// Leaves out the calls that were cut by the token limit. One that is open stops as it is, as in Anthropic's API:
    /// completed arguments could be taken for what the model wanted to write.
    fn end_cut_calls(&mut self, out: &mut BytesMut) {
        if self.queue.front().is_some_and(|first| first.is_open && first.is_unfinished_call()) {
            self.queue.pop_front();
            Event::ContentBlockStop { index: self.ended }.write(out);
            self.ended += 1;
        }
        self.queue.retain(|block| !block.is_unfinished_call());
    }

    fn end_first(&mut self, out: &mut BytesMut) {
        if let Some(block) = self.queue.pop_front() {
            self.held.release(size_of::<Block>());
            block.end(self.ended, out);
            self.ended += 1;
        }
    }
}

impl Block {
    /// Whether this is a tool call that lacks something.
    fn is_unfinished_call(&self) -> bool {
        match &self.kind {
            BlockKind::Text | BlockKind::Thinking => false,
            BlockKind::Tool(call) => call.name.is_none() || !call.arguments.are_complete(),
        }
    }

    /// Opens the block and sends what it holds. Returns false if it is not known yet what to open.
    fn open(&mut self, index: u64, options: &MessageOptions, calls: &[KnownCall], out: &mut BytesMut) -> bool {
        let content_block = match &self.kind {
            BlockKind::Text => wire::Block::Text { text: Text::Plain(""), citations: [] },
            BlockKind::Thinking => wire::Block::Thinking { thinking: Text::Plain(""), signature: "" },
            BlockKind::Tool(ToolCall { name: None, .. }) => return false,
            BlockKind::Tool(ToolCall { name: Some(name), position, .. }) => {
                wire::Block::tool_use(calls[*position].id.as_deref(), name, *position, Input::Empty {}, options)
            }
        };
        Event::ContentBlockStart { index, content_block }.write(out);
        self.is_open = true;
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held).finish();
            self.write_delta(index, Text::Raw(&held), out);
        }
        true
    }

    fn write_delta(&self, index: u64, text: Text<'_>, out: &mut BytesMut) {
        let delta = match &self.kind {
            BlockKind::Text => Delta::TextDelta { text },
            BlockKind::Thinking => Delta::ThinkingDelta { thinking: text },
            BlockKind::Tool(_) => Delta::InputJsonDelta { partial_json: text },
        };
        Event::ContentBlockDelta { index, delta }.write(out);
    }

    fn end(&self, index: u64, out: &mut BytesMut) {
        match &self.kind {
            BlockKind::Text => {}
            BlockKind::Thinking => {
                let delta = Delta::SignatureDelta { signature: SIGNATURE };
                Event::ContentBlockDelta { index, delta }.write(out);
            }
            BlockKind::Tool(call) => {
                if let Arguments::Before(_) = call.arguments {
                    self.write_delta(index, Text::Plain("{}"), out);
                }
            }
        }
        Event::ContentBlockStop { index }.write(out);
    }
}

impl StreamTranslator for MessageStream {
    fn chunk(&mut self, chunk: &[u8], tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError> {
        let chunk = String::from_utf8_lossy(chunk);
        let part = ChatPart::read(&chunk)?;
        self.start(tokens, out);
        self.ending.note(&part);
        self.add(&part, out)
    }

    fn kept_bytes(&self) -> usize {
        self.held.0
    }

    fn keep_alive(&mut self, out: &mut BytesMut) {
        if self.has_started {
            Event::Ping.write(out);
        }
    }

    fn end(&mut self, tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError> {
        self.start(tokens, out);
        if self.ending.is_cut() {
            self.end_cut_calls(out);
        }
        if self.ended == 0 && self.queue.is_empty() {
            let mut empty = Block { kind: BlockKind::Text, held: TextBuilder::default(), is_open: false };
            empty.open(0, &self.options, &[], out);
            empty.end(0, out);
        }
        while let Some(first) = self.queue.front_mut() {
            if !first.is_open && !first.open(self.ended, &self.options, &self.calls, out) {
                return Err(TranslateError::Unexpected("a tool call has no name"));
            }
            if let BlockKind::Tool(call) = &first.kind {
                call.arguments.end()?;
            }
            self.end_first(out);
        }
        let delta = self.ending.stop(&self.options, tokens, !self.calls.is_empty());
        Event::MessageDelta { delta, usage: self.ending.usage(&self.options, tokens) }.write(out);
        Event::MessageStop.write(out);
        Ok(())
    }
}
