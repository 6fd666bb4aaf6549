//! Tools: definitions in the request, the syntax of calls, and reading calls from the output.

mod offer;
mod reader;
mod syntax;

pub(crate) use offer::{Function, ToolChoice, Tools};
pub(crate) use reader::{OutputPart, ToolCall, ToolCallReader};
pub(crate) use syntax::Syntax;
