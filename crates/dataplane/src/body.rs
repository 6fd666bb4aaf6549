//! The body of an answer, which settles its call when it ends.

use crate::answer::Nonsense;
use crate::answer::chat_stream::ChatStream;
use crate::refusal::Refusal;
use crate::upstream::Exchange;
use crate::usage_tap::{Outcome, UsageTap};
use bytes::Bytes;
use fleet::Lease;
use http_body::{Body, Frame, SizeHint};
use http1::client::ExchangeError;
use http1::timers::StopSignal;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::watch;

pub enum AnswerBody {
    Whole { bytes: Option<Bytes>, tap: UsageTap },
    Stream(Box<StreamBody>),
}

impl AnswerBody {
    pub(crate) fn whole(bytes: Bytes, tap: UsageTap) -> Self {
        Self::Whole { bytes: Some(bytes), tap }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = match self.get_mut() {
            Self::Whole { bytes, tap } => {
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

/// A stream on its way to the client. Dropped early, it closes the connection to the replica.
pub struct StreamBody {
    /// What was written before the answer began.
    first: Option<Bytes>,
    /// What broke the stream behind that.
    broken: Option<Nonsense>,
    /// Gone when the stream has ended.
    exchange: Option<Exchange>,
    stream: ChatStream,
    served: Option<Served>,
    cut: Option<StopSignal>,
}

/// What a stream holds on to until it ends.
pub(crate) struct Served {
    /// The place at the replica.
    pub(crate) lease: Lease,
    pub(crate) tap: UsageTap,
    pub(crate) dress: fn(&Refusal) -> Bytes,
}

impl StreamBody {
    pub(crate) fn new(first: Bytes, broken: Option<Nonsense>, exchange: Exchange, stream: ChatStream) -> Self {
        Self { first: Some(first), broken, exchange: Some(exchange), stream, served: None, cut: None }
    }

    pub(crate) fn begin(&mut self, served: Served, idle: Duration, cut: watch::Receiver<bool>) {
        self.served = Some(served);
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
        if let Some(error) = self.broken.take() {
            return self.end_with(&Refusal::BadGateway { cause: error.to_string() });
        }
        while let Some(exchange) = &mut self.exchange {
            if self.stream.is_done() {
                self.leave_exchange();
                break;
            }
            let Poll::Ready(data) = exchange.poll_data(cx) else {
                if !self.cut.as_mut().is_some_and(|cut| cut.poll_is_set(cx)) {
                    return Poll::Pending;
                }
                self.cut = None;
                return self.end_with(&Refusal::BadGateway { cause: "the gateway stops".into() });
            };
            let passed = match data {
                Some(Ok(data)) => self.stream.pass(data),
                None => {
                    self.exchange = None;
                    self.stream.end()
                }
                Some(Err(ExchangeError::Stalled(limit))) => return self.end_with(&Refusal::UpstreamTimeout { limit }),
                Some(Err(error @ ExchangeError::Connection(_))) => {
                    return self.end_with(&Refusal::BadGateway { cause: error.to_string() });
                }
            };
            match passed {
                Ok(written) if written.is_empty() => {}
                Ok(written) => {
                    if self.stream.is_done() {
                        self.settle(Outcome::Served);
                    } else if let Some(served) = &mut self.served {
                        served.tap.progress(&self.stream.meter);
                    }
                    return Poll::Ready(Some(written));
                }
                Err(error) => return self.end_with(&Refusal::BadGateway { cause: error.to_string() }),
            }
        }
        Poll::Ready(None)
    }

    /// The client has its last event; the few bytes that may follow are nobody's business but the connection's.
    fn leave_exchange(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            exchange.drain();
        }
    }

    /// One last event that says what happened, behind whatever was whole, and no `[DONE]`.
    fn end_with(&mut self, refusal: &Refusal) -> Poll<Option<Bytes>> {
        self.exchange = None;
        let Some(served) = &mut self.served else { return Poll::Ready(None) };
        served.lease.replica().failed(Instant::now());
        if let Refusal::BadGateway { cause } = refusal {
            let cause = cause.clone();
            served.tap.note(|record| record.cause = Some(cause));
        }
        let event = (served.dress)(refusal);
        self.settle(Outcome::Broken { code: refusal.code() });
        let written = self.stream.take_written();
        Poll::Ready(Some(if written.is_empty() { event } else { [written, event].concat().into() }))
    }

    fn settle(&mut self, outcome: Outcome) {
        if let Some(served) = &mut self.served {
            served.tap.meter(&self.stream.meter);
            served.tap.settle(outcome);
        }
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        // A client that leaves pays for what was generated until then; after the end this does nothing.
        self.settle(Outcome::ClientGone);
        if self.stream.is_done() {
            self.leave_exchange();
        }
    }
}
