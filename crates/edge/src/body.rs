//! The body of a response.

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// A body that a service receives from elsewhere and passes on, such as the response of a model.
pub trait Relayed: http_body::Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static {}

impl<T: http_body::Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static> Relayed for T {}

pub enum Body<R> {
    /// Known in advance; taken when it is sent.
    Whole(Option<Bytes>),
    Relayed(R),
    /// Relayed, with an observer in between, such as a trace.
    Observed(Box<dyn http_body::Body<Data = Bytes, Error = Infallible> + Send + Unpin>),
    /// Produced by a background task.
    Pieces(Pieces),
}

/// Pieces of a response as they are produced. An error aborts the response, so that the client notices.
pub type Pieces = mpsc::Receiver<io::Result<Bytes>>;

impl<R> Body<R> {
    pub fn empty() -> Self {
        Self::Whole(None)
    }
}

impl<R, T: Into<Bytes>> From<T> for Body<R> {
    fn from(bytes: T) -> Self {
        Self::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty()))
    }
}

impl<R: Relayed> http_body::Body for Body<R> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Relayed(body) => Pin::new(body).poll_frame(cx).map(infallible),
            Self::Observed(body) => Pin::new(&mut **body).poll_frame(cx).map(infallible),
            Self::Pieces(pieces) => pieces.poll_recv(cx).map(|piece| piece.map(|bytes| bytes.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Relayed(body) => body.is_end_stream(),
            Self::Observed(body) => body.is_end_stream(),
            Self::Pieces(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Relayed(body) => body.size_hint(),
            Self::Observed(body) => body.size_hint(),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

fn infallible(frame: Option<Result<Frame<Bytes>, Infallible>>) -> Option<io::Result<Frame<Bytes>>> {
    frame.map(|frame| frame.map_err(|never| match never {}))
}
