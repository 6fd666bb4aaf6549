//! Turns a chat response into a message.

use super::MessageOptions;
use super::arguments::Arguments;
use super::ending::Ending;
use super::wire::{Block, Input, Message, SIGNATURE};
use crate::TranslateError;
use crate::chat_part::{ChatPart, ToolPart};
use crate::raw_text::{RawText, Text};
use bytes::Bytes;
use domain::usage::Tokens;

pub(crate) fn translate(response: &[u8], options: &MessageOptions, tokens: Tokens) -> Result<Bytes, TranslateError> {
    let response = String::from_utf8_lossy(response);
    let mut part = ChatPart::read(&response)?;
    let mut ending = Ending::default();
    ending.note(&part);
    if ending.is_cut() {
        part.tool_calls.retain(|call| !is_unfinished(call));
    }
    let stop = ending.stop(options, tokens, !part.tool_calls.is_empty());
    let message = Message::new(options, blocks(&part, options)?, stop, ending.usage(options, tokens));
    Ok(serde_json::to_vec(&message).expect("a message is JSON").into())
}

/// Whether a tool call lacks something that the engine would have sent. Invalid arguments are another matter.
fn is_unfinished(call: &ToolPart<'_>) -> bool {
    let mut arguments = Arguments::default();
    let is_valid = call.arguments.is_none_or(|text| arguments.push(text).is_ok());
    call.name.is_none() || (is_valid && !arguments.are_complete())
}

fn blocks<'a>(part: &ChatPart<'a>, options: &MessageOptions) -> Result<Vec<Block<'a>>, TranslateError> {
    let thinking = part.reasoning.filter(|_| !options.omits_thinking);
    let mut blocks: Vec<Block<'_>> =
        thinking.map(|text| Block::Thinking { thinking: text.into(), signature: SIGNATURE }).into_iter().collect();
    if part.content.is_some() || (blocks.is_empty() && part.tool_calls.is_empty()) {
        blocks.push(Block::Text { text: part.content.map_or(Text::Plain(""), Text::from), citations: [] });
    }
    for (position, call) in part.tool_calls.iter().enumerate() {
        let name = call.name.ok_or(TranslateError::Unexpected("a tool call has no name"))?;
        let id = call.id.map(RawText::as_raw);
        blocks.push(Block::tool_use(id, name.as_raw(), position, input(call)?, options));
    }
    Ok(blocks)
}

fn input(call: &ToolPart<'_>) -> Result<Input, TranslateError> {
    let mut arguments = Arguments::default();
    let Some(text) = call.arguments else { return Ok(Input::Empty {}) };
    arguments.push(text)?;
    if !arguments.end()? {
        return Ok(Input::Empty {});
    }
    let object = serde_json::from_str(&text.decoded());
    object.map(Input::Json).map_err(|_| TranslateError::Unexpected("the arguments of a tool call are not JSON"))
}
