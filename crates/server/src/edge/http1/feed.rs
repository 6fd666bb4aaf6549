//! The way of a request's body from its connection to its handler.
//!
//! Both run in one task: the handler asks, the connection reads and polls the handler again. So nobody has to be woken,
//! and nothing is read that nobody asked for.

use super::spare;
use bytes::{BufMut, Bytes, BytesMut};
use dataplane::framing::{Framing, Step};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What is read at a time, where the body is wanted piece by piece.
const READ: usize = 64 << 10;
/// There is room for so much before anybody has asked for it.
const MOST_AT_ONCE: usize = 512 << 10;

/// The connection's end.
pub(super) struct Feed {
    state: Arc<Mutex<State>>,
    /// Of what was not handed over.
    framing: Framing,
    /// What has arrived of that.
    input: BytesMut,
    /// What came behind the body.
    behind: Vec<u8>,
    /// The client waits to be told that it may send.
    pub holds_back: bool,
}

/// The handler's end.
pub(crate) struct Fed(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    wanted: Option<Wanted>,
    piece: Option<Bytes>,
    /// Of a body with a length: how much of it was not handed over.
    left: u64,
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Piece,
    Whole,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Over,
    Broken,
}

/// The client stopped sending, or sends what is no body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// A body of which not all has arrived.
pub(super) fn open(framing: Framing, arrived: &[u8], holds_back: bool) -> (Feed, Fed) {
    let left = if let Framing::Length(left) = framing { left } else { 0 };
    let state = Arc::new(Mutex::new(State { left, ..State::default() }));
    // Nobody knows yet whether such a length is within bounds.
    let mut input = spare::take(usize::try_from(left).map_or(READ, |left| left.min(MOST_AT_ONCE)).max(arrived.len()));
    input.extend_from_slice(arrived);
    let holds_back = holds_back && arrived.is_empty();
    (Feed { state: Arc::clone(&state), framing, input, behind: Vec::new(), holds_back }, Fed(state))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fed {
    /// The next piece, or all that is left in one piece.
    pub(crate) fn poll_next(&mut self, in_one_piece: bool) -> Poll<Result<Option<Bytes>, Gone>> {
        let mut state = lock(&self.0);
        match (state.piece.take(), state.end) {
            (Some(piece), _) => Poll::Ready(Ok(Some(piece))),
            (None, Some(End::Over)) => Poll::Ready(Ok(None)),
            (None, Some(End::Broken)) => Poll::Ready(Err(Gone)),
            (None, None) => {
                state.wanted = Some(if in_one_piece { Wanted::Whole } else { Wanted::Piece });
                Poll::Pending
            }
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        let state = lock(&self.0);
        state.piece.is_none() && state.end == Some(End::Over)
    }

    /// How much will come at least.
    pub(crate) fn announced(&self) -> u64 {
        lock(&self.0).left
    }
}

impl Feed {
    pub(super) fn is_wanted(&self) -> bool {
        lock(&self.state).wanted.is_some()
    }

    /// Whether all of the body was read; then, what came behind it.
    pub(super) fn rest(self) -> Option<Vec<u8>> {
        (lock(&self.state).end == Some(End::Over)).then_some(self.behind)
    }

    pub(super) fn is_over(&self) -> bool {
        lock(&self.state).end.is_some()
    }

    /// Reads what is wanted and hands it over.
    pub(super) fn poll<S: AsyncRead + Unpin>(&mut self, cx: &mut Context<'_>, stream: &mut S) -> Poll<()> {
        let wanted = lock(&self.state).wanted;
        let read = match (wanted, self.framing) {
            (Some(Wanted::Whole), Framing::Length(left)) => ready!(self.poll_whole(cx, stream, left)),
            _ => ready!(self.poll_piece(cx, stream)),
        };
        if self.framing.is_over() {
            // The buffer is the handler's now, and nobody's when it is done.
            self.behind = std::mem::take(&mut self.input).to_vec();
        }
        let mut state = lock(&self.state);
        state.wanted = None;
        state.end = match &read {
            Err(Gone) => Some(End::Broken),
            Ok(_) => self.framing.is_over().then_some(End::Over),
        };
        if let Ok(Some(piece)) = read {
            state.left = state.left.saturating_sub(piece.len() as u64);
            state.piece = Some(piece);
        }
        Poll::Ready(())
    }

    fn poll_piece<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<Result<Option<Bytes>, Gone>> {
        loop {
            match self.framing.next(&mut self.input) {
                Ok(Step::Data(piece)) => return Poll::Ready(Ok(Some(piece))),
                Ok(Step::End) => return Poll::Ready(Ok(None)),
                Ok(Step::More) => {}
                Err(_) => return Poll::Ready(Err(Gone)),
            }
            self.input.reserve(READ);
            ready!(poll_read(cx, stream, &mut self.input, READ))?;
        }
    }

    /// The body is read to where it stays.
    fn poll_whole<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
        length: u64,
    ) -> Poll<Result<Option<Bytes>, Gone>> {
        let length = usize::try_from(length).map_err(|_| Gone)?;
        self.input.reserve(length.saturating_sub(self.input.len()));
        while self.input.len() < length {
            let missing = length - self.input.len();
            ready!(poll_read(cx, stream, &mut self.input, missing))?;
        }
        self.framing = Framing::Length(0);
        let piece = self.input.split_to(length).freeze();
        if self.input.is_empty() {
            spare::keep(std::mem::take(&mut self.input), length);
        }
        Poll::Ready(Ok(Some(piece)))
    }
}

/// Reads at most so many bytes.
fn poll_read<S: AsyncRead + Unpin>(
    cx: &mut Context<'_>,
    stream: &mut S,
    buffer: &mut BytesMut,
    most: usize,
) -> Poll<Result<(), Gone>> {
    match ready!(pin!(stream.read_buf(&mut buffer.limit(most))).poll(cx)) {
        Ok(0) | Err(_) => Poll::Ready(Err(Gone)),
        Ok(_) => Poll::Ready(Ok(())),
    }
}
