//! Reads the body of a request, within limits of size and time.

pub use crate::body_error::BodyError;
use crate::gunzip::gunzip;
use crate::heavy_work::{self, HeavyWork};
use crate::memory_budget::{Holder, MemoryBudget, MemoryGrant};
use crate::{Headers, Incoming};
use bytes::{Bytes, BytesMut};
use http::header;
use http1::LargeBuffer;
use http1::server::{BodyRest, RequestBody};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

#[derive(Debug, Clone)]
pub struct BodyBounds {
    pub limit: u64,
    /// For the whole body. Within a third of it, [`LEAST_PROGRESS`] bytes must arrive.
    pub read_timeout: Duration,
    /// The memory of all bodies.
    pub memory: Arc<MemoryBudget>,
    pub heavy: HeavyWork,
}

/// A whole body, decompressed, with the memory it takes from the budget. Keep the grant for as long as the bytes.
#[derive(Debug)]
pub struct WholeBody {
    pub bytes: Bytes,
    pub memory: MemoryGrant,
}

/// Bytes of a body for which there is room beyond what has arrived, or as many as have arrived if that is more. What a
/// client only announces takes no memory.
pub const WINDOW: u64 = 64 << 10;
/// The same for clients whose caller is not known yet: a sign-in is small, and all of them share little memory.
const CLIENT_WINDOW: u64 = 1 << 10;
/// The fewest bytes that a client must send within a third of the time for its body.
const LEAST_PROGRESS: u64 = 16 << 10;
const PROGRESS_PARTS: u32 = 3;

/// The most memory that the translation of a body takes, in sizes of the body: itself, and a text that may be twice as
/// long, because JSON inside of a string is escaped.
const TRANSLATION_FACTOR: u64 = 3;

/// A core parses up to this many bytes itself if they are mostly text, of which it skips gigabytes per second. Another thread
/// would cost more than it saves.
const INLINE_TEXT_BYTES: usize = 512 << 10;
/// With more quotes or commas than one in this many bytes, the values between them take longer than the text.
const BYTES_PER_QUOTE: usize = 64;
const BYTES_PER_COMMA: usize = 16;
/// They are counted in this many pieces at random places, which no client can know: to count all takes longer than to parse.
const SAMPLES: usize = 64;
const SAMPLE_BYTES: usize = 64;

fn is_mostly_text(body: &[u8]) -> bool {
    if !(heavy_work::INLINE_BYTES + 1..=INLINE_TEXT_BYTES).contains(&body.len()) {
        return false;
    }
    let part = body.len() / SAMPLES;
    let (mut quotes, mut commas) = (0, 0);
    for sample in 0..SAMPLES {
        let start = sample * part + fastrand::usize(1..part - SAMPLE_BYTES);
        let (bytes, before) = (&body[start..start + SAMPLE_BYTES], &body[start - 1..start - 1 + SAMPLE_BYTES]);
        // Counted in bytes and without branches, so that the compiler vectorizes the loop: a tenth of the time.
        let (unescaped, separators) =
            bytes.iter().zip(before).fold((0_u8, 0_u8), |(quotes, commas), (byte, before)| {
                (quotes + u8::from((*byte == b'"') & (*before != b'\\')), commas + u8::from(*byte == b','))
            });
        quotes += usize::from(unescaped);
        commas += usize::from(separators);
    }
    quotes <= SAMPLES * SAMPLE_BYTES / BYTES_PER_QUOTE && commas <= SAMPLES * SAMPLE_BYTES / BYTES_PER_COMMA
}

impl WholeBody {
    /// Whether work on it is [`HeavyWork`].
    pub fn is_large(&self) -> bool {
        self.bytes.len() > heavy_work::INLINE_BYTES
    }
}

/// Takes the memory to translate a text of this size. A core translates one small text at a time, and drops it.
pub fn reserve_translation(memory: &mut MemoryGrant, bytes: usize) -> Result<(), BodyError> {
    let factor = if bytes > heavy_work::INLINE_BYTES { TRANSLATION_FACTOR } else { 1 };
    Ok(memory.grow_to(factor * bytes as u64)?)
}

/// Takes the memory of a translation that keeps this many bytes, of a text of this size, and returns the rest.
pub fn keep_translation(memory: &mut MemoryGrant, kept: usize, bytes: usize) -> Result<(), BodyError> {
    let needed = kept.max(bytes) as u64;
    memory.grow_to(needed)?;
    memory.shrink_to(needed);
    Ok(())
}

/// Limits on what is read of an unwanted body, so that the client gets to read the response.
const DISCARD_BYTES: usize = 32 << 20;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);
/// After a pause of this length, the client is assumed to have stopped sending.
const DISCARD_PAUSE: Duration = Duration::from_millis(100);

impl BodyBounds {
    /// Reads the whole body, decompressed. Its memory is taken as it arrives.
    pub async fn read(&self, headers: &Headers, body: &mut Incoming, holder: Holder) -> Result<WholeBody, BodyError> {
        check_type(headers)?;
        let is_gzip = is_gzip(headers)?;
        let announced = body.announced();
        if announced > self.limit {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        let mut memory = self.memory.grant(holder);
        let bytes = if let Incoming::Http1(RequestBody::Whole(bytes)) = body {
            memory.grow_to(announced)?;
            std::mem::take(bytes)
        } else if body.is_over() {
            Bytes::new()
        } else {
            LargeBuffer::returned_in_steps(self.collect(body, announced, &mut memory).await?)
        };
        if !is_gzip {
            return Ok(WholeBody { bytes, memory });
        }
        let (bytes, memory) = Box::pin(self.in_time(gunzip(bytes, self.limit, memory, &self.heavy))).await?;
        Ok(WholeBody { bytes: LargeBuffer::returned_in_steps(bytes), memory })
    }

    /// Parses a body; one that takes long as [`HeavyWork`].
    pub async fn parse<T: Send + 'static>(
        &self,
        bytes: Bytes,
        memory: &MemoryGrant,
        parse: impl FnOnce(Bytes) -> T + Send + 'static,
    ) -> T {
        if is_mostly_text(&bytes) {
            return parse(bytes);
        }
        self.work(bytes.len(), memory, move || parse(bytes)).await
    }

    /// Does work on this many bytes; on many as [`HeavyWork`].
    pub async fn work<T: Send + 'static>(
        &self,
        bytes: usize,
        memory: &MemoryGrant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if bytes <= heavy_work::INLINE_BYTES {
            return work();
        }
        Box::pin(self.heavy.run(memory.holder(), work)).await
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, BodyError>>) -> Result<T, BodyError> {
        let done = tokio::time::timeout(self.read_timeout, work).await;
        done.unwrap_or(Err(BodyError::TooSlow { limit: self.read_timeout }))
    }

    /// Reads a body that has not arrived completely. `announced` is 0 if its length is unknown.
    async fn collect(&self, body: &mut Incoming, announced: u64, memory: &mut MemoryGrant) -> Result<Bytes, BodyError> {
        let window = window_of(memory.holder());
        // All of a shorter one is taken at once.
        let _announced = (announced > window).then(|| self.memory.announce(memory.holder(), announced)).transpose()?;
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let most = if announced == 0 { self.limit } else { announced };
        let mut pace = Pace::new(self.read_timeout);
        let first = loop {
            let room = room_after(body.buffered() as u64, most, window);
            memory.grow_body_to(room)?;
            match pace.rest(body, usize::try_from(room).unwrap_or(usize::MAX)).await? {
                BodyRest::Part => {}
                BodyRest::Piece(piece) => break piece,
                BodyRest::End => break Bytes::new(),
            }
        };
        make_room(memory, first.len(), most, window)?;
        if body.is_over() && first.len() <= limit {
            memory.shrink_to(first.len() as u64);
            return Ok(first);
        }
        let mut whole = BytesMut::from(first);
        while whole.len() <= limit {
            match pace.next(body, whole.len()).await? {
                Some(more) => {
                    make_room(memory, whole.len() + more.len(), most, window)?;
                    whole.extend_from_slice(&more);
                }
                None => {
                    memory.shrink_to(whole.len() as u64);
                    return Ok(whole.freeze());
                }
            }
        }
        Err(BodyError::TooLarge { limit: self.limit })
    }
}

const fn window_of(holder: &Holder) -> u64 {
    match holder {
        Holder::Organization(_) | Holder::People(_) | Holder::User(_) => WINDOW,
        Holder::Client(_) => CLIENT_WINDOW,
    }
}

/// The room for a body of at most `most` bytes, of which this much has arrived.
fn room_after(arrived: u64, most: u64, window: u64) -> u64 {
    (arrived + arrived.max(window)).min(most.max(arrived))
}

/// Makes sure that there is room for what has arrived.
fn make_room(memory: &mut MemoryGrant, arrived: usize, most: u64, window: u64) -> Result<(), BodyError> {
    let arrived = arrived as u64;
    if arrived > memory.bytes() {
        memory.grow_body_to(room_after(arrived, most, window))?;
    }
    Ok(())
}

/// Notices that a body arrives too slowly: all of it, or [`LEAST_PROGRESS`] bytes of it.
#[derive(Debug)]
pub struct Pace {
    limit: Duration,
    /// `None` if all of it may take any time.
    deadline: Option<Instant>,
    /// When the progress is looked at next, and what had arrived the last time.
    check_at: Instant,
    arrived: u64,
}

impl Pace {
    fn new(limit: Duration) -> Self {
        Self { deadline: Some(Instant::now() + limit), ..Self::without_deadline(limit) }
    }

    /// The pace of a body that may take any time, but must progress as others do that have this limit.
    pub fn without_deadline(limit: Duration) -> Self {
        Self { limit, deadline: None, check_at: Instant::now() + limit / PROGRESS_PARTS, arrived: 0 }
    }

    /// Does work for which the client waits: its time does not count as the client's.
    pub async fn pause<T>(&mut self, work: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let done = work.await;
        self.check_at += began.elapsed();
        done
    }

    async fn rest(&mut self, body: &mut Incoming, room: usize) -> Result<BodyRest, BodyError> {
        loop {
            match timeout_at(self.check_at, body.rest(room)).await {
                Ok(rest) => return Ok(rest?),
                Err(_) => self.check(body.buffered())?,
            }
        }
    }

    /// The next piece of a body of which `arrived` bytes were read.
    pub async fn next(&mut self, body: &mut Incoming, arrived: usize) -> Result<Option<Bytes>, BodyError> {
        loop {
            match timeout_at(self.check_at, body.next()).await {
                Ok(next) => return Ok(next?),
                Err(_) => self.check(arrived)?,
            }
        }
    }

    fn check(&mut self, arrived: usize) -> Result<(), BodyError> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(BodyError::TooSlow { limit: self.limit });
        }
        let window = self.limit / PROGRESS_PARTS;
        let arrived = arrived as u64;
        if arrived < self.arrived + LEAST_PROGRESS {
            return Err(BodyError::Stalled { least: LEAST_PROGRESS, window });
        }
        self.arrived = arrived;
        self.check_at = self.deadline.map_or(now + window, |deadline| deadline.min(now + window));
        Ok(())
    }
}

/// Compares media types without case and parameters. The type that curl sends by default is accepted as JSON.
fn check_type(headers: &Headers) -> Result<(), BodyError> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    if value == b"application/json" {
        return Ok(());
    }
    let whole = String::from_utf8_lossy(value).to_ascii_lowercase();
    let media = whole.split(';').next().unwrap_or("").trim();
    let is_supported = media.is_empty()
        || media == "application/json"
        || media.ends_with("+json")
        || media == "application/x-www-form-urlencoded"
        || media.starts_with("text/");
    if is_supported { Ok(()) } else { Err(BodyError::UnsupportedType(media.chars().take(100).collect())) }
}

fn is_gzip(headers: &Headers) -> Result<bool, BodyError> {
    if !headers.has(header::CONTENT_ENCODING) {
        return Ok(false);
    }
    match headers.text(header::CONTENT_ENCODING).unwrap_or("").trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" => Ok(true),
        other => Err(BodyError::UnsupportedEncoding(other.chars().take(100).collect())),
    }
}

/// Reads and drops the rest of a body after an error response: if the connection were closed while the client is still
/// sending, the client would lose the response. A client that waits for `100 Continue` has sent nothing yet.
pub async fn discard(headers: &Headers, body: &mut Incoming) {
    if body.is_over() || headers.has(header::EXPECT) {
        return;
    }
    let read = async {
        let mut left = DISCARD_BYTES;
        while let Ok(Ok(Some(skipped))) = tokio::time::timeout(DISCARD_PAUSE, body.skip()).await {
            left = left.saturating_sub(skipped);
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, read).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_parsed_by_a_core_itself() {
        let chat = |text: &str, bytes: usize| {
            let content = text.repeat(bytes / text.len());
            format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"{content}"}}]}}"#)
        };
        assert!(is_mostly_text(chat("Words, and more words. ", 256 << 10).as_bytes()));
        assert!(!is_mostly_text(chat("Words, and more words. ", 513 << 10).as_bytes()), "too long");
        assert!(is_mostly_text(chat(r#"\"Words\", he said. "#, 256 << 10).as_bytes()), "quotes inside of a string");
        assert!(!is_mostly_text(chat(r#"","a":""#, 256 << 10).as_bytes()), "many strings");
        let messages = vec![r#"{"role":"user","content":""}"#; 8 << 10].join(",");
        assert!(!is_mostly_text(messages.as_bytes()), "many values");
        assert!(!is_mostly_text(vec!["1"; 128 << 10].join(",").as_bytes()), "many numbers");
    }
}
