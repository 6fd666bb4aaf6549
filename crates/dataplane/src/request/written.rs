//! Builds the request that is sent, so that it has only members that were checked.

use bytes::Bytes;
use std::ops::Range;

/// A request with a model.
pub(super) struct WrittenRequest {
    body: Vec<u8>,
    model_span: Range<usize>,
}

/// The ranges of a member in a written request.
pub(super) struct WrittenMember {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

impl WrittenRequest {
    /// Begins with the model.
    pub(super) fn new(model: &str) -> Self {
        let mut request = Self { body: b"{".to_vec(), model_span: 0..0 };
        request.model_span = request.write("model", &json::quote(model)).value;
        request
    }

    pub(super) fn add(&mut self, name: &str, value: &[u8]) -> WrittenMember {
        self.body.push(b',');
        self.write(name, value)
    }

    fn write(&mut self, name: &str, value: &[u8]) -> WrittenMember {
        let name = self.append(&json::quote(name));
        self.body.push(b':');
        WrittenMember { name, value: self.append(value) }
    }

    fn append(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.body.len();
        self.body.extend_from_slice(text);
        start..self.body.len()
    }

    /// The body, and the range of the model in it.
    pub(super) fn end(mut self) -> (Bytes, Range<usize>) {
        self.body.push(b'}');
        (self.body.into(), self.model_span)
    }
}
