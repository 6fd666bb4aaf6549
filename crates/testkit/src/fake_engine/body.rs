//! A response body that executes a list of steps: bytes, pauses, and failures.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

use super::state::CallGuard;

/// One step of a response.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Send(Bytes),
    /// Flushes the bytes sent so far.
    Flush,
    Wait(Duration),
    /// Sends nothing more and keeps the connection open.
    Stall,
    /// Aborts the connection.
    Cut,
}

type PendingSteps = Pin<Box<dyn Future<Output = Vec<Step>> + Send>>;

/// Framing of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Known(u64),
    Chunked,
}

pub(super) struct ScriptedBody {
    /// Computes the steps, after the head was sent.
    pending: Option<PendingSteps>,
    steps: std::vec::IntoIter<Step>,
    length: Length,
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    stalled: bool,
    /// `None` for responses that are not calls, such as `/health`.
    guard: Option<CallGuard>,
    close_connection: Option<Arc<Notify>>,
}

impl ScriptedBody {
    pub(super) fn new(steps: Vec<Step>, length: Length) -> Self {
        let steps = steps.into_iter();
        Self {
            pending: None,
            steps,
            length,
            timer: None,
            waiting: false,
            stalled: false,
            guard: None,
            close_connection: None,
        }
    }

    /// A body whose steps are known later.
    pub(super) fn later(steps: impl Future<Output = Vec<Step>> + Send + 'static) -> Self {
        Self { pending: Some(Box::pin(steps)), ..Self::new(Vec::new(), Length::Chunked) }
    }

    /// A complete body with a `Content-Length`.
    pub(super) fn whole(bytes: Bytes) -> Self {
        let length = Length::Known(bytes.len() as u64);
        Self::new(vec![Step::Send(bytes)], length)
    }

    /// Ties the call to this body: if it is dropped before its last step, the call counts as cancelled.
    pub(super) fn guarded_by(mut self, guard: CallGuard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Notifies `connection` after the last byte.
    pub(super) fn then_close(mut self, connection: Arc<Notify>) -> Self {
        self.close_connection = Some(connection);
        self
    }

    fn finish(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.complete();
        }
        if let Some(connection) = self.close_connection.take() {
            connection.notify_one();
        }
    }

    fn start_waiting(&mut self, pause: Duration) {
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(Instant::now() + pause),
            None => self.timer = Some(Box::pin(sleep(pause))),
        }
        self.waiting = true;
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(pending) = &mut self.pending {
            self.steps = ready!(pending.as_mut().poll(context)).into_iter();
            self.pending = None;
        }
        loop {
            if self.stalled {
                return Poll::Pending;
            }
            if self.waiting {
                if let Some(timer) = &mut self.timer {
                    ready!(timer.as_mut().poll(context));
                }
                self.waiting = false;
            }
            match self.steps.next() {
                Some(Step::Send(bytes)) => {
                    if self.steps.as_slice().is_empty() {
                        self.finish();
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Flush) => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Wait(pause)) => self.start_waiting(pause),
                Some(Step::Stall) => self.stalled = true,
                Some(Step::Cut) => {
                    self.finish();
                    return Poll::Ready(Some(Err(io::Error::other("the script cuts the response here"))));
                }
                None => {
                    self.finish();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pending.is_none() && !self.stalled && !self.waiting && self.steps.as_slice().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.length {
            Length::Known(length) => SizeHint::with_exact(length),
            Length::Chunked => SizeHint::default(),
        }
    }
}
