//! Server-sent events, the only place that knows their format.

use bytes::BytesMut;
use serde::Serialize;
use std::io;

/// Appends to a buffer.
struct Sink<'a>(&'a mut BytesMut);

impl io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes an event whose data are one line of JSON.
pub(crate) fn write_event(name: &str, data: &impl Serialize, out: &mut BytesMut) {
    for part in ["event: ", name, "\ndata: "] {
        out.extend_from_slice(part.as_bytes());
    }
    serde_json::to_writer(Sink(out), data).expect("our types are JSON, and a buffer takes everything");
    out.extend_from_slice(b"\n\n");
}

/// Writes a comment, which clients ignore.
pub(crate) fn write_comment(out: &mut BytesMut) {
    out.extend_from_slice(b": ping\n\n");
}
