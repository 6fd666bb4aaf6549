//! The body of a request, over HTTP/1.1 or HTTP/2.

use bytes::Bytes;
use http1::server::{BodyRest, ReceiveError, RequestBody};
use hyper::body::Body as _;
use std::future::poll_fn;
use std::pin::Pin;

pub enum Incoming {
    Http1(RequestBody),
    Http2(hyper::body::Incoming),
}

/// An empty body.
impl Default for Incoming {
    fn default() -> Self {
        Self::Http1(RequestBody::Whole(Bytes::new()))
    }
}

impl Incoming {
    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ReceiveError> {
        match self {
            Self::Http1(body) => body.next().await,
            Self::Http2(body) => {
                while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
                    if let Ok(piece) = frame.map_err(|_| ReceiveError)?.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Ok(None)
            }
        }
    }

    /// All that is left in one piece, if HTTP/1 has announced its length; else the next piece. See [`RequestBody::rest`].
    pub(crate) async fn rest(&mut self, room: usize) -> Result<BodyRest, ReceiveError> {
        match self {
            Self::Http1(body) => body.rest(room).await,
            Self::Http2(_) => Ok(self.next().await?.map_or(BodyRest::End, BodyRest::Piece)),
        }
    }

    /// Bytes that wait in the connection until the rest is complete.
    pub(crate) fn buffered(&self) -> usize {
        match self {
            Self::Http1(body) => body.buffered(),
            Self::Http2(_) => 0,
        }
    }

    /// Reads and drops the next piece; its length, or `None` at the end.
    pub async fn skip(&mut self) -> Result<Option<usize>, ReceiveError> {
        match self {
            Self::Http1(body) => body.skip().await,
            Self::Http2(_) => Ok(self.next().await?.map(|piece| piece.len())),
        }
    }

    /// Whether all of the body has been read.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Http1(body) => body.is_over(),
            Self::Http2(body) => body.is_end_stream(),
        }
    }

    /// Whether all of the body arrived with the head.
    pub fn has_arrived(&self) -> bool {
        matches!(self, Self::Http1(RequestBody::Whole(_)))
    }

    /// Lower bound of the bytes still to come.
    pub fn announced(&self) -> u64 {
        match self {
            Self::Http1(body) => body.announced(),
            Self::Http2(body) => body.size_hint().lower(),
        }
    }
}
