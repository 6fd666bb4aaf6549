//! Reads the body of a request, within its bounds of size and time.

use super::headers::Headers;
use super::http1::Gone;
use super::incoming::Incoming;
use bytes::{Bytes, BytesMut};
use flate2::bufread::MultiGzDecoder;
use http::header;
use std::io::Read;
use std::pin::pin;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyBounds {
    pub limit: u64,
    pub read_timeout: Duration,
}

/// Why a body was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unread {
    TooLarge {
        limit: u64,
    },
    TooSlow {
        limit: Duration,
    },
    /// Neither JSON nor anything that may be JSON; or packed in a way that is not unpacked here.
    UnsupportedType(String),
    UnsupportedEncoding(String),
    BadEncoding,
    /// The client stopped sending.
    Gone,
}

/// How much is read of a body that nobody wants, so that the client gets to read the answer.
const DISCARD_BYTES: usize = 32 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(2);
/// A client that is silent for so long is not sending any more.
const DISCARD_PAUSE: Duration = Duration::from_millis(100);

impl BodyBounds {
    /// The whole body, unpacked.
    pub(crate) async fn read(&self, headers: &Headers, body: &mut Incoming) -> Result<Bytes, Unread> {
        check_type(headers)?;
        let packed = is_packed(headers)?;
        if body.announced() > self.limit {
            return Err(Unread::TooLarge { limit: self.limit });
        }
        let bytes = match body {
            Incoming::Whole(bytes) => std::mem::take(bytes),
            Incoming::Fed(_) | Incoming::Http2(_) => {
                let read = tokio::time::timeout(self.read_timeout, pin!(self.collect(body))).await;
                read.map_err(|_| Unread::TooSlow { limit: self.read_timeout })??
            }
        };
        if packed { self.unpack(&bytes) } else { Ok(bytes) }
    }

    async fn collect(&self, body: &mut Incoming) -> Result<Bytes, Unread> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let first = body.rest().await?.unwrap_or_default();
        if body.is_over() && first.len() <= limit {
            return Ok(first);
        }
        let mut whole = BytesMut::from(first);
        while whole.len() <= limit {
            match body.next().await? {
                Some(more) => whole.extend_from_slice(&more),
                None => return Ok(whole.freeze()),
            }
        }
        Err(Unread::TooLarge { limit: self.limit })
    }

    fn unpack(&self, packed: &[u8]) -> Result<Bytes, Unread> {
        let mut whole = Vec::new();
        MultiGzDecoder::new(packed).take(self.limit + 1).read_to_end(&mut whole).map_err(|_| Unread::BadEncoding)?;
        if whole.len() as u64 > self.limit {
            return Err(Unread::TooLarge { limit: self.limit });
        }
        Ok(whole.into())
    }
}

impl From<Gone> for Unread {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

/// Types are compared without case and without parameters; what curl sends by default is read as JSON.
fn check_type(headers: &Headers) -> Result<(), Unread> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    if value == b"application/json" {
        return Ok(());
    }
    let whole = String::from_utf8_lossy(value).to_ascii_lowercase();
    let media = whole.split(';').next().unwrap_or("").trim();
    let readable = media.is_empty()
        || media == "application/json"
        || media.ends_with("+json")
        || media == "application/x-www-form-urlencoded"
        || media.starts_with("text/");
    if readable { Ok(()) } else { Err(Unread::UnsupportedType(media.chars().take(100).collect())) }
}

fn is_packed(headers: &Headers) -> Result<bool, Unread> {
    if !headers.has(header::CONTENT_ENCODING) {
        return Ok(false);
    }
    match headers.text(header::CONTENT_ENCODING).unwrap_or("").trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" => Ok(true),
        other => Err(Unread::UnsupportedEncoding(other.chars().take(100).collect())),
    }
}

/// Reads on for a moment after a refusal: a connection closed on a client that still sends loses the answer.
/// One that waits for `100 Continue` has sent nothing yet.
pub(crate) async fn discard(headers: &Headers, body: &mut Incoming) {
    if body.is_over() || headers.has(header::EXPECT) {
        return;
    }
    let read = async {
        let mut left = DISCARD_BYTES;
        while let Ok(Ok(Some(piece))) = tokio::time::timeout(DISCARD_PAUSE, body.next()).await {
            left = left.saturating_sub(piece.len());
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME, read).await;
}
