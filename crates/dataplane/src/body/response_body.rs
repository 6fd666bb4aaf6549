//! A complete or a streamed body, as the edge sends it.

use super::{AliveBody, StreamBody};
use crate::record::Outcome;
use crate::response_memory::{self, BodyGrant};
use crate::usage_tap::UsageTap;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A complete or a streamed body.
pub enum ResponseBody {
    Whole {
        bytes: Option<Bytes>,
        tap: UsageTap,
        /// Kept until the bytes are dropped, which are sent or stored after this body has ended.
        memory: Option<Box<dyn BodyGrant>>,
    },
    Stream(Box<StreamBody>),
    /// A stream whose engine has not begun when it begins.
    Alive(Box<AliveBody>),
}

impl ResponseBody {
    pub(crate) fn whole(bytes: Bytes, tap: UsageTap, memory: Option<Box<dyn BodyGrant>>) -> Self {
        Self::Whole { bytes: Some(bytes), tap, memory }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Whole { bytes, tap, memory } => {
                let bytes = bytes.take();
                if bytes.is_some() {
                    tap.settle(Outcome::Served);
                }
                Poll::Ready(bytes.map(|bytes| match memory.take() {
                    Some(grant) => response_memory::hold(bytes, grant),
                    None => bytes,
                }))
            }
            Self::Stream(stream) => stream.poll(cx),
            Self::Alive(alive) => alive.poll(cx),
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().poll(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole { bytes: None, .. })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(_) | Self::Alive(_) => SizeHint::default(),
        }
    }
}
