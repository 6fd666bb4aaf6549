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
use super::response::{SIGNATURE, write_start, write_tool_use_start};
use crate::chat_part::{ChatPart, ToolPart};
use crate::writer::Output;
use crate::{StreamTranslator, TranslateError};
use bytes::BytesMut;
use domain::usage::Tokens;
use json::RawStr;
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
    id: Option<Box<[u8]>>,
}

struct Block {
    kind: BlockKind,
    /// Escaped text that was not sent yet.
    held: Vec<u8>,
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
    name: Option<Box<[u8]>>,
    arguments: Arguments,
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

    fn start(&mut self, tokens: Tokens, out: &mut BytesMut) {
        if self.has_started {
            return;
        }
        self.has_started = true;
        out.put(b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":");
        write_start(&self.options, out);
        out.put(
            b",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"stop_details\":null,\"container\":null",
        );
        out.put(b",\"usage\":");
        self.ending.write_usage(tokens, out);
        out.put(b"}}\n\n");
        write_ping(out);
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
        text: RawStr<'_>,
        continues: bool,
        kind: BlockKind,
        out: &mut BytesMut,
    ) -> Result<(), TranslateError> {
        if !continues {
            self.push_block(kind)?;
        }
        self.append(self.queue.len() - 1, text.raw(), out)?;
        self.advance(out);
        Ok(())
    }

    /// Adds a block to the end of the queue.
    fn push_block(&mut self, kind: BlockKind) -> Result<(), TranslateError> {
        self.held.add(size_of::<Block>())?;
        self.queue.push_back(Block { kind, held: Vec::new(), is_open: false });
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
                self.held.add(name.raw().len())?;
                call.name = Some(name.raw().into());
            }
            if let Some(arguments) = piece.arguments
                && call.arguments.push(arguments)?
            {
                self.append(place, arguments.raw(), out)?;
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
                Some(known) if **known != *id.raw() => return Ok(None),
                Some(_) => {}
                None => {
                    self.held.add(id.raw().len())?;
                    call.id = Some(id.raw().into());
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
        self.held.add(piece.id.map_or(0, |id| id.raw().len()))?;
        self.calls.push(KnownCall { index: piece.index, id: piece.id.map(|id| id.raw().into()) });
        let call = ToolCall { position, name: None, arguments: Arguments::default() };
        self.push_block(BlockKind::Tool(call))?;
        Ok(position)
    }

    /// Sends text of the open block; holds that of the others.
    fn append(&mut self, place: usize, text: &[u8], out: &mut BytesMut) -> Result<(), TranslateError> {
        let block = &mut self.queue[place];
        if block.is_open {
            block.write_delta(self.ended, text, out);
            return Ok(());
        }
        self.held.add(text.len())?;
        block.held.extend_from_slice(text);
        Ok(())
    }

    /// Opens the first block of the queue, and ends it if it is complete and others follow.
    fn advance(&mut self, out: &mut BytesMut) {
        while let Some(first) = self.queue.front_mut() {
            if !first.is_open && !first.open(self.ended, &self.options, &self.calls, out) {
                return;
            }
            self.held.release(first.held.len());
            first.held = Vec::new();
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
            write_stop(self.ended, out);
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
        let name = match &self.kind {
            BlockKind::Tool(ToolCall { name: None, .. }) => return false,
            BlockKind::Tool(ToolCall { name: Some(name), .. }) => &name[..],
            BlockKind::Text | BlockKind::Thinking => &b""[..],
        };
        out.put(b"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":");
        out.put_number(index);
        out.put(b",\"content_block\":");
        match &self.kind {
            BlockKind::Text => out.put(b"{\"type\":\"text\",\"text\":\"\",\"citations\":[]}"),
            BlockKind::Thinking => out.put(b"{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
            BlockKind::Tool(call) => {
                let id = calls[call.position].id.as_deref();
                write_tool_use_start(id, name, call.position as u64, options, out);
                out.put(b",\"input\":{}}");
            }
        }
        out.put(b"}\n\n");
        self.is_open = true;
        if !self.held.is_empty() {
            self.write_delta(index, &self.held, out);
        }
        true
    }

    fn write_delta(&self, index: u64, text: &[u8], out: &mut BytesMut) {
        match &self.kind {
            BlockKind::Text => write_delta(index, b"{\"type\":\"text_delta\",\"text\":", text, out),
            BlockKind::Thinking => write_delta(index, b"{\"type\":\"thinking_delta\",\"thinking\":", text, out),
            BlockKind::Tool(_) => write_delta(index, b"{\"type\":\"input_json_delta\",\"partial_json\":", text, out),
        }
    }

    fn end(&self, index: u64, out: &mut BytesMut) {
        match &self.kind {
            BlockKind::Text => {}
            BlockKind::Thinking => write_delta(index, b"{\"type\":\"signature_delta\",\"signature\":", SIGNATURE, out),
            BlockKind::Tool(call) => {
                if let Arguments::Before(_) = call.arguments {
                    self.write_delta(index, b"{}", out);
                }
            }
        }
        write_stop(index, out);
    }
}

fn write_stop(index: u64, out: &mut BytesMut) {
    out.put(b"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":");
    out.put_number(index);
    out.put(b"}\n\n");
}

fn write_delta(index: u64, start: &[u8], text: &[u8], out: &mut BytesMut) {
    out.put(b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":");
    out.put_number(index);
    out.put(b",\"delta\":");
    out.put(start);
    out.put_raw_text(text);
    out.put(b"}}\n\n");
}

fn write_ping(out: &mut BytesMut) {
    out.put(b"event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

impl StreamTranslator for MessageStream {
    fn chunk(&mut self, chunk: &[u8], tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError> {
        let part = ChatPart::read(chunk)?;
        self.start(tokens, out);
        self.ending.note(&part);
        self.add(&part, out)
    }

    fn kept_bytes(&self) -> usize {
        self.held.0
    }

    fn keep_alive(&mut self, out: &mut BytesMut) {
        if self.has_started {
            write_ping(out);
        }
    }

    fn end(&mut self, tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError> {
        self.start(tokens, out);
        if self.ending.is_cut() {
            self.end_cut_calls(out);
        }
        if self.ended == 0 && self.queue.is_empty() {
            let mut empty = Block { kind: BlockKind::Text, held: Vec::new(), is_open: false };
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
        out.put(b"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{");
        self.ending.stop_reason(&self.options, tokens, !self.calls.is_empty()).write(out);
        out.put(b"},\"usage\":");
        self.ending.write_usage(tokens, out);
        out.put(b"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
        Ok(())
    }
}
