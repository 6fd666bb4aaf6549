//! The body of any answer.

use crate::telemetry::traces::TracedBody;
use bytes::Bytes;
use dataplane::AnswerBody;
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

pub(crate) enum Body {
    /// Known at once; taken when it is sent.
    Whole(Option<Bytes>),
    /// From a model.
    Answer(AnswerBody),
    /// The same, of a call that is traced.
    Traced(Box<TracedBody>),
    /// Piece by piece, from a task in the background.
    Pieces(Pieces),
}

/// Pieces of an answer as they come. One that is an error breaks the answer off, so that its reader notices.
pub(crate) type Pieces = mpsc::Receiver<io::Result<Bytes>>;

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Answer(answer) => Pin::new(answer).poll_frame(cx).map(unfailing),
            Self::Traced(answer) => Pin::new(&mut **answer).poll_frame(cx).map(unfailing),
            Self::Pieces(pieces) => pieces.poll_recv(cx).map(|piece| piece.map(|bytes| bytes.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Answer(answer) => answer.is_end_stream(),
            Self::Traced(answer) => answer.is_end_stream(),
            Self::Pieces(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Answer(answer) => answer.size_hint(),
            Self::Traced(answer) => answer.size_hint(),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

fn unfailing(frame: Option<Result<Frame<Bytes>, Infallible>>) -> Option<io::Result<Frame<Bytes>>> {
    frame.map(|frame| frame.map_err(|never| match never {}))
}
