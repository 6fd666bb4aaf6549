//! Writes the events of a stream.

use super::ResponseOptions;
use super::output::{OutputItem, OutputKind};
use super::resource::{self, Status, Usage};
use super::tool_table::ToolKind;
use crate::writer::Output;
use bytes::BytesMut;
use std::ops::Range;

/// How often the events that end a message repeat it.
pub(super) const WRITES_AT_END: usize = 3;

/// Numbers the events.
#[derive(Debug, Default)]
pub(super) struct Events {
    written: u64,
}

/// An item of the output, and its place there.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) item: &'a OutputItem,
    pub(super) index: usize,
    pub(super) options: &'a ResponseOptions,
}

impl Events {
    /// Begins with this number.
    pub(super) fn starting_at(number: u64) -> Self {
        Self { written: number }
    }

    /// Whether nothing was written yet.
    pub(super) fn is_empty(&self) -> bool {
        self.written == 0
    }

    /// `event: …`, `data: {"type":…,"sequence_number":…`.
    fn begin(&mut self, name: &[u8], out: &mut BytesMut) {
        out.put(b"event: ");
        out.put(name);
        out.put(b"\ndata: {\"type\":\"");
        out.put(name);
        out.put(b"\",\"sequence_number\":");
        out.put_number(self.written);
        self.written += 1;
    }

    /// Begins an event about an item, with its id.
    fn begin_of(&mut self, name: &[u8], placed: Placed<'_>, out: &mut BytesMut) {
        self.begin(name, out);
        out.put(b",\"item_id\":");
        placed.item.write_id(placed.index, placed.options, out);
        out.put(b",\"output_index\":");
        out.put_number(placed.index as u64);
    }

    /// An event with the whole response. Returns where the response is in `out`.
    pub(super) fn response(
        &mut self,
        name: &[u8],
        options: &ResponseOptions,
        status: Status<'_>,
        output: &[OutputItem],
        usage: Option<Usage>,
        out: &mut BytesMut,
    ) -> Range<usize> {
        self.begin(name, out);
        out.put(b",\"response\":");
        out.reserve(options.members.len() + output.iter().map(OutputItem::bytes).sum::<usize>());
        let start = out.len();
        resource::write(options, status, output, usage, out);
        if matches!(status, Status::Failed { .. }) && options.finished.is_some() {
            let unstored = resource::unstored(&out[start..]);
            out.truncate(start);
            out.put(&unstored);
        }
        let end = out.len();
        out.put(b"}\n\n");
        start..end
    }

    /// The item begins.
    pub(super) fn added(&mut self, placed: Placed<'_>, out: &mut BytesMut) {
        self.item(b"response.output_item.added", placed, out);
        if let OutputKind::Call(_) = placed.item.kind {
            return;
        }
        self.content_part(b"response.content_part.added", placed, out);
        if placed.has_summary() {
            self.summary_part(b"response.reasoning_summary_part.added", placed, out);
        }
    }

    fn item(&mut self, name: &[u8], placed: Placed<'_>, out: &mut BytesMut) {
        self.begin(name, out);
        out.put(b",\"output_index\":");
        out.put_number(placed.index as u64);
        out.put(b",\"item\":");
        placed.item.write(placed.index, placed.options, out);
        out.put(b"}\n\n");
    }

    fn content_part(&mut self, name: &[u8], placed: Placed<'_>, out: &mut BytesMut) {
        self.begin_of(name, placed, out);
        out.put(b",\"content_index\":0,\"part\":");
        placed.item.write_part(out);
        out.put(b"}\n\n");
    }

    fn summary_part(&mut self, name: &[u8], placed: Placed<'_>, out: &mut BytesMut) {
        self.begin_of(name, placed, out);
        out.put(b",\"summary_index\":0,\"part\":");
        placed.item.write_summary_part(out);
        out.put(b"}\n\n");
    }

    /// A piece of escaped text, with the log probabilities of its tokens as a JSON array.
    pub(super) fn delta(&mut self, placed: Placed<'_>, text: &[u8], logprobs: Option<&[u8]>, out: &mut BytesMut) {
        match &placed.item.kind {
            OutputKind::Message => {
                self.begin_of(b"response.output_text.delta", placed, out);
                out.put(b",\"content_index\":0,\"delta\":");
                out.put_raw_text(text);
                out.put(b",\"logprobs\":");
                out.put(logprobs.unwrap_or(b"[]"));
                out.put(b"}\n\n");
            }
            OutputKind::Reasoning => {
                self.text(b"response.reasoning_text.delta", b",\"content_index\":0,\"delta\":", placed, text, out);
                if placed.has_summary() {
                    let name = b"response.reasoning_summary_text.delta";
                    self.text(name, b",\"summary_index\":0,\"delta\":", placed, text, out);
                }
            }
            // The input of a custom tool is inside of the arguments, and known when they are complete.
            OutputKind::Call(_) => {
                if placed.tool_kind() == ToolKind::Function {
                    self.text(b"response.function_call_arguments.delta", b",\"delta\":", placed, text, out);
                }
            }
        }
    }

    /// An event with a text as its last member.
    fn text(&mut self, name: &[u8], member: &[u8], placed: Placed<'_>, text: &[u8], out: &mut BytesMut) {
        self.begin_of(name, placed, out);
        out.put(member);
        out.put_raw_text(text);
        out.put(b"}\n\n");
    }

    /// The item is complete, or cut off.
    pub(super) fn done(&mut self, placed: Placed<'_>, out: &mut BytesMut) {
        let text = &placed.item.text;
        out.reserve(WRITES_AT_END * placed.item.bytes());
        match &placed.item.kind {
            OutputKind::Message => {
                self.begin_of(b"response.output_text.done", placed, out);
                out.put(b",\"content_index\":0,\"text\":");
                out.put_raw_text(text);
                out.put(b",\"logprobs\":[");
                out.put(&placed.item.logprobs);
                out.put(b"]}\n\n");
                self.content_part(b"response.content_part.done", placed, out);
            }
            OutputKind::Reasoning => {
                self.text(b"response.reasoning_text.done", b",\"content_index\":0,\"text\":", placed, text, out);
                self.content_part(b"response.content_part.done", placed, out);
                if placed.has_summary() {
                    let name = b"response.reasoning_summary_text.done";
                    self.text(name, b",\"summary_index\":0,\"text\":", placed, text, out);
                    self.summary_part(b"response.reasoning_summary_part.done", placed, out);
                }
            }
            OutputKind::Call(_) => self.call_done(placed, out),
        }
        self.item(b"response.output_item.done", placed, out);
    }

    fn call_done(&mut self, placed: Placed<'_>, out: &mut BytesMut) {
        match placed.tool_kind() {
            ToolKind::Function => {
                let arguments = placed.item.arguments();
                if placed.item.text.is_empty() {
                    self.delta(placed, arguments, None, out);
                }
                self.text(b"response.function_call_arguments.done", b",\"arguments\":", placed, arguments, out);
            }
            ToolKind::Custom => {
                let input = placed.item.custom_input();
                self.text(b"response.custom_tool_call_input.delta", b",\"delta\":", placed, &input, out);
                self.text(b"response.custom_tool_call_input.done", b",\"input\":", placed, &input, out);
            }
            ToolKind::Search => {}
        }
    }
}

impl Placed<'_> {
    fn has_summary(self) -> bool {
        self.options.has_summary && matches!(self.item.kind, OutputKind::Reasoning)
    }

    fn tool_kind(self) -> ToolKind {
        self.item.tool_kind(self.options)
    }
}
