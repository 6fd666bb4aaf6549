//! Normalizes a chat stream.

use super::chunk::ChunkNormalizer;
use super::gathered::{GatheredChunks, one_line};
use super::native::NativeEvents;
use super::sse::{Event, Splitter, read_event};
use super::{BadUpstreamResponse, TokenMeter};
use crate::error::CallError;
use crate::failover::Transcript;
use crate::request::StreamOptions;
use bytes::{Bytes, BytesMut};
use dialects::StreamTranslator;
use domain::model::ReasoningNames;
use http1::LargeBuffer;
use json::Reader;

/// Surrounds a normalized chunk.
const CHUNK_START: &[u8] = b"data: ";

/// Reads the stream of an engine and writes the stream to the client.
pub(crate) struct ChatStream {
    splitter: Splitter,
    chunks: ChunkNormalizer,
    pub(crate) meter: TokenMeter,
    out: BytesMut,
    done: bool,
    conversion: Conversion,
}

/// What becomes of the events of the engine.
enum Conversion {
    /// Chunks stay chunks.
    Normalized,
    /// Chunks become the events of another API.
    Translated {
        translator: Box<dyn StreamTranslator>,
        /// The chunk that is translated.
        chunk: BytesMut,
    },
    /// The engine sends the events of another API itself.
    Native(Box<NativeEvents>),
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
            conversion: match translator {
                None => Conversion::Normalized,
                Some(translator) => Conversion::Translated { translator, chunk: BytesMut::new() },
            },
        }
    }

    /// The stream of an engine that speaks the client's API itself. It cannot be continued by another one.
    pub(crate) fn native(model: &str, options: &StreamOptions, estimated_prompt: u64, events: NativeEvents) -> Self {
        let conversion = Conversion::Native(Box::new(events));
        Self { conversion, ..Self::new(model, options, 1, estimated_prompt, None) }
    }

    pub(crate) fn name_reasoning(&mut self, names: ReasoningNames) {
        self.chunks.name_reasoning(names);
    }

    /// Names the tier of a flex call.
    pub(crate) fn name_flex(&mut self) {
        self.chunks.name_flex();
    }

    /// The choices are completions of this many prompts, not messages. Each may begin with its prompt.
    pub(crate) fn expect_texts(&mut self, prompts: usize, repeats_prompts: bool) {
        self.chunks.expect_texts(repeats_prompts);
        if prompts > 1 {
            self.meter.expect_prompts();
        }
    }

    /// Keeps the text from now on, so that another replica can continue it.
    pub(crate) fn keep_text(&mut self) {
        self.chunks.keep_text();
    }

    pub(crate) fn forget_text(&mut self) {
        self.chunks.forget_text();
    }

    /// The text so far; `None` if it is not kept.
    pub(crate) fn transcript(&self) -> Option<&Transcript> {
        self.chunks.transcript()
    }

    /// Whether the reason why the response ended was sent.
    pub(crate) fn is_finished(&self) -> bool {
        self.chunks.all_finished()
    }

    /// Continues with the stream of another replica, whose text begins after the text so far without `gap`, which is all of
    /// it if the replica starts over. An event of which only the beginning has arrived is dropped.
    pub(crate) fn resume(&mut self, gap: String, starts_over: bool) {
        self.splitter = Splitter::default();
        self.chunks.resume(gap);
        self.meter.resume(starts_over);
    }

    /// Ends a response that has reached its token limit.
    pub(crate) fn end_at_limit(&mut self) -> Result<Bytes, BadUpstreamResponse> {
        self.splitter = Splitter::default();
        let chunk = self.chunks.length_chunk();
        self.pass_event(&[CHUNK_START, &chunk, b"\n\n"].concat())?;
        self.end()
    }

    /// Ends a response that was finished, without what is left of the engine's stream.
    pub(crate) fn end_finished(&mut self) -> Result<Bytes, BadUpstreamResponse> {
        self.splitter = Splitter::default();
        self.end()
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

    /// Converts a whole response of the engine to a whole stream for the client.
    pub(crate) fn pass_whole(&mut self, response: &Bytes) -> Result<Bytes, BadUpstreamResponse> {
        let mut meter = self.meter.clone();
        let response = self.chunks.normalize_whole(&one_line(response), &mut meter)?;
        let GatheredChunks { content, usage } = GatheredChunks::of(&response)?;
        self.meter = meter.clone();
        for chunk in [Some(content), usage].into_iter().flatten() {
            self.pass_data(&chunk)?;
        }
        // Chunks count in pieces, of which there is only one.
        self.meter = meter;
        self.write_done()?;
        Ok(self.take_written())
    }

    /// Like [`Self::pass_whole`]; the memory of the stream is returned in steps.
    pub(crate) fn pass_large(&mut self, response: &Bytes) -> Result<Bytes, BadUpstreamResponse> {
        let written = self.pass_whole(response)?;
        // Nothing else has a part of it then.
        self.out = BytesMut::new();
        Ok(LargeBuffer::returned_in_steps(written))
    }

    /// Handles the end of the engine's stream.
    pub(crate) fn end(&mut self) -> Result<Bytes, BadUpstreamResponse> {
        let rest = self.splitter.rest();
        if !self.done && !rest.trim_ascii().is_empty() {
            if !is_whole(&rest) {
                return Err(BadUpstreamResponse::Cut("the stream ended inside an event"));
            }
            self.pass_event(&rest)?;
        }
        if !self.done && !self.chunks.all_finished() {
            return Err(BadUpstreamResponse::Cut("the stream ended early"));
        }
        self.write_done()?;
        Ok(self.take_written())
    }

    /// Writes that the stream has failed. Returns false if the surface has to.
    pub(crate) fn fail(&mut self, error: &CallError) -> bool {
        match &mut self.conversion {
            Conversion::Normalized => false,
            Conversion::Translated { translator, .. } => {
                error.with_failure(|failure| translator.fail(failure, &mut self.out))
            }
            Conversion::Native(events) => events.fail(error, &mut self.out),
        }
    }

    /// What the conversion keeps in memory; `None` if chunks stay chunks.
    pub(crate) fn kept_bytes(&self) -> Option<usize> {
        match &self.conversion {
            Conversion::Normalized => None,
            Conversion::Translated { translator, .. } => Some(translator.kept_bytes()),
            Conversion::Native(events) => Some(events.kept_bytes()),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    pub(crate) fn take_written(&mut self) -> Bytes {
        match &self.conversion {
            Conversion::Native(events) if !events.has_begun() => Bytes::new(),
            Conversion::Normalized | Conversion::Translated { .. } | Conversion::Native(_) => self.out.split().freeze(),
        }
    }

    fn next_event(&mut self) -> Result<Option<Bytes>, BadUpstreamResponse> {
        self.splitter.next_event().map_err(|_| BadUpstreamResponse::TooLarge)
    }

    fn pass_event(&mut self, event: &[u8]) -> Result<(), BadUpstreamResponse> {
        if self.done {
            return Ok(());
        }
        match read_event(event) {
            Event::Data(data) if data.trim_ascii() == b"[DONE]" => {
                if !self.chunks.all_finished() {
                    return Err(BadUpstreamResponse::Cut("the stream sent [DONE] early"));
                }
                self.write_done()?;
            }
            Event::Data(data) => self.pass_data(&data)?,
            // Before the first event, the call can still go to another replica, or end with an HTTP error.
            Event::Comment => match &mut self.conversion {
                Conversion::Translated { translator, .. } => translator.keep_alive(&mut self.out),
                Conversion::Native(events) if !events.has_begun() => {}
                Conversion::Normalized if !self.chunks.has_begun() => {}
                Conversion::Normalized | Conversion::Native(_) => self.out.extend_from_slice(b": ping\n\n"),
            },
            Event::Empty => {}
        }
        Ok(())
    }

    fn pass_data(&mut self, data: &[u8]) -> Result<(), BadUpstreamResponse> {
        match &mut self.conversion {
            Conversion::Normalized => self.chunks.pass(data, &mut self.meter, &mut self.out)?,
            Conversion::Translated { translator, chunk } => {
                chunk.clear();
                self.chunks.pass(data, &mut self.meter, chunk)?;
                if let Some(chunk) = chunk.strip_prefix(CHUNK_START) {
                    translator.chunk(chunk, self.meter.so_far(), &mut self.out)?;
                }
            }
            Conversion::Native(events) => {
                events.pass(data, &mut self.meter, &mut self.out)?;
                self.done = events.is_done();
            }
        }
        Ok(())
    }

    fn write_done(&mut self) -> Result<(), BadUpstreamResponse> {
        if self.done {
            return Ok(());
        }
        match &mut self.conversion {
            Conversion::Normalized => {
                self.chunks.write_usage(&self.meter, &mut self.out);
                self.out.extend_from_slice(b"data: [DONE]\n\n");
            }
            Conversion::Translated { translator, .. } => translator.end(self.meter.so_far(), &mut self.out)?,
            // Its last event has passed.
            Conversion::Native(_) => {}
        }
        self.done = true;
        Ok(())
    }
}

/// Whether the last event, which no blank line follows, is complete. A part of it must not be read: the client could not get
/// it.
fn is_whole(event: &[u8]) -> bool {
    match read_event(event) {
        Event::Data(data) if data.trim_ascii() == b"[DONE]" => true,
        Event::Data(data) => {
            let mut reader = Reader::new(&data);
            reader.skip().and_then(|()| reader.end()).is_ok()
        }
        Event::Comment | Event::Empty => true,
    }
}

#[cfg(test)]
#[path = "chat_stream_tests.rs"]
mod tests;
