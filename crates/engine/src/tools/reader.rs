//! Extracts tool calls from the output as it arrives.
//!
//! Text is passed on immediately, except for what may begin a call. A call is returned once it is complete. Text that
//! merely looks like a call is returned as text.

use super::syntax::OPEN;
use super::{Function, Syntax};
use serde_json::{Deserializer, Map, Value};

/// A part of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputPart {
    Text(String),
    Call(ToolCall),
}

/// A call to a function by the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON as a string.
    pub arguments: String,
}

/// State of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    /// In text, where a call may begin.
    Text,
    /// In the JSON of a possible call.
    Call,
    /// After a call, before its closing tag.
    Closing,
    /// In text until the end.
    Plain,
}

/// ToolCallReader of one output.
#[derive(Debug)]
pub(crate) struct ToolCallReader {
    syntax: Syntax,
    names: Vec<String>,
    /// Calls that may still be returned.
    remaining_calls: usize,
    state: ReaderState,
    /// Undecided text.
    buffered: String,
    called: bool,
}

impl ToolCallReader {
    /// Only `functions` can be called, at most `max_calls` times in total.
    pub(crate) fn new(syntax: Syntax, functions: &[Function], max_calls: usize) -> Self {
        let names = functions.iter().map(|function| function.name.clone()).collect();
        Self {
            syntax,
            names,
            remaining_calls: max_calls,
            state: ReaderState::Text,
            buffered: String::new(),
            called: false,
        }
    }

    /// Consumes more output and returns what is decided.
    pub(crate) fn push(&mut self, text: &str) -> Vec<OutputPart> {
        self.buffered.push_str(text);
        let mut parts = Vec::new();
        while self.step(&mut parts) {}
        parts
    }

    /// Returns the buffered text at the end of the output.
    pub(crate) fn finish(&mut self) -> Vec<OutputPart> {
        let mut parts = Vec::new();
        let rest = std::mem::take(&mut self.buffered);
        match self.state {
            ReaderState::Call => self.push_text(&format!("{}{rest}", self.marker()), &mut parts),
            ReaderState::Closing => {}
            ReaderState::Text | ReaderState::Plain => self.push_text(&rest, &mut parts),
        }
        parts
    }

    /// Makes one decision if there is enough input.
    fn step(&mut self, parts: &mut Vec<OutputPart>) -> bool {
        match self.state {
            ReaderState::Text => match self.syntax {
                Syntax::Tagged => self.look_for_tag(parts),
                Syntax::Bare => self.look_for_brace(),
            },
            ReaderState::Call => self.read_call(parts),
            ReaderState::Closing => self.close(),
            ReaderState::Plain => {
                let text = std::mem::take(&mut self.buffered);
                self.push_text(&text, parts);
                false
            }
        }
    }

    fn look_for_tag(&mut self, parts: &mut Vec<OutputPart>) -> bool {
        if let Some(at) = self.buffered.find(OPEN) {
            let before = self.buffered[..at].trim_end().to_owned();
            self.push_text(&before, parts);
            self.buffered.drain(..at + OPEN.len());
            self.state = ReaderState::Call;
            return true;
        }
        let undecided = (1..OPEN.len()).rev().find(|length| self.buffered.ends_with(&OPEN[..*length])).unwrap_or(0);
        // Whitespace before a call belongs to the call.
        let decided = self.buffered[..self.buffered.len() - undecided].trim_end().len();
        let rest = self.buffered.split_off(decided);
        let text = std::mem::replace(&mut self.buffered, rest);
        self.push_text(&text, parts);
        false
    }

    /// Without tags, only output that begins with a brace can be a call.
    fn look_for_brace(&mut self) -> bool {
        let is_separator = |letter: char| letter.is_whitespace() || (self.called && letter == ';');
        let start = self.buffered.trim_start_matches(is_separator);
        match start.chars().next() {
            None => false,
            Some('{') => {
                self.buffered = start.to_owned();
                self.state = ReaderState::Call;
                true
            }
            Some(_) => {
                self.state = ReaderState::Plain;
                true
            }
        }
    }

    fn read_call(&mut self, parts: &mut Vec<OutputPart>) -> bool {
        let mut values = Deserializer::from_str(&self.buffered).into_iter::<Map<String, Value>>();
        let read = match values.next() {
            None => return false,
            Some(Err(error)) if error.is_eof() => return false,
            Some(read) => read.ok().and_then(|object| self.call(&object)),
        };
        let end = values.byte_offset();
        match read {
            Some(call) => {
                self.buffered.drain(..end);
                self.state = ReaderState::Closing;
                self.called = true;
                if self.remaining_calls > 0 {
                    self.remaining_calls -= 1;
                    parts.push(OutputPart::Call(call));
                }
            }
            None => {
                self.push_text(self.marker(), parts);
                self.state = match self.syntax {
                    Syntax::Tagged => ReaderState::Text,
                    Syntax::Bare => ReaderState::Plain,
                };
            }
        }
        true
    }

    /// Drops the closing tag, which models sometimes omit.
    fn close(&mut self) -> bool {
        let rest = self.buffered.trim_start();
        match self.syntax.closing() {
            Some(closing) if rest.starts_with(closing) => self.buffered = rest[closing.len()..].to_owned(),
            Some(closing) if closing.starts_with(rest) => return false,
            Some(_) | None => {}
        }
        self.state = ReaderState::Text;
        true
    }

    fn marker(&self) -> &'static str {
        match self.syntax {
            Syntax::Tagged => OPEN,
            Syntax::Bare => "",
        }
    }

    fn call(&self, object: &Map<String, Value>) -> Option<ToolCall> {
        let name = object.get("name")?.as_str()?;
        let arguments = match object.get("arguments").or_else(|| object.get("parameters")) {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(Value::Object(arguments)) => serde_json::to_string(arguments).ok()?,
            Some(_) => return None,
        };
        let known = self.names.iter().any(|known| known == name);
        known.then(|| ToolCall {
            id: format!("call_{:024x}", fastrand::u128(..) >> 32),
            name: name.to_owned(),
            arguments,
        })
    }

    /// Emits text. Whitespace around calls is dropped.
    fn push_text(&self, text: &str, parts: &mut Vec<OutputPart>) {
        let is_empty = if self.called { text.trim() } else { text }.is_empty();
        if !is_empty {
            parts.push(OutputPart::Text(text.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputPart, Syntax, ToolCallReader};
    use crate::tools::Function;
    use serde_json::json;

    const WEATHER: &str = r#"{"name": "weather", "arguments": {"city": "Paris"}}"#;

    /// Output parts if the output arrives in chunks of `size` characters: text, and calls as `name(arguments)`.
    fn read_in_chunks(syntax: Syntax, max_calls: usize, output: &str, size: usize) -> Vec<String> {
        let functions = ["weather", "time"].map(|name| Function { name: name.to_owned(), parameters: json!({}) });
        let mut reader = ToolCallReader::new(syntax, &functions, max_calls);
        let letters: Vec<char> = output.chars().collect();
        let mut parts: Vec<OutputPart> =
            letters.chunks(size).flat_map(|chunk| reader.push(&chunk.iter().collect::<String>())).collect();
        parts.extend(reader.finish());
        let mut shown: Vec<String> = Vec::new();
        let mut joins = false;
        for part in parts {
            match part {
                OutputPart::Text(text) if joins => shown.last_mut().unwrap().push_str(&text),
                OutputPart::Text(text) => {
                    shown.push(text);
                    joins = true;
                }
                OutputPart::Call(call) => {
                    shown.push(format!("{}({})", call.name, call.arguments));
                    joins = false;
                }
            }
        }
        shown
    }

    #[test]
    fn calls_are_read_equally_for_every_chunk_size() {
        let two = format!(
            "Let me see.\n<tool_call>\n{WEATHER}\n</tool_call>\n<tool_call>{{\"name\": \"time\"}}</tool_call>\n"
        );
        let bare =
            r#"{"name": "weather", "parameters": {"city": "</tool_call> {"}}; {"name": "time", "parameters": {}}"#;
        let paris = r#"weather({"city":"Paris"})"#;
        for (syntax, output, expected) in [
            (Syntax::Tagged, two.as_str(), vec!["Let me see.", paris, "time({})"]),
            (Syntax::Tagged, &format!("<tool_call>{WEATHER}"), vec![paris]),
            (Syntax::Tagged, &format!("<tool_call>{WEATHER}</tool_call> Done."), vec![paris, " Done."]),
            (Syntax::Tagged, "if a <tool and b < c {", vec!["if a <tool and b < c {"]),
            (Syntax::Tagged, WEATHER, vec![WEATHER]),
            (Syntax::Tagged, "<tool_call>{\"name\": \"weat", vec!["<tool_call>{\"name\": \"weat"]),
            (Syntax::Tagged, "<tool_call>no</tool_call>", vec!["<tool_call>no</tool_call>"]),
            (Syntax::Bare, bare, vec![r#"weather({"city":"</tool_call> {"})"#, "time({})"]),
            (
                Syntax::Bare,
                r#"{"name": "unknown", "parameters": {}}"#,
                vec![r#"{"name": "unknown", "parameters": {}}"#],
            ),
            (Syntax::Bare, r#"It is {"name": "time"}"#, vec![r#"It is {"name": "time"}"#]),
            (Syntax::Bare, r#"{"a": 1} and more"#, vec![r#"{"a": 1} and more"#]),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                assert_eq!(read_in_chunks(syntax, 9, output, size), expected, "{output:?} in chunks of {size}");
            }
        }
    }

    #[test]
    fn text_is_returned_before_the_end() {
        let mut reader = ToolCallReader::new(Syntax::Tagged, &[], 9);
        assert_eq!(reader.push("Hello <"), [OutputPart::Text("Hello".to_owned())]);
        assert_eq!(reader.push("b> "), [OutputPart::Text(" <b>".to_owned())]);
    }

    #[test]
    fn no_more_calls_are_returned_than_allowed() {
        let two = format!("<tool_call>{WEATHER}</tool_call><tool_call>{WEATHER}</tool_call>");
        assert_eq!(read_in_chunks(Syntax::Tagged, 1, &two, 5).len(), 1);
    }
}
