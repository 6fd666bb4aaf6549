//! The body of a response, which settles its call when it ends.

use crate::error::CallError;
use crate::failover::{Continuation, Progress, Verdict, decide};
use crate::record::{NotContinued, Outcome};
use crate::response::BadUpstreamResponse;
use crate::response::chat_stream::ChatStream;
use crate::response_memory::{BodyGrant, KeptMemory, NoBodyMemory};
use crate::upstream::Exchange;
use crate::usage_tap::UsageTap;
use bytes::Bytes;
use domain::RequestId;
use fleet::Slot;
use fleet::backend::BackendId;
use http_body::{Body, Frame, SizeHint};
use http1::client::ExchangeError;
use http1::timers::StopSignal;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
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

/// What a stream keeps in case its replica is lost, to move to another one.
pub(crate) trait KeptCall: Send {
    /// The token limit of the call.
    fn limit(&self, tap: &UsageTap) -> Option<u64>;

    /// Attempts to continue the stream so far.
    fn failovers(&self) -> u8;

    /// Takes memory for a stream with this much text. Returns whether there is enough.
    fn has_room_for(&mut self, text_bytes: usize) -> bool;

    /// Finds a replica other than `lost` that continues the stream, unless the process is about to exit. If the future is
    /// dropped, the tap settles with what was recorded before.
    fn move_on(self: Box<Self>, tap: UsageTap, lost: BackendId, continuation: Continuation) -> MovedFuture;
}

pub(crate) type MovedFuture = Pin<Box<dyn Future<Output = Moved> + Send>>;

/// The result of moving a stream.
pub(crate) struct Moved {
    pub(crate) kept: Box<dyn KeptCall>,
    pub(crate) tap: UsageTap,
    /// `None` if no replica could continue it.
    pub(crate) resumed: Option<Resumed>,
}

/// A stream that goes on at another replica.
pub(crate) struct Resumed {
    pub(crate) slot: Slot,
    pub(crate) exchange: Exchange,
    /// The first bytes of its response.
    pub(crate) first: Bytes,
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
    /// Of what the translation keeps; `None` if the stream is not translated.
    memory: Option<KeptMemory>,
    /// That of the model.
    context_length: u64,
    context: Option<StreamContext>,
    cut: Option<StopSignal>,
    /// The longest pause of the engine.
    idle: Duration,
    /// Set if the stream may go on at another replica.
    kept: Option<Box<dyn KeptCall>>,
    /// Set while the stream moves to another replica.
    moving: Option<Moving>,
}

struct Moving {
    next: MovedFuture,
    /// What the client gets if no replica continues the stream.
    error: CallError,
    gap: String,
    starts_over: bool,
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
        memory: Option<KeptMemory>,
        context_length: u64,
    ) -> Self {
        Self {
            first: Some(first),
            error,
            exchange: Some(exchange),
            stream,
            memory,
            context_length,
            context: None,
            cut: None,
            idle: Duration::MAX,
            kept: None,
            moving: None,
        }
    }

    pub(crate) fn begin(&mut self, context: StreamContext, idle: Duration, cut: watch::Receiver<bool>) {
        self.context = Some(context);
        self.idle = idle;
        self.cut = Some(StopSignal::new(cut));
        if let Some(exchange) = &mut self.exchange {
            exchange.limit_pauses(idle);
        }
        if self.stream.is_done() {
            self.settle(Outcome::Served);
        }
    }

    /// Keeps what another replica needs to continue the stream; `None` if there is no memory for it.
    pub(crate) fn keep(&mut self, kept: Option<Box<dyn KeptCall>>) {
        self.kept = kept;
        self.limit_text();
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let mut failed = self.error.take();
        loop {
            if let Some(error) = failed.take() {
                let polled = if let BadUpstreamResponse::Cut(cause) = &error {
                    self.lose(CallError::BadGateway { cause: (*cause).into() })
                } else {
                    Some(self.end_with_response(&error))
                };
                match polled {
                    Some(polled) => return polled,
                    None => continue,
                }
            }
            let passed = if let Some(moving) = self.moving.take() {
                match ready!(self.poll_move(moving, cx)) {
                    Ok(first) => self.stream.pass(first),
                    Err(error) => return self.end_with(&error),
                }
            } else {
                let Some(exchange) = &mut self.exchange else { return Poll::Ready(None) };
                if self.stream.is_done() {
                    self.drain_exchange();
                    return Poll::Ready(None);
                }
                let Poll::Ready(data) = exchange.poll_data(cx) else {
                    if !self.cut.as_mut().is_some_and(|cut| cut.poll_is_set(cx)) {
                        return Poll::Pending;
                    }
                    self.cut = None;
                    return self.end_with(&CallError::BadGateway { cause: "the gateway is shutting down".into() });
                };
                match data {
                    Some(Ok(data)) => self.stream.pass(data),
                    None => {
                        self.exchange = None;
                        self.stream.end()
                    }
                    Some(Err(error)) => match self.lose(exchange_error(&error)) {
                        Some(polled) => return polled,
                        None => continue,
                    },
                }
            };
            match passed {
                Ok(written) if written.is_empty() => {}
                Ok(written) => return self.send(written),
                Err(error) => failed = Some(error),
            }
        }
    }

    fn send(&mut self, written: Bytes) -> Poll<Option<Bytes>> {
        if self.stream.is_done() {
            self.settle(Outcome::Served);
        } else if let Err(missing) = self.grow_memory() {
            let end = self.close(&missing.into());
            return Poll::Ready(Some([written, end].concat().into()));
        } else if let Some(context) = &mut self.context {
            context.tap.progress(&self.stream.meter);
            self.limit_text();
        }
        Poll::Ready(Some(written))
    }

    /// Takes memory for what the translation keeps.
    fn grow_memory(&mut self) -> Result<(), NoBodyMemory> {
        match (&mut self.memory, self.stream.kept_bytes()) {
            (Some(memory), Some(kept)) => memory.grow_for(kept),
            (None, _) | (_, None) => Ok(()),
        }
    }

    /// The replica was lost. Begins to move the stream to another one, or ends it; `None` if there is nothing to send yet.
    fn lose(&mut self, error: CallError) -> Option<Poll<Option<Bytes>>> {
        self.exchange = None;
        let (Some(kept), Some(context)) = (&self.kept, &mut self.context) else { return Some(self.fail_with(&error)) };
        let verdict = decide(Progress {
            transcript: self.stream.transcript(),
            is_finished: self.stream.is_finished(),
            generated: self.stream.meter.completion(),
            limit: kept.limit(&context.tap),
            failovers: kept.failovers(),
        });
        let ended = match verdict {
            Verdict::End => self.stream.end_finished(),
            Verdict::EndAtLimit => self.stream.end_at_limit(),
            Verdict::Continue(continuation) => return self.move_on(continuation, error),
            Verdict::GiveUp(why) => {
                context.tap.note(|record| record.failovers.not_continued = Some(why));
                return Some(self.fail_with(&error));
            }
        };
        context.slot.replica().failed(Instant::now());
        Some(match ended {
            Ok(written) => self.send(written),
            Err(_) => self.end_with(&error),
        })
    }

    fn move_on(&mut self, continuation: Continuation, error: CallError) -> Option<Poll<Option<Bytes>>> {
        let (Some(kept), Some(context)) = (self.kept.take(), &mut self.context) else { return None };
        let replica = context.slot.replica();
        replica.failed(Instant::now());
        self.stream.meter.teach(&context.slot);
        context.tap.attempt_failed("bad_gateway");
        // A client that leaves meanwhile pays for what it got.
        context.tap.meter(&self.stream.meter);
        let (gap, starts_over) = (continuation.gap.clone(), continuation.text.is_empty());
        let next = kept.move_on(context.tap.take(), replica.id, continuation);
        self.moving = Some(Moving { next, error, gap, starts_over });
        let written = self.stream.take_written();
        (!written.is_empty()).then_some(Poll::Ready(Some(written)))
    }

    /// Waits for the replica that continues the stream, and returns the first bytes of its response.
    fn poll_move(&mut self, mut moving: Moving, cx: &mut Context<'_>) -> Poll<Result<Bytes, CallError>> {
        let Poll::Ready(Moved { kept, tap, resumed }) = moving.next.as_mut().poll(cx) else {
            self.moving = Some(moving);
            return Poll::Pending;
        };
        self.kept = Some(kept);
        let Some(context) = &mut self.context else { return Poll::Ready(Err(moving.error)) };
        context.tap = tap;
        let Some(Resumed { slot, mut exchange, first }) = resumed else {
            context.tap.note(|record| record.failovers.not_continued = Some(NotContinued::NoReplica));
            return Poll::Ready(Err(moving.error));
        };
        context.tap.note(|record| record.failovers.continued += 1);
        context.slot = slot;
        exchange.limit_pauses(self.idle);
        self.exchange = Some(exchange);
        self.stream.resume(moving.gap, moving.starts_over);
        Poll::Ready(Ok(first))
    }

    /// Forgets the text if there is no memory for it.
    fn limit_text(&mut self) {
        let Some(text) = self.stream.transcript() else { return };
        let bytes = text.bytes();
        if !self.kept.as_mut().is_some_and(|kept| kept.has_room_for(bytes)) {
            self.stream.forget_text();
        }
    }

    /// Reads the few bytes after the last event in the background, so that the connection can be reused.
    fn drain_exchange(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            exchange.drain();
        }
    }

    /// Ends the stream because of something that the engine sent.
    fn end_with_response(&mut self, error: &BadUpstreamResponse) -> Poll<Option<Bytes>> {
        if let Some(overflow) = error.overflow(self.context_length) {
            return self.end_with(&overflow);
        }
        let call_error = CallError::BadGateway { cause: error.to_string() };
        match error {
            BadUpstreamResponse::Untranslatable(_) => self.end_with(&call_error),
            BadUpstreamResponse::NotJson(_)
            | BadUpstreamResponse::Unexpected(_)
            | BadUpstreamResponse::Cut(_)
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
        Poll::Ready(self.context.is_some().then(|| self.close(error)))
    }

    /// Ends the stream and returns its last events.
    fn close(&mut self, error: &CallError) -> Bytes {
        self.exchange = None;
        let Some(context) = &mut self.context else { return Bytes::new() };
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
        if written.is_empty() { event } else { [written, event].concat().into() }
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

fn exchange_error(error: &ExchangeError) -> CallError {
    match error {
        ExchangeError::Stalled(limit) => CallError::UpstreamTimeout { limit: *limit },
        ExchangeError::Connection(_) => CallError::BadGateway { cause: error.to_string() },
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
