//! A chat stream on its way from the engine to the client.

use super::chunk::Chunks;
use super::sse::{Event, Splitter, read_event};
use super::{Meter, Nonsense};
use bytes::{Bytes, BytesMut};

/// Reads an engine's stream and writes the client's.
pub struct ChatStream {
    splitter: Splitter,
    chunks: Chunks,
    pub meter: Meter,
    out: BytesMut,
    done: bool,
}

impl ChatStream {
    pub fn new(model: &str, streaming: &crate::probe::Streaming, prompt_bytes: usize) -> Self {
        Self {
            splitter: Splitter::default(),
            chunks: Chunks::new(model, streaming.usage, streaming.running_usage),
            meter: Meter::new(prompt_bytes),
            out: BytesMut::new(),
            done: false,
        }
    }

    /// Takes what the engine sent and gives what the client gets for it, which may be nothing.
    ///
    /// After an error, [`ChatStream::take_written`] has what was whole before it.
    pub fn pass(&mut self, bytes: Bytes) -> Result<Bytes, Nonsense> {
        self.out.reserve(bytes.len() + 64);
        self.splitter.push(bytes);
        while let Some(event) = self.next_event()? {
            self.pass_event(&event)?;
        }
        Ok(self.take_written())
    }

    /// The engine has ended its stream.
    pub fn end(&mut self) -> Result<Bytes, Nonsense> {
        let rest = self.splitter.rest();
        if !self.done && !rest.trim_ascii().is_empty() {
            self.pass_event(&rest)?;
        }
        if !self.done && !self.chunks.all_finished() {
            return Err(Nonsense::Unexpected("the stream ended in the middle"));
        }
        self.write_done();
        Ok(self.take_written())
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    pub fn take_written(&mut self) -> Bytes {
        self.out.split().freeze()
    }

    fn next_event(&mut self) -> Result<Option<Bytes>, Nonsense> {
        self.splitter.next_event().map_err(|_| Nonsense::Unexpected("an event is too large"))
    }

    fn pass_event(&mut self, event: &[u8]) -> Result<(), Nonsense> {
        if self.done {
            return Ok(());
        }
        match read_event(event) {
            Event::Data(data) if data.trim_ascii() == b"[DONE]" => {
                if !self.chunks.all_finished() {
                    return Err(Nonsense::Unexpected("the stream says that it is done in the middle"));
                }
                self.write_done();
            }
            Event::Data(data) => self.chunks.pass(&data, &mut self.meter, &mut self.out)?,
            Event::Comment => self.out.extend_from_slice(b": ping\n\n"),
            Event::Noise => {}
        }
        Ok(())
    }

    fn write_done(&mut self) {
        if !self.done {
            self.done = true;
            self.chunks.write_usage(&self.meter, &mut self.out);
            self.out.extend_from_slice(b"data: [DONE]\n\n");
        }
    }
}

#[cfg(test)]
#[path = "chat_stream_tests.rs"]
mod tests;
