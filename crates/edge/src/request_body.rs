//! Reads the body of a request, within limits of size and time.

pub use crate::body_error::BodyError;
use crate::gunzip::gunzip;
use crate::heavy_work::{self, HeavyWork};
use crate::memory_budget::{Holder, MemoryBudget, MemoryGrant};
use crate::{Headers, Incoming};
use bytes::{Bytes, BytesMut};
use http::header;
use http1::server::RequestBody;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct BodyBounds {
    pub limit: u64,
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

/// The most memory that the translation of a body takes, in sizes of the body: itself, and a text that may be twice as
/// long, because JSON inside of a string is escaped.
const TRANSLATION_FACTOR: u64 = 3;

/// A core parses up to this many bytes itself if they are mostly text, of which it skips gigabytes per second. Another thread
/// would cost more than it saves.
const INLINE_TEXT_BYTES: usize = 512 << 10;
/// With more quotes or commas than one in this many bytes, the values between them take longer than the text.
const BYTES_PER_QUOTE: usize = 64;
const BYTES_PER_COMMA: usize = 16;

fn is_mostly_text(body: &[u8]) -> bool {
    let has_few = |byte, distance| memchr::memchr_iter(byte, body).count() <= body.len() / distance;
    (heavy_work::INLINE_BYTES + 1..=INLINE_TEXT_BYTES).contains(&body.len())
        && has_few(b'"', BYTES_PER_QUOTE)
        && has_few(b',', BYTES_PER_COMMA)
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
    /// Reads the whole body, decompressed. Its memory is taken before it is read.
    pub async fn read(&self, headers: &Headers, body: &mut Incoming, holder: Holder) -> Result<WholeBody, BodyError> {
        check_type(headers)?;
        let is_gzip = is_gzip(headers)?;
        let announced = body.announced();
        if announced > self.limit {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        let mut memory = self.memory.grant(holder);
        memory.grow_to(announced)?;
        let bytes = match body {
            Incoming::Http1(RequestBody::Whole(bytes)) => std::mem::take(bytes),
            Incoming::Http1(RequestBody::Partial(_)) | Incoming::Http2(_) => {
                self.in_time(self.collect(body, &mut memory)).await?
            }
        };
        if !is_gzip {
            return Ok(WholeBody { bytes, memory });
        }
        let (bytes, memory) = Box::pin(self.in_time(gunzip(bytes, self.limit, memory, &self.heavy))).await?;
        Ok(WholeBody { bytes, memory })
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

    async fn collect(&self, body: &mut Incoming, memory: &mut MemoryGrant) -> Result<Bytes, BodyError> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let first = body.rest().await?.unwrap_or_default();
        memory.grow_for(first.len())?;
        if body.is_over() && first.len() <= limit {
            return Ok(first);
        }
        let mut whole = BytesMut::from(first);
        while whole.len() <= limit {
            match body.next().await? {
                Some(more) => {
                    memory.grow_for(whole.len() + more.len())?;
                    whole.extend_from_slice(&more);
                }
                None => return Ok(whole.freeze()),
            }
        }
        Err(BodyError::TooLarge { limit: self.limit })
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
        assert!(!is_mostly_text(chat(r#"\"a\":1,"#, 256 << 10).as_bytes()), "many strings");
        let messages = vec![r#"{"role":"user","content":""}"#; 8 << 10].join(",");
        assert!(!is_mostly_text(messages.as_bytes()), "many values");
        assert!(!is_mostly_text(vec!["1"; 128 << 10].join(",").as_bytes()), "many numbers");
    }
}
