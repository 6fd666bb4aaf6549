//! A stream whose replica failed continues at another one. [`crate::failover`] decides whether.

use super::StreamBody;
use crate::error::CallError;
use crate::failover::{Continuation, Progress, Verdict, decide};
use crate::record::NotContinued;
use crate::upstream::Exchange;
use crate::usage_tap::UsageTap;
use crate::waiting::Wait;
use bytes::Bytes;
use fleet::Slot;
use fleet::backend::BackendId;
use std::pin::Pin;
use std::task::{Context, Poll};

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

/// A stream that continues at another replica.
pub(crate) struct Resumed {
    pub(crate) slot: Slot,
    pub(crate) exchange: Exchange,
    /// The first bytes of its response.
    pub(crate) first: Bytes,
}

/// A stream on its way to another replica.
pub(super) struct Moving {
    next: MovedFuture,
    /// What the client gets if no replica continues the stream.
    error: CallError,
    gap: String,
    starts_over: bool,
}

impl StreamBody {
    /// Keeps what another replica needs to continue the stream; `None` if there is no memory for it.
    pub(crate) fn keep(&mut self, kept: Option<Box<dyn KeptCall>>) {
        self.kept = kept;
        self.limit_text();
    }

    /// The replica was lost. Begins to move the stream to another one, or ends it; `None` if there is nothing to send yet.
    pub(super) fn lose(&mut self, error: CallError) -> Option<Poll<Option<Bytes>>> {
        self.exchange = None;
        let (Some(kept), Some(context)) = (&self.kept, &mut self.context) else {
            return Some(self.fail_with(&error));
        };
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
        context.replica_failed();
        Some(match ended {
            Ok(written) => self.send(written),
            Err(_) => self.end_with(&error),
        })
    }

    fn move_on(&mut self, continuation: Continuation, error: CallError) -> Option<Poll<Option<Bytes>>> {
        let (Some(kept), Some(context)) = (self.kept.take(), &mut self.context) else { return None };
        context.replica_failed();
        self.stream.meter.teach(&context.slot);
        context.tap.attempt_failed("bad_gateway");
        // A client that leaves meanwhile pays for what it got.
        context.tap.meter(&self.stream.meter);
        let (gap, starts_over) = (continuation.gap.clone(), continuation.text.is_empty());
        let lost = context.slot.replica().id;
        let next = kept.move_on(std::mem::take(&mut context.tap), lost, continuation);
        self.moving = Some(Moving { next, error, gap, starts_over });
        let written = self.stream.take_written();
        (!written.is_empty()).then_some(Poll::Ready(Some(written)))
    }

    /// Waits for the replica that continues the stream, and returns the first bytes of its response.
    pub(super) fn poll_move(&mut self, mut moving: Moving, cx: &mut Context<'_>) -> Poll<Result<Bytes, CallError>> {
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
        // The next wait is for another replica.
        self.wait = self.wait.take().map(Wait::again);
        exchange.limit_pauses(self.idle);
        self.exchange = Some(exchange);
        self.stream.resume(moving.gap, moving.starts_over);
        Poll::Ready(Ok(first))
    }

    /// Forgets the text if there is no memory for it.
    pub(super) fn limit_text(&mut self) {
        let Some(text) = self.stream.transcript() else { return };
        let bytes = text.bytes();
        if !self.kept.as_mut().is_some_and(|kept| kept.has_room_for(bytes)) {
            self.stream.forget_text();
        }
    }
}
