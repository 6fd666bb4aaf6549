//! Reads calls out of an answer as it grows.
//!
//! Text goes on at once, but for what may be the beginning of a call. A call is told when it is whole. What looked like
//! a call and was none is text.

use super::syntax::OPEN;
use super::{Function, Syntax};
use serde_json::{Deserializer, Map, Value};

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Text(String),
    Call(ToolCall),
}

/// A function that the model wants to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON, as text.
    pub arguments: String,
}

/// Where the reader is in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Text, in which a call may begin.
    Text,
    /// The JSON of a call, if it is one.
    Call,
    /// What follows a call and belongs to it.
    Closing,
    /// Text to the end.
    Plain,
}

/// The reader of one answer.
#[derive(Debug)]
pub(crate) struct Reader {
    syntax: Syntax,
    names: Vec<String>,
    /// Calls that it may still tell.
    left: usize,
    state: State,
    /// What is not decided yet.
    kept: String,
    called: bool,
}

impl Reader {
    /// Only `functions` can be called, `most` times together.
    pub(crate) fn new(syntax: Syntax, functions: &[Function], most: usize) -> Self {
        let names = functions.iter().map(|function| function.name.clone()).collect();
        Self { syntax, names, left: most, state: State::Text, kept: String::new(), called: false }
    }

    /// Takes more of the answer and gives what is decided by it.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Said> {
        self.kept.push_str(text);
        let mut said = Vec::new();
        while self.step(&mut said) {}
        said
    }

    /// Gives what was kept back: nothing more will come.
    pub(crate) fn finish(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        let rest = std::mem::take(&mut self.kept);
        match self.state {
            State::Call => self.give_text(&format!("{}{rest}", self.marker()), &mut said),
            State::Closing => {}
            State::Text | State::Plain => self.give_text(&rest, &mut said),
        }
        said
    }

    /// Takes one decision, if there is enough to decide on.
    fn step(&mut self, said: &mut Vec<Said>) -> bool {
        match self.state {
            State::Text => match self.syntax {
                Syntax::Tagged => self.look_for_tag(said),
                Syntax::Bare => self.look_for_brace(),
            },
            State::Call => self.read_call(said),
            State::Closing => self.close(),
            State::Plain => {
                let text = std::mem::take(&mut self.kept);
                self.give_text(&text, said);
                false
            }
        }
    }

    fn look_for_tag(&mut self, said: &mut Vec<Said>) -> bool {
        if let Some(at) = self.kept.find(OPEN) {
            let before = self.kept[..at].trim_end().to_owned();
            self.give_text(&before, said);
            self.kept.drain(..at + OPEN.len());
            self.state = State::Call;
            return true;
        }
        let undecided = (1..OPEN.len()).rev().find(|length| self.kept.ends_with(&OPEN[..*length])).unwrap_or(0);
        // Blanks before a call belong to it.
        let decided = self.kept[..self.kept.len() - undecided].trim_end().len();
        let rest = self.kept.split_off(decided);
        let text = std::mem::replace(&mut self.kept, rest);
        self.give_text(&text, said);
        false
    }

    /// Without a tag, only an answer that begins with a brace can be a call.
    fn look_for_brace(&mut self) -> bool {
        let between = |letter: char| letter.is_whitespace() || (self.called && letter == ';');
        let start = self.kept.trim_start_matches(between);
        match start.chars().next() {
            None => false,
            Some('{') => {
                self.kept = start.to_owned();
                self.state = State::Call;
                true
            }
            Some(_) => {
                self.state = State::Plain;
                true
            }
        }
    }

    fn read_call(&mut self, said: &mut Vec<Said>) -> bool {
        let mut values = Deserializer::from_str(&self.kept).into_iter::<Map<String, Value>>();
        let read = match values.next() {
            None => return false,
            Some(Err(error)) if error.is_eof() => return false,
            Some(read) => read.ok().and_then(|object| self.call(&object)),
        };
        let end = values.byte_offset();
        match read {
            Some(call) => {
                self.kept.drain(..end);
                self.state = State::Closing;
                self.called = true;
                if self.left > 0 {
                    self.left -= 1;
                    said.push(Said::Call(call));
                }
            }
            None => {
                self.give_text(self.marker(), said);
                self.state = match self.syntax {
                    Syntax::Tagged => State::Text,
                    Syntax::Bare => State::Plain,
                };
            }
        }
        true
    }

    /// Drops the closing tag; a model that forgets it is understood all the same.
    fn close(&mut self) -> bool {
        let rest = self.kept.trim_start();
        match self.syntax.closing() {
            Some(closing) if rest.starts_with(closing) => self.kept = rest[closing.len()..].to_owned(),
            Some(closing) if closing.starts_with(rest) => return false,
            Some(_) | None => {}
        }
        self.state = State::Text;
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

    /// Blanks around calls are no text.
    fn give_text(&self, text: &str, said: &mut Vec<Said>) {
        let nothing = if self.called { text.trim() } else { text }.is_empty();
        if !nothing {
            said.push(Said::Text(text.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, Said, Syntax};
    use crate::tools::Function;
    use serde_json::json;

    const WEATHER: &str = r#"{"name": "weather", "arguments": {"city": "Paris"}}"#;

    /// What is said when the answer comes in pieces of this many characters: text as it is, calls as name and arguments.
    fn said(syntax: Syntax, most: usize, answer: &str, piece: usize) -> Vec<String> {
        let functions = ["weather", "time"].map(|name| Function { name: name.to_owned(), parameters: json!({}) });
        let mut reader = Reader::new(syntax, &functions, most);
        let letters: Vec<char> = answer.chars().collect();
        let mut said: Vec<Said> =
            letters.chunks(piece).flat_map(|piece| reader.push(&piece.iter().collect::<String>())).collect();
        said.extend(reader.finish());
        let mut told: Vec<String> = Vec::new();
        let mut joins = false;
        for part in said {
            match part {
                Said::Text(text) if joins => told.last_mut().unwrap().push_str(&text),
                Said::Text(text) => {
                    told.push(text);
                    joins = true;
                }
                Said::Call(call) => {
                    told.push(format!("{}({})", call.name, call.arguments));
                    joins = false;
                }
            }
        }
        told
    }

    #[test]
    fn calls_are_read_alike_however_the_answer_is_cut() {
        let two = format!(
            "Let me see.\n<tool_call>\n{WEATHER}\n</tool_call>\n<tool_call>{{\"name\": \"time\"}}</tool_call>\n"
        );
        let bare =
            r#"{"name": "weather", "parameters": {"city": "</tool_call> {"}}; {"name": "time", "parameters": {}}"#;
        let paris = r#"weather({"city":"Paris"})"#;
        for (syntax, answer, expected) in [
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
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(said(syntax, 9, answer, piece), expected, "{answer:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn text_does_not_wait_for_the_end_of_the_answer() {
        let mut reader = Reader::new(Syntax::Tagged, &[], 9);
        assert_eq!(reader.push("Hello <"), [Said::Text("Hello".to_owned())]);
        assert_eq!(reader.push("b> "), [Said::Text(" <b>".to_owned())]);
    }

    #[test]
    fn no_more_calls_are_told_than_the_caller_wants() {
        let two = format!("<tool_call>{WEATHER}</tool_call><tool_call>{WEATHER}</tool_call>");
        assert_eq!(said(Syntax::Tagged, 1, &two, 5).len(), 1);
    }
}
