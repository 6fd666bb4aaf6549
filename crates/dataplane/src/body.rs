//! The body of a response, which settles its call when it ends.

use crate::error::CallError;
use crate::record::Outcome;
use crate::response::BadUpstreamResponse;
use crate::response::chat_stream::ChatStream;
use crate::response_memory::BodyGrant;
use crate::upstream::Exchange;
use crate::usage_tap::UsageTap;
use bytes::Bytes;
use domain::RequestId;
use fleet::Slot;
use http_body::{Body, Frame, SizeHint};
use http1::client::ExchangeError;
use http1::timers::StopSignal;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A complete or a streamed body.
pub enum ResponseBody {
    Whole {
        bytes: Option<Bytes>,
        tap: UsageTap,
        /// Kept until the bytes have been sent.
        memory: Option<Box<dyn BodyGrant>>,
    },
    Stream(Box<StreamBody>),
}

impl ResponseBody {
    pub(crate) fn whole(bytes: Bytes, tap: UsageTap, memory: Option<Box<dyn BodyGrant>>) -> Self {
        Self::Whole { bytes: Some(bytes), tap, memory }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = match self.get_mut() {
            Self::Whole { bytes, tap, .. } => {
                let bytes = bytes.take();
                if bytes.is_some() {
                    tap.settle(Outcome::Served);
                }
                Poll::Ready(bytes)
            }
            Self::Stream(stream) => stream.poll(cx),
        };
        polled.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole { bytes: None, .. })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// A stream to the client. Dropped early, it closes the connection to the replica.
pub struct StreamBody {
    /// The events that were read before the response began.
    first: Option<Bytes>,
    /// An error that follows `first`.
    error: Option<BadUpstreamResponse>,
    /// `None` once the stream has ended.
    exchange: Option<Exchange>,
    stream: ChatStream,
    context: Option<StreamContext>,
    cut: Option<StopSignal>,
}

/// The parts of a call that a stream keeps until it ends.
pub(crate) struct StreamContext {
    pub(crate) slot: Slot,
    pub(crate) tap: UsageTap,
    pub(crate) error_event: fn(&CallError, &RequestId) -> Bytes,
}

impl StreamBody {
    pub(crate) fn new(
        first: Bytes,
        error: Option<BadUpstreamResponse>,
        exchange: Exchange,
        stream: ChatStream,
    ) -> Self {
        Self { first: Some(first), error, exchange: Some(exchange), stream, context: None, cut: None }
    }

    pub(crate) fn begin(&mut self, context: StreamContext, idle: Duration, cut: watch::Receiver<bool>) {
        self.context = Some(context);
        self.cut = Some(StopSignal::new(cut));
        if let Some(exchange) = &mut self.exchange {
            exchange.limit_pauses(idle);
        }
        if self.stream.is_done() {
            self.settle(Outcome::Served);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if let Some(error) = self.error.take() {
            return self.end_with_response(&error);
        }
        while let Some(exchange) = &mut self.exchange {
            if self.stream.is_done() {
                self.drain_exchange();
                break;
            }
            let Poll::Ready(data) = exchange.poll_data(cx) else {
                if !self.cut.as_mut().is_some_and(|cut| cut.poll_is_set(cx)) {
                    return Poll::Pending;
                }
                self.cut = None;
                return self.end_with(&CallError::BadGateway { cause: "the gateway is shutting down".into() });
            };
            let passed = match data {
                Some(Ok(data)) => self.stream.pass(data),
                None => {
                    self.exchange = None;
                    self.stream.end()
                }
                Some(Err(ExchangeError::Stalled(limit))) => {
                    return self.fail_with(&CallError::UpstreamTimeout { limit });
                }
                Some(Err(error @ ExchangeError::Connection(_))) => {
                    return self.fail_with(&CallError::BadGateway { cause: error.to_string() });
                }
            };
            match passed {
                Ok(written) if written.is_empty() => {}
                Ok(written) => {
                    if self.stream.is_done() {
                        self.settle(Outcome::Served);
                    } else if let Some(context) = &mut self.context {
                        context.tap.progress(&self.stream.meter);
                    }
                    return Poll::Ready(Some(written));
                }
                Err(error) => return self.end_with_response(&error),
            }
        }
        Poll::Ready(None)
    }

    /// Reads the few bytes after the last event in the background, so that the connection can be reused.
    fn drain_exchange(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            exchange.drain();
        }
    }

    /// Ends the stream because of something that the engine sent.
    fn end_with_response(&mut self, error: &BadUpstreamResponse) -> Poll<Option<Bytes>> {
        let call_error = CallError::BadGateway { cause: error.to_string() };
        match error {
            BadUpstreamResponse::Untranslatable(_) => self.end_with(&call_error),
            BadUpstreamResponse::NotJson(_)
            | BadUpstreamResponse::Unexpected(_)
            | BadUpstreamResponse::Reported(_)
            | BadUpstreamResponse::Ignored(_) => self.fail_with(&call_error),
        }
    }

    /// Ends the stream because the replica failed.
    fn fail_with(&mut self, error: &CallError) -> Poll<Option<Bytes>> {
        if let Some(context) = &self.context {
            context.slot.replica().failed(Instant::now());
        }
        self.end_with(error)
    }

    /// Ends the stream with an error event after all complete events, and without `[DONE]`.
    fn end_with(&mut self, error: &CallError) -> Poll<Option<Bytes>> {
        self.exchange = None;
        let Some(context) = &mut self.context else { return Poll::Ready(None) };
        if let CallError::BadGateway { cause } = error {
            let cause = cause.clone();
            context.tap.note(|record| record.cause = Some(cause));
        }
        let event = match self.stream.fail(error) {
            true => Bytes::new(),
            false => (context.error_event)(error, context.tap.request_id()),
        };
        self.settle(Outcome::Interrupted { code: error.code() });
        let written = self.stream.take_written();
        Poll::Ready(Some(if written.is_empty() { event } else { [written, event].concat().into() }))
    }

    fn settle(&mut self, outcome: Outcome) {
        if let Some(context) = &mut self.context
            && context.tap.is_open()
        {
            self.stream.meter.teach(&context.slot);
            context.tap.meter(&self.stream.meter);
            context.tap.settle(outcome);
        }
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        // A client that disconnects pays for what was generated so far. Has no effect on a settled tap.
        self.settle(Outcome::ClientGone);
        if self.stream.is_done() {
            self.drain_exchange();
        }
    }
}
