//! Passes the body of a request from its connection to its handler.
//!
//! Both run in one task. The handler polls its [`BodyReceiver`], which notes the demand; the connection sees the demand,
//! reads through its [`BodySource`] and polls the handler again. No wake-ups are needed, and nothing is read before the
//! handler asks for it.

use super::buffer_pool;
use crate::bulk::BulkTurns;
use crate::framing::{Framing, Step};
use bytes::{BufMut, Bytes, BytesMut};
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes per read, if the handler asks for single pieces.
const READ_BYTES: usize = 64 << 10;
/// The body of a request.
pub enum RequestBody {
    /// All of it arrived with the head.
    Whole(Bytes),
    /// The rest is read on demand.
    Partial(BodyReceiver),
}

impl RequestBody {
    /// The next piece.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ReceiveError> {
        match self {
            Self::Whole(bytes) => Ok(Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty())),
            Self::Partial(receiver) => poll_fn(|_| receiver.poll_next()).await,
        }
    }

    /// All that is left in one piece, if its length is known; else the next piece. Of a body that is longer than `room`,
    /// reads that much first and lets the handler know, which asks again with more room.
    pub async fn rest(&mut self, room: usize) -> Result<BodyRest, ReceiveError> {
        match self {
            Self::Whole(bytes) if bytes.is_empty() => Ok(BodyRest::End),
            Self::Whole(bytes) => Ok(BodyRest::Piece(std::mem::take(bytes))),
            Self::Partial(receiver) => poll_fn(|_| receiver.poll_rest(room)).await,
        }
    }

    /// Reads and drops the next piece, without keeping memory for it; its length, or `None` at the end.
    pub async fn skip(&mut self) -> Result<Option<usize>, ReceiveError> {
        match self {
            Self::Whole(bytes) => Ok(Some(std::mem::take(bytes).len()).filter(|length| *length > 0)),
            Self::Partial(receiver) => poll_fn(|_| receiver.poll_skipped()).await,
        }
    }

    /// Whether all of the body has been read.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Partial(receiver) => receiver.is_over(),
        }
    }

    /// Lower bound of the bytes still to come.
    pub fn announced(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Partial(receiver) => receiver.0.lock().left,
        }
    }

    /// Bytes of the rest that have arrived, if its length is known.
    pub fn buffered(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Partial(receiver) => receiver.0.lock().buffered,
        }
    }
}

/// What has arrived of the rest of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyRest {
    /// All of it, or a piece if its length is unknown.
    Piece(Bytes),
    /// As much as there was room for. It stays in the connection's buffer.
    Part,
    /// There is nothing left.
    End,
}

/// The connection's end.
pub(super) struct BodySource {
    state: Arc<Mutex<State>>,
    /// Framing of the part of the body not yet passed to the handler.
    framing: Framing,
    /// Received bytes of that part.
    input: BytesMut,
    /// Received bytes after the end of the body.
    behind: Vec<u8>,
    /// The client waits for `100 Continue`.
    pub(super) awaits_continue: bool,
    turns: BulkTurns,
}

/// The handler's end.
pub struct BodyReceiver(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    demand: Option<Demand>,
    piece: Option<Bytes>,
    /// Bytes that were dropped on demand.
    skipped: usize,
    /// Bytes of a body with a length that were not passed to the handler.
    left: u64,
    /// How many of them have arrived.
    buffered: usize,
    end: Option<BodyEnd>,
}

/// How much the handler has asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Piece,
    /// All of a body with a length, this many bytes at first.
    Rest {
        room: usize,
    },
    Skip,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Complete,
    Broken,
}

/// The client stopped sending, or the body is malformed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request body is incomplete or malformed")]
pub struct ReceiveError;

/// Opens a body that has not arrived completely.
pub(super) fn open(framing: Framing, arrived: &[u8], awaits_continue: bool) -> (BodySource, BodyReceiver) {
    let (left, buffered) = if let Framing::Length(left) = framing { (left, arrived.len()) } else { (0, 0) };
    let state = Arc::new(Mutex::new(State { left, buffered, ..State::default() }));
    // The handler may still reject this length, so memory for the rest is not reserved yet.
    let input = BytesMut::from(arrived);
    let awaits_continue = awaits_continue && arrived.is_empty();
    let (behind, turns) = (Vec::new(), BulkTurns::default());
    let source = BodySource { state: Arc::clone(&state), framing, input, behind, awaits_continue, turns };
    (source, BodyReceiver(state))
}

impl BodyReceiver {
    fn poll_next(&mut self) -> Poll<Result<Option<Bytes>, ReceiveError>> {
        let mut state = self.0.lock();
        match (state.piece.take(), state.end) {
            (Some(piece), _) => Poll::Ready(Ok(Some(piece))),
            (None, Some(BodyEnd::Complete)) => Poll::Ready(Ok(None)),
            (None, Some(BodyEnd::Broken)) => Poll::Ready(Err(ReceiveError)),
            (None, None) => {
                state.demand = Some(Demand::Piece);
                Poll::Pending
            }
        }
    }

    fn poll_rest(&mut self, room: usize) -> Poll<Result<BodyRest, ReceiveError>> {
        let mut state = self.0.lock();
        match (state.piece.take(), state.end) {
            (Some(piece), _) => Poll::Ready(Ok(BodyRest::Piece(piece))),
            (None, Some(BodyEnd::Complete)) => Poll::Ready(Ok(BodyRest::End)),
            (None, Some(BodyEnd::Broken)) => Poll::Ready(Err(ReceiveError)),
            (None, None) if (room as u64) < state.left && state.buffered >= room => Poll::Ready(Ok(BodyRest::Part)),
            (None, None) => {
                state.demand = Some(Demand::Rest { room });
                Poll::Pending
            }
        }
    }

    fn poll_skipped(&mut self) -> Poll<Result<Option<usize>, ReceiveError>> {
        let mut state = self.0.lock();
        let skipped = std::mem::take(&mut state.skipped) + state.piece.take().map_or(0, |piece| piece.len());
        match (skipped, state.end) {
            (1.., _) => Poll::Ready(Ok(Some(skipped))),
            (0, Some(BodyEnd::Complete)) => Poll::Ready(Ok(None)),
            (0, Some(BodyEnd::Broken)) => Poll::Ready(Err(ReceiveError)),
            (0, None) => {
                state.demand = Some(Demand::Skip);
                Poll::Pending
            }
        }
    }

    fn is_over(&self) -> bool {
        let state = self.0.lock();
        state.piece.is_none() && state.end == Some(BodyEnd::Complete)
    }
}

impl BodySource {
    /// Whether the handler has asked for more.
    pub(super) fn is_demanded(&self) -> bool {
        self.state.lock().demand.is_some()
    }

    /// The bytes received after the body; `None` if the body was not read to its end.
    pub(super) fn into_rest(self) -> Option<Vec<u8>> {
        (self.state.lock().end == Some(BodyEnd::Complete)).then_some(self.behind)
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().end.is_some()
    }

    /// Reads what the handler has asked for and passes it on.
    pub(super) fn poll<S: AsyncRead + Unpin>(&mut self, cx: &mut Context<'_>, stream: &mut S) -> Poll<()> {
        let demand = self.state.lock().demand;
        let mut skipped = 0;
        let read = match (demand, self.framing) {
            (Some(Demand::Rest { room }), Framing::Length(left)) => ready!(self.poll_rest(cx, stream, left, room)),
            (Some(Demand::Skip), _) => ready!(self.poll_skip(cx, stream)).map(|count| {
                skipped = count;
                None
            }),
            _ => ready!(self.poll_piece(cx, stream)),
        };
        self.turns.release();
        if self.framing.is_over() {
            // A copy: the buffer belongs to the handler's pieces and is freed with them.
            self.behind = std::mem::take(&mut self.input).to_vec();
        }
        let mut state = self.state.lock();
        state.demand = None;
        state.end = match &read {
            Err(ReceiveError) => Some(BodyEnd::Broken),
            Ok(_) => self.framing.is_over().then_some(BodyEnd::Complete),
        };
        state.skipped += skipped;
        state.left = state.left.saturating_sub(skipped as u64);
        if let Ok(Some(piece)) = read {
            state.left = state.left.saturating_sub(piece.len() as u64);
            state.buffered = 0;
            state.piece = Some(piece);
        }
        Poll::Ready(())
    }

    /// Drops what has arrived, at least one byte unless the body is over. Many connections may do this at once, so what
    /// they read goes through the thread's buffer.
    fn poll_skip<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<Result<usize, ReceiveError>> {
        let mut skipped = 0;
        loop {
            match self.framing.next(&mut self.input) {
                Ok(Step::Data(piece)) => skipped += piece.len(),
                Ok(Step::More) if skipped == 0 => ready!(self.poll_read_shared(cx, stream))?,
                Ok(Step::More | Step::End) => break,
                Err(_) => return Poll::Ready(Err(ReceiveError)),
            }
        }
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
        Poll::Ready(Ok(skipped))
    }

    fn poll_read_shared<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<Result<(), ReceiveError>> {
        let Self { input, turns, .. } = self;
        let polled = turns.poll(cx, |cx, _| {
            buffer_pool::with_input(|buffer| match ready!(pin!(stream.read_buf(buffer)).poll(cx)) {
                Ok(0) | Err(_) => Poll::Ready(Err(ReceiveError)),
                Ok(count) => {
                    input.extend_from_slice(buffer);
                    Poll::Ready(Ok(count))
                }
            })
        });
        polled.map_ok(|_| ())
    }

    fn poll_piece<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<Result<Option<Bytes>, ReceiveError>> {
        loop {
            match self.framing.next(&mut self.input) {
                Ok(Step::Data(piece)) => return Poll::Ready(Ok(Some(piece))),
                Ok(Step::End) => return Poll::Ready(Ok(None)),
                Ok(Step::More) => {}
                Err(_) => return Poll::Ready(Err(ReceiveError)),
            }
            self.input.reserve(READ_BYTES);
            ready!(self.poll_read(cx, stream, READ_BYTES))?;
        }
    }

    /// Reads a body of known length into one buffer, which the handler keeps; `None` once it has `room` bytes and is not
    /// complete. The buffer has the whole length from the start, so that nothing is copied later: the kernel gives it
    /// memory only for the pages that are written.
    fn poll_rest<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
        length: u64,
        room: usize,
    ) -> Poll<Result<Option<Bytes>, ReceiveError>> {
        let length = usize::try_from(length).map_err(|_| ReceiveError)?;
        if self.input.capacity() < length {
            let mut whole = buffer_pool::take_body(length);
            whole.extend_from_slice(&self.input);
            self.input = whole;
        }
        let enough = length.min(room);
        while self.input.len() < enough {
            ready!(self.poll_read(cx, stream, enough - self.input.len()))?;
            self.state.lock().buffered = self.input.len();
        }
        if self.input.len() < length {
            return Poll::Ready(Ok(None));
        }
        self.framing = Framing::Length(0);
        let piece = self.input.split_to(length).freeze();
        if self.input.is_empty() {
            buffer_pool::keep_body(std::mem::take(&mut self.input), length);
        }
        Poll::Ready(Ok(Some(piece)))
    }

    /// Reads at most `most` bytes.
    fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
        most: usize,
    ) -> Poll<Result<(), ReceiveError>> {
        let Self { input, turns, .. } = self;
        let polled =
            turns.poll(cx, |cx, room| match ready!(pin!(stream.read_buf(&mut input.limit(most.min(room)))).poll(cx)) {
                Ok(0) | Err(_) => Poll::Ready(Err(ReceiveError)),
                Ok(count) => Poll::Ready(Ok(count)),
            });
        polled.map_ok(|_| ())
    }
}
