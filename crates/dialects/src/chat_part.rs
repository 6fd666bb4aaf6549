//! Reads the first choice of a normalized chat response: a chunk with its delta, or a whole response with its message.

use crate::raw_text::RawText;
use crate::{MAX_TOOL_CALLS, TranslateError};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// One choice, or a piece of it. Texts are as the engine escaped them, and not empty.
#[derive(Debug, Default)]
pub(crate) struct ChatPart<'a> {
    /// The text of a thinking model before its response.
    pub(crate) reasoning: Option<RawText<'a>>,
    pub(crate) content: Option<RawText<'a>>,
    pub(crate) tool_calls: Vec<ToolPart<'a>>,
    pub(crate) finish: Option<FinishReason>,
    /// The stop sequence that ended the text, if the engine reports it.
    pub(crate) matched_stop: Option<RawText<'a>>,
    pub(crate) reasoning_tokens: Option<u64>,
    /// The array of log probabilities of the tokens of `content`.
    pub(crate) logprobs: Option<&'a RawValue>,
}

/// A tool call, or a piece of it.
#[derive(Debug)]
pub(crate) struct ToolPart<'a> {
    /// The number of the call within the response.
    pub(crate) index: u64,
    pub(crate) id: Option<RawText<'a>>,
    pub(crate) name: Option<RawText<'a>>,
    pub(crate) arguments: Option<RawText<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
}

#[derive(Deserialize)]
struct ChatResponse<'a> {
    #[serde(borrow, default, deserialize_with = "bounded")]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Option<Usage<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Choice<'a> {
    #[serde(borrow, alias = "message")]
    delta: Option<Delta<'a>>,
    finish_reason: Option<&'a RawValue>,
    logprobs: Option<Logprobs<'a>>,
    /// In vLLM and forebay-engine.
    stop_reason: Option<&'a RawValue>,
    /// In SGLang.
    matched_stop: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    reasoning_content: Option<&'a RawValue>,
    /// Some engines send both, with the same text.
    reasoning: Option<&'a RawValue>,
    #[serde(deserialize_with = "bounded")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Logprobs<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolCall<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    function: Option<Function<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage<'a> {
    #[serde(borrow)]
    completion_tokens_details: Option<UsageDetails<'a>>,
    /// SGLang has no details.
    reasoning_tokens: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UsageDetails<'a> {
    #[serde(borrow)]
    reasoning_tokens: Option<&'a RawValue>,
}

impl<'a> ChatPart<'a> {
    pub(crate) fn read(json: &'a str) -> Result<Self, TranslateError> {
        let unexpected = |_| TranslateError::Unexpected("a member of the chat response has an unexpected type");
        let ChatResponse { choices, usage } = serde_json::from_str(json).map_err(unexpected)?;
        let mut part = choices.into_iter().next().map(Self::of).unwrap_or_default();
        part.reasoning_tokens = usage.and_then(|usage| {
            let details = usage.completion_tokens_details.and_then(|details| details.reasoning_tokens);
            number(details).or(number(usage.reasoning_tokens))
        });
        Ok(part)
    }

    fn of(choice: Choice<'a>) -> Self {
        let delta = choice.delta.unwrap_or_default();
        let calls = delta.tool_calls.into_iter().enumerate();
        Self {
            reasoning: text(delta.reasoning_content).or(text(delta.reasoning)),
            content: text(delta.content).or(text(delta.refusal)),
            tool_calls: calls.map(|(position, call)| ToolPart::of(call, position)).collect(),
            finish: text(choice.finish_reason).map(FinishReason::of),
            matched_stop: text(choice.matched_stop).or(text(choice.stop_reason)),
            reasoning_tokens: None,
            logprobs: choice.logprobs.and_then(|all| all.content).filter(|list| list.get().starts_with('[')),
        }
    }
}

impl<'a> ToolPart<'a> {
    fn of(call: ToolCall<'a>, position: usize) -> Self {
        let function = call.function.unwrap_or_default();
        Self {
            index: number(call.index).unwrap_or(position as u64),
            id: text(call.id),
            name: text(function.name),
            arguments: text(function.arguments),
        }
    }
}

impl FinishReason {
    /// Other words were replaced before.
    fn of(word: RawText<'_>) -> Self {
        match word.escaped() {
            "length" => Self::Length,
            "tool_calls" | "function_call" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            _ => Self::Stop,
        }
    }
}

/// A string that is not empty; `None` for every other value.
fn text(value: Option<&RawValue>) -> Option<RawText<'_>> {
    RawText::of(value?).filter(|text| !text.escaped().is_empty())
}

fn number(value: Option<&RawValue>) -> Option<u64> {
    value?.get().parse().ok()
}

/// Reads an array of at most [`MAX_TOOL_CALLS`] elements. Null is an empty array.
fn bounded<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Bounded<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array")
        }

        fn visit_unit<E: Error>(self) -> Result<Vec<T>, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut elements = Vec::new();
            while let Some(element) = list.next_element()? {
                if elements.len() == MAX_TOOL_CALLS {
                    return Err(A::Error::custom("too many elements"));
                }
                elements.push(element);
            }
            Ok(elements)
        }
    }
    deserializer.deserialize_any(Bounded(PhantomData))
}
