//! A stream that begins before its engine does.

use super::ResponseBody;
use crate::error::CallError;
use crate::record::Outcome;
use crate::response_memory::KeptMemory;
use crate::usage_tap::UsageTap;
use crate::{Call, Response};
use bytes::{Bytes, BytesMut};
use dialects::Dialect;
use domain::RequestId;
use domain::usage::Tokens;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// A call that is being served, and its tap if there is no response that has it. If it is dropped, the client has left.
pub(crate) type ServedFuture = Pin<Box<dyn Future<Output = (Result<Response, CallError>, UsageTap)> + Send>>;

/// Pings until the engine responds; then it is the body of its response.
pub struct AliveBody {
    dialect: Dialect,
    error_event: fn(&CallError, &RequestId) -> Bytes,
    /// The first events, until they are sent.
    opening: Option<Bytes>,
    pings: Interval,
    state: State,
    /// The memory of the request, until its engine has responded.
    memory: Option<KeptMemory>,
}

enum State {
    Waiting(ServedFuture),
    Begun(ResponseBody),
    Ended,
}

impl AliveBody {
    pub(crate) fn new(
        serving: ServedFuture,
        call: &Call,
        tokens: Tokens,
        interval: Duration,
        memory: KeptMemory,
    ) -> Self {
        let mut opening = BytesMut::new();
        call.dialect.open_stream(tokens, &mut opening);
        let mut pings = tokio::time::interval_at(Instant::now() + interval, interval);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            dialect: call.dialect.clone(),
            error_event: call.error_event,
            opening: Some(opening.freeze()),
            pings,
            state: State::Waiting(serving),
            memory: Some(memory),
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(opening) = self.opening.take() {
            return Poll::Ready(Some(opening));
        }
        loop {
            match &mut self.state {
                State::Waiting(serving) => match serving.as_mut().poll(cx) {
                    Poll::Ready((Ok(response), _)) => {
                        (self.state, self.memory) = (State::Begun(response.body), None);
                    }
                    Poll::Ready((Err(error), tap)) => {
                        (self.state, self.memory) = (State::Ended, None);
                        return Poll::Ready(Some(self.fail(&error, tap)));
                    }
                    Poll::Pending => {
                        ready!(self.pings.poll_tick(cx));
                        let mut ping = BytesMut::new();
                        self.dialect.ping(&mut ping);
                        return Poll::Ready(Some(ping.freeze()));
                    }
                },
                State::Begun(body) => return body.poll(cx),
                State::Ended => return Poll::Ready(None),
            }
        }
    }

    /// Settles the call and returns its last events.
    fn fail(&self, error: &CallError, mut tap: UsageTap) -> Bytes {
        let mut events = BytesMut::new();
        let is_written =
            self.dialect.stream().is_some_and(|mut stream| error.with_failure(|why| stream.fail(why, &mut events)));
        let events = if is_written { events.freeze() } else { (self.error_event)(error, tap.request_id()) };
        tap.note(|record| {
            record.streamed = true;
            if let CallError::BadGateway { cause } = error {
                record.cause.get_or_insert_with(|| cause.clone());
            }
        });
        tap.settle(Outcome::Interrupted { code: error.code() });
        events
    }
}
