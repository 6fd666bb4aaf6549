//! Tools: what a caller offers, how a model writes that it uses one, and how that is read from its answer.

mod offer;
mod reader;
mod syntax;

pub(crate) use offer::{Choice, Function, Tools};
pub(crate) use reader::{Reader, Said, ToolCall};
pub(crate) use syntax::Syntax;
