//! The items of a response's output, while they are put together and after.

use super::ResponseOptions;
use super::tool_table::ToolKind;
use super::wire::{CallHead, Item, ItemStatus, Logprobs, Object, Part};
use crate::raw_text::{ListBuilder, RawText, Text, TextBuilder, encode};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug)]
pub(super) struct OutputItem {
    pub(super) id: String,
    pub(super) kind: OutputKind,
    pub(super) status: ItemStatus,
    content: Content,
}

#[derive(Debug)]
pub(super) enum OutputKind {
    Reasoning,
    Message,
    Call(ToolCall),
}

/// A call, with the tool as the client declared it.
#[derive(Debug)]
pub(super) struct ToolCall {
    pub(super) kind: ToolKind,
    id: Box<RawValue>,
    name: Box<RawValue>,
    namespace: Option<String>,
}

/// What the model wrote: text, or the arguments of a call.
#[derive(Debug)]
enum Content {
    Growing {
        text: TextBuilder,
        logprobs: ListBuilder,
    },
    Complete {
        /// A string; the arguments of a search are an object.
        text: Box<RawValue>,
        logprobs: Option<Box<RawValue>>,
        /// The sealed text. It is kept because sealing it again would give another value.
        sealed: Option<String>,
    },
}

/// The arguments of a custom tool.
#[derive(Deserialize)]
struct CustomArguments<'a> {
    #[serde(borrow)]
    input: &'a RawValue,
}

impl ToolCall {
    /// The call at this position of the response. A call without an id gets one from its position, and a name that was not
    /// declared is that of a function.
    pub(super) fn new(id: Option<&str>, name: RawText<'_>, position: usize, options: &ResponseOptions) -> Self {
        let tool = options.tools.find(name.escaped().as_bytes());
        Self {
            kind: tool.map_or(ToolKind::Function, |tool| tool.kind),
            id: match id {
                Some(escaped) => raw_string(escaped),
                None => encode(&format!("call_{}_{position}", options.unique)),
            },
            name: tool.map_or_else(|| name.as_raw().to_owned(), |tool| encode(&tool.name)),
            namespace: tool.and_then(|tool| tool.namespace.clone()),
        }
    }

    /// The bytes of its names.
    pub(super) fn bytes(&self) -> usize {
        self.id.get().len() + self.name.get().len()
    }
}

impl OutputItem {
    /// The item at this place of the output.
    pub(super) fn new(kind: OutputKind, index: usize, options: &ResponseOptions) -> Self {
        let prefix = match &kind {
            OutputKind::Reasoning => "rs",
            OutputKind::Message => "msg",
            OutputKind::Call(call) => match call.kind {
                ToolKind::Function => "fc",
                ToolKind::Custom => "ctc",
                ToolKind::Search => "tsc",
            },
        };
        Self {
            id: format!("{prefix}_{}_{index}", options.unique),
            kind,
            status: ItemStatus::InProgress,
            content: Content::Growing { text: TextBuilder::default(), logprobs: ListBuilder::default() },
        }
    }

    /// The kind of tool that the item calls; `None` for other items.
    pub(super) fn tool_kind(&self) -> Option<ToolKind> {
        match &self.kind {
            OutputKind::Call(call) => Some(call.kind),
            OutputKind::Reasoning | OutputKind::Message => None,
        }
    }

    pub(super) fn is_in_progress(&self) -> bool {
        self.status == ItemStatus::InProgress
    }

    /// Adds escaped text and log probabilities, which are a JSON array. Returns how many bytes of the array are kept.
    pub(super) fn push(&mut self, escaped: &str, list: Option<&RawValue>) -> usize {
        let Content::Growing { text, logprobs } = &mut self.content else { return 0 };
        text.push(escaped);
        list.map_or(0, |list| logprobs.extend(list))
    }

    /// Whether nothing was written yet.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.content, Content::Growing { text, .. } if text.is_empty())
    }

    /// Ends the item.
    pub(super) fn end(&mut self, status: ItemStatus, options: &ResponseOptions) {
        self.status = status;
        let growing = Content::Growing { text: TextBuilder::default(), logprobs: ListBuilder::default() };
        let Content::Growing { text, logprobs } = std::mem::replace(&mut self.content, growing) else { return };
        let is_empty = text.is_empty();
        let text = text.finish();
        let seal = options.seal.as_ref().filter(|_| matches!(self.kind, OutputKind::Reasoning));
        let sealed = seal.map(|seal| seal.seal(RawText::of(&text).map_or("", RawText::escaped)));
        let text = match self.tool_kind() {
            // Engines send nothing for a function without parameters.
            Some(ToolKind::Function) if is_empty => encode("{}"),
            Some(ToolKind::Function) | None => text,
            Some(ToolKind::Custom) => custom_input(&text).unwrap_or(text),
            Some(ToolKind::Search) => search_arguments(&text),
        };
        self.content = Content::Complete { text, logprobs: logprobs.finish(), sealed };
    }

    /// The whole text; empty while the item is in progress.
    pub(super) fn text(&self) -> Text<'_> {
        match &self.content {
            Content::Growing { .. } => Text::Plain(""),
            Content::Complete { text, .. } => Text::Raw(text),
        }
    }

    pub(super) fn logprobs(&self) -> Logprobs<'_> {
        match &self.content {
            Content::Growing { .. } => Logprobs(None),
            Content::Complete { logprobs, .. } => Logprobs(logprobs.as_deref()),
        }
    }

    /// The only part of the content.
    pub(super) fn part(&self) -> Part<'_> {
        match &self.kind {
            OutputKind::Message => Part::OutputText { text: self.text(), annotations: [], logprobs: self.logprobs() },
            OutputKind::Reasoning | OutputKind::Call(_) => Part::ReasoningText { text: self.text() },
        }
    }

    /// The reasoning as its own summary.
    pub(super) fn summary_part(&self) -> Part<'_> {
        Part::SummaryText { text: self.text() }
    }

    pub(super) fn wire(&self, options: &ResponseOptions) -> Item<'_> {
        let (id, status) = (self.id.as_str(), self.status);
        let content: Vec<Part<'_>> = (!self.is_in_progress()).then(|| self.part()).into_iter().collect();
        match &self.kind {
            OutputKind::Reasoning => {
                let has_summary = options.has_summary && !self.is_in_progress();
                let summary = has_summary.then(|| self.summary_part()).into_iter().collect();
                let encrypted_content = match &self.content {
                    Content::Complete { sealed, .. } => sealed.as_deref(),
                    Content::Growing { .. } => None,
                };
                Item::Reasoning { id, r#type: "reasoning", summary, content, encrypted_content }
            }
            OutputKind::Message => Item::Message { id, r#type: "message", role: "assistant", content, status },
            OutputKind::Call(call) => {
                let head = |r#type, name| CallHead {
                    id,
                    call_id: &call.id,
                    r#type,
                    name,
                    namespace: call.namespace.as_deref().filter(|_| name.is_some()),
                };
                match call.kind {
                    ToolKind::Function => {
                        let call = head("function_call", Some(&*call.name));
                        Item::FunctionCall { call, arguments: self.text(), status }
                    }
                    ToolKind::Custom => {
                        let call = head("custom_tool_call", Some(&*call.name));
                        Item::CustomToolCall { call, input: self.text(), status }
                    }
                    ToolKind::Search => {
                        let arguments = match self.text() {
                            Text::Raw(object) => Object::Json(object),
                            Text::Plain(_) => Object::Empty {},
                        };
                        let call = head("tool_search_call", None);
                        Item::ToolSearchCall { call, execution: "client", arguments, status }
                    }
                }
            }
        }
    }
}

fn raw_string(escaped: &str) -> Box<RawValue> {
    let mut text = TextBuilder::default();
    text.push(escaped);
    text.finish()
}

/// The text that the model wrote as the argument of a custom tool; `None` if it wrote something else.
fn custom_input(arguments: &RawValue) -> Option<Box<RawValue>> {
    let arguments = RawText::of(arguments)?.decoded();
    let object = Some(arguments.trim_start()).filter(|json| json.starts_with('{'))?;
    let CustomArguments { input } = serde_json::from_str(object).ok()?;
    Some(RawText::of(input).map_or_else(|| encode(input.get()), |text| text.as_raw().to_owned()))
}

/// The arguments of a search, which are an object.
fn search_arguments(arguments: &RawValue) -> Box<RawValue> {
    let arguments = RawText::of(arguments).map(RawText::decoded).unwrap_or_default();
    let object = serde_json::from_str::<&RawValue>(&arguments).ok().filter(|json| json.get().starts_with('{'));
    object.map_or_else(|| RawValue::from_string("{}".into()).expect("an object"), ToOwned::to_owned)
}
