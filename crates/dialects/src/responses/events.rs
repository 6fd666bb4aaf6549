//! Writes the events of a stream.

use super::ResponseOptions;
use super::output::{OutputItem, OutputKind};
use super::tool_table::ToolKind;
use super::wire::{ContentEvent, Event, EventMembers, Logprobs, Response};
use crate::raw_text::Text;
use crate::sse;
use bytes::BytesMut;
use serde_json::value::RawValue;

/// Numbers the events.
#[derive(Debug, Default)]
pub(super) struct Events {
    written: u64,
}

/// An item of the output, and its place there.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) item: &'a OutputItem,
    pub(super) output_index: usize,
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

    fn write(&mut self, name: &'static str, members: EventMembers<'_>, out: &mut BytesMut) {
        sse::write_event(name, &Event { r#type: name, sequence_number: self.written, members }, out);
        self.written += 1;
    }

    /// An event with the whole response.
    pub(super) fn response(&mut self, name: &'static str, response: &Response<'_>, out: &mut BytesMut) {
        self.write(name, EventMembers::Response { response }, out);
    }

    fn item(&mut self, name: &'static str, placed: Placed<'_>, out: &mut BytesMut) {
        let Placed { item, output_index, options } = placed;
        self.write(name, EventMembers::Item { output_index, item: item.wire(options) }, out);
    }

    fn content(&mut self, name: &'static str, content: ContentEvent<'_>, out: &mut BytesMut) {
        self.write(name, EventMembers::Content(content), out);
    }

    /// The item begins.
    pub(super) fn added(&mut self, placed: Placed<'_>, out: &mut BytesMut) {
        self.item("response.output_item.added", placed, out);
        if let OutputKind::Call(_) = placed.item.kind {
            return;
        }
        self.content("response.content_part.added", placed.part(), out);
        if placed.has_summary() {
            self.content("response.reasoning_summary_part.added", placed.summary_part(), out);
        }
    }

    /// A piece of text, with the log probabilities of its tokens as a JSON array.
    pub(super) fn delta(
        &mut self,
        placed: Placed<'_>,
        delta: Text<'_>,
        logprobs: Option<&RawValue>,
        out: &mut BytesMut,
    ) {
        let delta = Some(delta);
        match &placed.item.kind {
            OutputKind::Message => {
                let logprobs = Some(Logprobs(logprobs));
                let event = ContentEvent { delta, logprobs, ..placed.content() };
                self.content("response.output_text.delta", event, out);
            }
            OutputKind::Reasoning => {
                let event = ContentEvent { delta, ..placed.content() };
                self.content("response.reasoning_text.delta", event, out);
                if placed.has_summary() {
                    let event = ContentEvent { delta, ..placed.summary() };
                    self.content("response.reasoning_summary_text.delta", event, out);
                }
            }
            // The input of a custom tool is inside of the arguments, and known when they are complete.
            OutputKind::Call(call) => {
                if call.kind == ToolKind::Function {
                    let event = ContentEvent { delta, ..placed.event() };
                    self.content("response.function_call_arguments.delta", event, out);
                }
            }
        }
    }

    /// The item is complete, or cut off. `had_text`: whether there was a delta before.
    pub(super) fn done(&mut self, placed: Placed<'_>, had_text: bool, out: &mut BytesMut) {
        let text = Some(placed.item.text());
        match &placed.item.kind {
            OutputKind::Message => {
                let event = ContentEvent { text, logprobs: Some(placed.item.logprobs()), ..placed.content() };
                self.content("response.output_text.done", event, out);
                self.content("response.content_part.done", placed.part(), out);
            }
            OutputKind::Reasoning => {
                let event = ContentEvent { text, ..placed.content() };
                self.content("response.reasoning_text.done", event, out);
                self.content("response.content_part.done", placed.part(), out);
                if placed.has_summary() {
                    let event = ContentEvent { text, ..placed.summary() };
                    self.content("response.reasoning_summary_text.done", event, out);
                    self.content("response.reasoning_summary_part.done", placed.summary_part(), out);
                }
            }
            OutputKind::Call(call) => match call.kind {
                ToolKind::Function => {
                    if !had_text {
                        self.delta(placed, placed.item.text(), None, out);
                    }
                    let event = ContentEvent { arguments: text, ..placed.event() };
                    self.content("response.function_call_arguments.done", event, out);
                }
                ToolKind::Custom => {
                    let event = ContentEvent { delta: text, ..placed.event() };
                    self.content("response.custom_tool_call_input.delta", event, out);
                    let event = ContentEvent { input: text, ..placed.event() };
                    self.content("response.custom_tool_call_input.done", event, out);
                }
                ToolKind::Search => {}
            },
        }
        self.item("response.output_item.done", placed, out);
    }
}

impl<'a> Placed<'a> {
    fn has_summary(self) -> bool {
        self.options.has_summary && matches!(self.item.kind, OutputKind::Reasoning)
    }

    fn event(self) -> ContentEvent<'a> {
        ContentEvent { item_id: &self.item.id, output_index: self.output_index, ..ContentEvent::default() }
    }

    fn content(self) -> ContentEvent<'a> {
        ContentEvent { content_index: Some(0), ..self.event() }
    }

    fn summary(self) -> ContentEvent<'a> {
        ContentEvent { summary_index: Some(0), ..self.event() }
    }

    fn part(self) -> ContentEvent<'a> {
        ContentEvent { part: Some(self.item.part()), ..self.content() }
    }

    fn summary_part(self) -> ContentEvent<'a> {
        ContentEvent { part: Some(self.item.summary_part()), ..self.summary() }
    }
}
