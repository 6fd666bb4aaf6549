//! Normalizes a chat stream.

use super::chunk::ChunkNormalizer;
use super::sse::{Event, Splitter, read_event};
use super::{BadUpstreamResponse, TokenMeter};
use crate::request::StreamOptions;
use bytes::{Bytes, BytesMut};

/// Reads the stream of an engine and writes the stream to the client.
pub(crate) struct ChatStream {
    splitter: Splitter,
    chunks: ChunkNormalizer,
    pub(crate) meter: TokenMeter,
    out: BytesMut,
    done: bool,
}

impl ChatStream {
    /// `choices` is the number of choices that the client requested.
    pub(crate) fn new(model: &str, options: &StreamOptions, choices: u64, estimated_prompt: u64) -> Self {
        Self {
            splitter: Splitter::default(),
            chunks: ChunkNormalizer::new(model, choices, options.usage, options.running_usage),
            meter: TokenMeter::new(estimated_prompt),
            out: BytesMut::new(),
            done: false,
        }
    }

    /// Converts the bytes of the engine to those for the client, which may be none.
    ///
    /// After an error, [`ChatStream::take_written`] returns the complete events before it.
    pub(crate) fn pass(&mut self, bytes: Bytes) -> Result<Bytes, BadUpstreamResponse> {
        self.out.reserve(bytes.len() + 64);
        self.splitter.push(bytes);
        while let Some(event) = self.next_event()? {
            self.pass_event(&event)?;
        }
        Ok(self.take_written())
    }

    /// Handles the end of the engine's stream.
    pub(crate) fn end(&mut self) -> Result<Bytes, BadUpstreamResponse> {
        let rest = self.splitter.rest();
        if !self.done && !rest.trim_ascii().is_empty() {
            self.pass_event(&rest)?;
        }
        if !self.done && !self.chunks.all_finished() {
            return Err(BadUpstreamResponse::Unexpected("the stream ended early"));
        }
        self.write_done();
        Ok(self.take_written())
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    pub(crate) fn take_written(&mut self) -> Bytes {
        self.out.split().freeze()
    }

    fn next_event(&mut self) -> Result<Option<Bytes>, BadUpstreamResponse> {
        self.splitter.next_event().map_err(|_| BadUpstreamResponse::Unexpected("an event is too large"))
    }

    fn pass_event(&mut self, event: &[u8]) -> Result<(), BadUpstreamResponse> {
        if self.done {
            return Ok(());
        }
        match read_event(event) {
            Event::Data(data) if data.trim_ascii() == b"[DONE]" => {
                if !self.chunks.all_finished() {
                    return Err(BadUpstreamResponse::Unexpected("the stream sent [DONE] early"));
                }
                self.write_done();
            }
            Event::Data(data) => self.chunks.pass(&data, &mut self.meter, &mut self.out)?,
            Event::Comment => self.out.extend_from_slice(b": ping\n\n"),
            Event::Empty => {}
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
