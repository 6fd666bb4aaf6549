//! Normalizes a chat stream.

use super::chunk::ChunkNormalizer;
use super::sse::{Event, Splitter, read_event};
use super::{BadUpstreamResponse, TokenMeter};
use crate::error::CallError;
use crate::request::StreamOptions;
use crate::translate::StreamTranslator;
use bytes::{Bytes, BytesMut};

/// Surrounds a normalized chunk.
const CHUNK_START: &[u8] = b"data: ";

/// Reads the stream of an engine and writes the stream to the client.
pub(crate) struct ChatStream {
    splitter: Splitter,
    chunks: ChunkNormalizer,
    pub(crate) meter: TokenMeter,
    out: BytesMut,
    done: bool,
    /// Writes the events of another API instead of chunks.
    translator: Option<Box<dyn StreamTranslator>>,
    /// The chunk that is translated.
    chunk: BytesMut,
}

impl ChatStream {
    /// `choices` is the number of choices that the client requested.
    pub(crate) fn new(
        model: &str,
        options: &StreamOptions,
        choices: u64,
        estimated_prompt: u64,
        translator: Option<Box<dyn StreamTranslator>>,
    ) -> Self {
        Self {
            splitter: Splitter::default(),
            chunks: ChunkNormalizer::new(model, choices, options.usage, options.running_usage),
            meter: TokenMeter::new(estimated_prompt),
            out: BytesMut::new(),
            done: false,
            translator,
            chunk: BytesMut::new(),
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
        self.write_done()?;
        Ok(self.take_written())
    }

    /// Writes that the stream has failed. Returns false if the surface has to.
    pub(crate) fn fail(&mut self, error: &CallError) -> bool {
        self.translator.as_mut().is_some_and(|translator| translator.fail(error, &mut self.out))
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
                self.write_done()?;
            }
            Event::Data(data) => match &mut self.translator {
                None => self.chunks.pass(&data, &mut self.meter, &mut self.out)?,
                Some(translator) => {
                    self.chunk.clear();
                    self.chunks.pass(&data, &mut self.meter, &mut self.chunk)?;
                    if let Some(chunk) = self.chunk.strip_prefix(CHUNK_START) {
                        translator.chunk(chunk, self.meter.so_far(), &mut self.out)?;
                    }
                }
            },
            Event::Comment => match &mut self.translator {
                None => self.out.extend_from_slice(b": ping\n\n"),
                Some(translator) => translator.keep_alive(&mut self.out),
            },
            Event::Empty => {}
        }
        Ok(())
    }

    fn write_done(&mut self) -> Result<(), BadUpstreamResponse> {
        if self.done {
            return Ok(());
        }
        match &mut self.translator {
            None => {
                self.chunks.write_usage(&self.meter, &mut self.out);
                self.out.extend_from_slice(b"data: [DONE]\n\n");
            }
            Some(translator) => translator.end(self.meter.so_far(), &mut self.out)?,
        }
        self.done = true;
        Ok(())
    }
}

#[cfg(test)]
#[path = "chat_stream_tests.rs"]
mod tests;
