//! The body of any request, as it comes.

use super::http1::{Fed, Gone};
use bytes::Bytes;
use hyper::body::Body as _;
use std::future::poll_fn;
use std::pin::Pin;

pub(crate) enum Incoming {
    /// All of it, as it came with the head.
    Whole(Bytes),
    /// Of a connection with HTTP/1; the rest is read when it is asked for.
    Fed(Fed),
    Http2(hyper::body::Incoming),
}

/// Nothing.
impl Default for Incoming {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl Incoming {
    /// The next piece.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Gone> {
        self.read(false).await
    }

    /// All that is left, if its length is known; else the next piece.
    pub(crate) async fn rest(&mut self) -> Result<Option<Bytes>, Gone> {
        self.read(true).await
    }

    async fn read(&mut self, in_one_piece: bool) -> Result<Option<Bytes>, Gone> {
        match self {
            Self::Whole(bytes) => Ok(Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty())),
            Self::Fed(fed) => poll_fn(|_| fed.poll_next(in_one_piece)).await,
            Self::Http2(body) => {
                while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
                    if let Ok(piece) = frame.map_err(|_| Gone)?.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Fed(fed) => fed.is_over(),
            Self::Http2(body) => body.is_end_stream(),
        }
    }

    /// How many bytes will come at least.
    pub(crate) fn announced(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Fed(fed) => fed.announced(),
            Self::Http2(body) => body.size_hint().lower(),
        }
    }
}
