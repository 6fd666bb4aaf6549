//! What a request says, read in one pass over its bytes.
//!
//! A text that cannot be read, or that lacks something, is refused at once. A value that is wrong is remembered and
//! refused later, since an unknown model is reported before it.

pub mod chat;
mod checks;
pub mod demand;
pub mod embeddings;
mod messages;
mod tools;

pub use chat::Streaming;
pub use demand::Demand;
pub use embeddings::{Encoding, Vectors};

use crate::json::{Kind, Malformed, Reader, Text};
use bytes::Bytes;
use checks::Checks;
use domain::model::Modality;
use std::collections::HashSet;
use std::ops::Range;

/// A body that is refused before its model is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Unreadable(String),
    Missing { param: String },
}

/// A member with a value of the wrong type or out of range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub param: String,
    pub why: String,
}

/// What the gateway decides on.
#[derive(Debug)]
pub struct Probe {
    /// The request as it will be passed on, less a byte order mark.
    pub body: Bytes,
    pub model: String,
    model_span: Range<usize>,
    /// `messages` or `input`, as they stand in the body.
    pub prompt: Range<usize>,
    pub ask: Ask,
    pub demand: Demand,
    pub invalid: Option<Invalid>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    Chat { streaming: Option<Streaming> },
    Embeddings(Vectors),
}

impl Ask {
    pub const fn modality(&self) -> Modality {
        match self {
            Self::Chat { .. } => Modality::Chat,
            Self::Embeddings(_) => Modality::Embedding,
        }
    }
}

impl Probe {
    pub fn prompt_bytes(&self) -> usize {
        self.prompt.len()
    }

    /// The start of the prompt: calls that share it are best served by one replica.
    pub fn prefix(&self) -> &[u8] {
        const PREFIX: usize = 1024;
        let prompt = &self.body[self.prompt.clone()];
        &prompt[..prompt.len().min(PREFIX)]
    }

    /// The body is a part of some larger buffer as a rule. Who keeps it for long copies it and lets the buffer go.
    pub fn keep_only_the_body(&mut self) {
        self.body = Bytes::copy_from_slice(&self.body);
    }

    pub fn is_stream(&self) -> bool {
        matches!(self.ask, Ask::Chat { streaming: Some(_) })
    }
}

/// The model a request names, before anything else of it is trusted.
#[derive(Default)]
struct Named {
    model: Option<(String, Range<usize>)>,
    invalid: bool,
}

impl Named {
    fn read(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), Malformed> {
        match reader.kind()? {
            Kind::String => {
                let text = reader.string()?;
                let span = reader.position() - text.raw().len() - 2..reader.position();
                self.model = Some((String::from_utf8_lossy(&text.decoded()).into_owned(), span));
                Ok(())
            }
            Kind::Null => reader.skip(),
            other @ (Kind::Bool | Kind::Number | Kind::Array | Kind::Object) => {
                self.invalid = true;
                checks.invalid(&"model", || format!("must be a string, not {}", other.name()));
                reader.skip()
            }
        }
    }

    /// A model of the wrong type has no name to look up, so what is said of it comes first.
    fn take(self, checks: &mut Checks) -> Result<(String, Range<usize>), Fault> {
        match self.model {
            Some(named) => Ok(named),
            None if self.invalid => Ok((String::new(), 0..0)),
            None => {
                checks.missing(&"model");
                Err(checks.take_missing())
            }
        }
    }
}

/// Reads the object that every request is, member by member.
fn read_members(
    body: &Bytes,
    mut member: impl FnMut(&mut Reader<'_>, Text<'_>) -> Result<(), Malformed>,
) -> Result<(), Fault> {
    let mut reader = Reader::new(body);
    let unreadable = |malformed: Malformed| Fault::Unreadable(format!("the body is not JSON: {malformed}"));
    if reader.kind().map_err(unreadable)? != Kind::Object {
        return Err(Fault::Unreadable("the body is not a JSON object".into()));
    }
    let mut names = Names::default();
    let mut twice = None;
    reader
        .object(|reader, name, _| {
            if !names.add(name) && twice.is_none() {
                twice = Some(String::from_utf8_lossy(&name.decoded()).chars().take(64).collect::<String>());
            }
            member(reader, name)
        })
        .and_then(|()| reader.end())
        .map_err(unreadable)?;
    if !reader.is_ascii() && simdutf8::basic::from_utf8(body).is_err() {
        return Err(Fault::Unreadable("the body is not UTF-8".into()));
    }
    match twice {
        Some(name) => Err(Fault::Unreadable(format!("the member `{name}` is there twice"))),
        None => Ok(()),
    }
}

/// The names seen in an object: few as a rule, and never a quadratic search when not.
#[derive(Default)]
struct Names<'a> {
    few: Vec<Text<'a>>,
    many: HashSet<Vec<u8>>,
}

impl<'a> Names<'a> {
    const FEW: usize = 32;

    fn add(&mut self, name: Text<'a>) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(name.decoded().into_owned());
        }
        let escaped = name.raw().contains(&b'\\');
        let known = self.few.iter().any(|seen| {
            seen.raw() == name.raw() || ((escaped || seen.raw().contains(&b'\\')) && seen.decoded() == name.decoded())
        });
        self.few.push(name);
        if self.few.len() > Self::FEW {
            self.many = self.few.iter().map(|name| name.decoded().into_owned()).collect();
        }
        !known
    }
}

/// Some editors and shells put a byte order mark first; it says nothing.
fn without_mark(body: Bytes) -> Bytes {
    if body.starts_with(b"\xEF\xBB\xBF") { body.slice(3..) } else { body }
}
