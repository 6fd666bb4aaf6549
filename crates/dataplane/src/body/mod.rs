//! The body of a response, which settles its call when it ends.

mod alive_body;
mod client_lag;
mod moving;
mod response_body;

pub(crate) use alive_body::{AliveBody, ServedFuture};
pub(crate) use moving::{KeptCall, Moved, MovedFuture, Resumed};
pub use response_body::ResponseBody;

use crate::error::CallError;
use crate::record::Outcome;
use crate::response::BadUpstreamResponse;
use crate::response::chat_stream::ChatStream;
use crate::response_memory::{KeptMemory, NoBodyMemory};
use crate::upstream::Exchange;
use crate::usage_tap::UsageTap;
use crate::waiting::{SILENCE_WHEN_DOWN, Wait, WaitEnd, WaitFor, Waits};
use bytes::Bytes;
use client_lag::{Behind, ClientLag};
use domain::RequestId;
use fleet::Slot;
use fleet::breaker::Witness;
use http1::client::ExchangeError;
use moving::Moving;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// A client that takes nothing for this long does not read.
const UNREAD_AFTER: Duration = Duration::from_secs(1);

/// A stream to the client. Dropped early, it closes the connection to the replica.
pub struct StreamBody {
    /// The events that were read before the response began.
    first: Option<Bytes>,
    /// An error that follows `first`.
    error: Option<BadUpstreamResponse>,
    /// `None` once the stream has ended.
    exchange: Option<Exchange>,
    stream: ChatStream,
    /// The memory of what the translation keeps; `None` if the stream is not translated.
    memory: Option<KeptMemory>,
    /// The context length of the model.
    context_length: u64,
    context: Option<StreamContext>,
    wait: Option<Wait>,
    /// The longest pause of the engine.
    idle: Duration,
    /// Set if the stream may continue at another replica.
    kept: Option<Box<dyn KeptCall>>,
    /// Set while the stream moves to another replica.
    moving: Option<Moving>,
    lag: ClientLag,
}

/// The parts of a call that a stream keeps until it ends.
pub(crate) struct StreamContext {
    pub(crate) slot: Slot,
    pub(crate) tap: UsageTap,
    pub(crate) error_event: fn(&CallError, &RequestId) -> Bytes,
}

impl StreamContext {
    /// Records a failure of the replica, or of its connection: some requests make an engine close theirs and go on.
    fn replica_failed(&self) {
        if let Some(caller) = self.tap.caller() {
            self.slot.replica().failed(Witness::organization(&caller.organization), Instant::now());
        }
    }
}

impl StreamBody {
    /// `exchange` is `None` if `first` is the whole stream.
    pub(crate) fn new(
        first: Bytes,
        error: Option<BadUpstreamResponse>,
        exchange: Option<Exchange>,
        stream: ChatStream,
        memory: Option<KeptMemory>,
        context_length: u64,
    ) -> Self {
        Self {
            first: Some(first),
            error,
            exchange,
            stream,
            memory,
            context_length,
            context: None,
            wait: None,
            idle: Duration::MAX,
            kept: None,
            moving: None,
            lag: ClientLag::default(),
        }
    }

    pub(crate) fn begin(&mut self, context: StreamContext, idle: Duration, waits: &Waits) {
        self.context = Some(context);
        self.idle = idle;
        self.wait = Some(Wait::new(waits));
        if let Some(exchange) = &mut self.exchange {
            exchange.limit_pauses(idle);
        }
        if self.stream.is_done() {
            self.settle(Outcome::Served);
        } else {
            self.handed_over();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let mut failed = self.error.take();
        loop {
            if let Some(error) = failed.take() {
                let is_lost = match &error {
                    BadUpstreamResponse::Cut(_) => true,
                    // An error of the engine itself, as vLLM reports to its open streams when it gets SIGTERM.
                    BadUpstreamResponse::Reported(_) => error.rejection(self.context_length).is_none(),
                    BadUpstreamResponse::NotJson(_)
                    | BadUpstreamResponse::Unexpected(_)
                    | BadUpstreamResponse::Ignored(_)
                    | BadUpstreamResponse::TooLarge
                    | BadUpstreamResponse::Untranslatable(_) => false,
                };
                let polled = if is_lost {
                    self.lose(CallError::BadGateway { cause: error.to_string() })
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
                    if self.lag.behind().is_some() {
                        self.lag.end(time_of(self.wait.as_ref()));
                    }
                    let (Some(wait), Some(context)) = (&mut self.wait, &self.context) else { return Poll::Pending };
                    match ready!(wait.poll(cx, context.slot.replica(), WaitFor::Event)) {
                        WaitEnd::Down | WaitEnd::TimedOut => {
                            exchange.limit_pauses(self.idle.min(SILENCE_WHEN_DOWN));
                            continue;
                        }
                        WaitEnd::Cut => {
                            let cause = "the gateway is shutting down".into();
                            return self.end_with(&CallError::BadGateway { cause });
                        }
                    }
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
            self.handed_over();
        }
        Poll::Ready(Some(written))
    }

    /// A piece goes to the client now. If it does not take it, this body is not polled.
    fn handed_over(&mut self) {
        if self.lag.behind().is_none() {
            let since = time_of(self.wait.as_ref());
            self.lag.begin(Behind { since, completion: self.stream.meter.completion() });
        }
    }

    /// How long the client has not read, and the tokens that were passed until then, if the engine may have gone on.
    fn unread(&self) -> Option<(Duration, u64)> {
        let behind = self.lag.behind().filter(|_| self.exchange.is_some() && !self.stream.is_finished())?;
        let time = Instant::now().saturating_duration_since(behind.since);
        (time >= UNREAD_AFTER).then_some((time, behind.completion))
    }

    /// Takes memory for what the translation keeps.
    fn grow_memory(&mut self) -> Result<(), NoBodyMemory> {
        match (&mut self.memory, self.stream.kept_bytes()) {
            (Some(memory), Some(kept)) => memory.grow_for(kept),
            (None, _) | (_, None) => Ok(()),
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
        let call_error = CallError::BadGateway { cause: error.to_string() };
        match error.rejection(self.context_length) {
            Some(overflow @ CallError::Rejected { overflow: Some(_), .. }) => return self.end_with(&overflow),
            // The client has got a part of the response, so it is not rejected any more; but the replica is healthy.
            Some(_) => return self.end_with(&call_error),
            None => {}
        }
        match error {
            BadUpstreamResponse::Untranslatable(_) => self.end_with(&call_error),
            BadUpstreamResponse::TooLarge => self.end_with(&CallError::ResponseTooLarge { param: "" }),
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
            context.replica_failed();
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
        let unread = if outcome == Outcome::ClientGone { self.unread() } else { None };
        if let Some(context) = &mut self.context
            && context.tap.is_open()
        {
            self.stream.meter.teach(&context.slot);
            if outcome == Outcome::Served {
                context.tap.engine_ended(self.lag.total(time_of(self.wait.as_ref())));
            } else {
                self.stream.meter.assume_cached(&context.slot);
            }
            context.tap.meter(&self.stream.meter);
            if let Some((time, completion)) = unread {
                context.tap.went_on_unread(time, completion);
            }
            context.tap.settle(outcome);
        }
    }
}

/// The time, as cheaply as the wait of a stream knows it.
fn time_of(wait: Option<&Wait>) -> Instant {
    wait.map_or_else(Instant::now, Wait::now)
}

fn exchange_error(error: &ExchangeError) -> CallError {
    match error {
        ExchangeError::Stalled(limit) => CallError::UpstreamTimeout { limit: *limit },
        ExchangeError::Connection(_) => CallError::BadGateway { cause: error.to_string() },
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        // A client that disconnects pays for what was generated so far, also if it did not read it. Has no effect on a
        // settled tap.
        self.settle(Outcome::ClientGone);
        if self.stream.is_done() {
            self.drain_exchange();
        }
    }
}
