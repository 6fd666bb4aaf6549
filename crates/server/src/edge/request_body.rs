//! Reads the body of a request, within its bounds of size and time.

use super::self_wake;
use bytes::{Bytes, BytesMut};
use flate2::bufread::MultiGzDecoder;
use http::header::{self, HeaderMap};
use hyper::body::{Body as _, Frame, Incoming};
use std::cell::Cell;
use std::future::poll_fn;
use std::io::Read;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyBounds {
    pub limit: u64,
    pub read_timeout: Duration,
}

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
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
    pub(crate) async fn read(&self, headers: &HeaderMap, body: &mut Incoming) -> Result<Bytes, Unread> {
        check_type(headers)?;
        let packed = is_packed(headers)?;
        if body.size_hint().lower() > self.limit {
            return Err(Unread::TooLarge { limit: self.limit });
        }
        let read = tokio::time::timeout(self.read_timeout, pin!(self.collect(body))).await;
        let bytes = read.map_err(|_| Unread::TooSlow { limit: self.read_timeout })??;
        if packed { self.unpack(&bytes) } else { Ok(bytes) }
    }

    async fn collect(&self, body: &mut Incoming) -> Result<Bytes, Unread> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let Some(first) = next_piece(body).await? else { return Ok(Bytes::new()) };
        if body.is_end_stream() {
            return if first.len() > limit { Err(Unread::TooLarge { limit: self.limit }) } else { Ok(first) };
        }
        let expected = usize::try_from(body.size_hint().lower()).unwrap_or(0);
        let mut whole = Spare::take(first.len() + expected);
        whole.extend_from_slice(&first);
        // The connection's buffer is used again once nobody holds a part of it.
        drop(first);
        while let Some(more) = next_piece(body).await? {
            if whole.len() + more.len() > limit {
                return Err(Unread::TooLarge { limit: self.limit });
            }
            whole.extend_from_slice(&more);
        }
        let bytes = whole.split().freeze();
        Spare::keep(whole, bytes.len());
        Ok(bytes)
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

thread_local! {
    /// The buffer of the last large body that this core has read.
    static SPARE: Cell<BytesMut> = Cell::new(BytesMut::new());
}

/// Fresh memory is dear: the system hands it out page by page. So each core keeps a buffer, which is free again when
/// nobody holds a part of it any more.
struct Spare;

impl Spare {
    /// A larger buffer than this is not kept.
    const MOST: usize = 1 << 20;

    fn take(bytes: usize) -> BytesMut {
        let mut buffer = SPARE.take();
        // A buffer that is still in use is left to whoever uses it.
        buffer.reserve(bytes);
        buffer
    }

    /// Keeps hold of a buffer whose bytes were split off.
    fn keep(rest: BytesMut, split_off: usize) {
        if split_off <= Self::MOST {
            SPARE.set(rest);
        }
    }
}

async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, Unread> {
    while let Some(frame) = poll_fn(|cx| poll_frame(body, cx)).await {
        if let Ok(data) = frame.map_err(|_| Unread::Gone)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn poll_frame(body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
    let (polled, wake) = self_wake::held_back(|| Pin::new(&mut *body).poll_frame(cx));
    if !body.is_end_stream() {
        wake.into_iter().for_each(Waker::wake);
    }
    polled
}

/// Types are compared without case and without parameters; what curl sends by default is read as JSON.
fn check_type(headers: &HeaderMap) -> Result<(), Unread> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    if value == "application/json" {
        return Ok(());
    }
    let whole = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    let media = whole.split(';').next().unwrap_or("").trim();
    let readable = media.is_empty()
        || media == "application/json"
        || media.ends_with("+json")
        || media == "application/x-www-form-urlencoded"
        || media.starts_with("text/");
    if readable { Ok(()) } else { Err(Unread::UnsupportedType(media.chars().take(100).collect())) }
}

fn is_packed(headers: &HeaderMap) -> Result<bool, Unread> {
    let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(false) };
    match value.to_str().unwrap_or("").trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" => Ok(true),
        other => Err(Unread::UnsupportedEncoding(other.chars().take(100).collect())),
    }
}

/// Reads on for a moment after a refusal: a connection closed on a client that still sends loses the answer.
/// One that waits for `100 Continue` has sent nothing yet.
pub(crate) async fn discard(headers: &HeaderMap, mut body: Incoming) {
    if body.is_end_stream() || headers.contains_key(header::EXPECT) {
        return;
    }
    let read = async {
        let mut left = DISCARD_BYTES;
        while let Ok(Ok(Some(piece))) = tokio::time::timeout(DISCARD_PAUSE, next_piece(&mut body)).await {
            left = left.saturating_sub(piece.len());
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME, read).await;
}
