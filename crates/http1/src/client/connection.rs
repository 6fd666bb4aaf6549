//! One connection to a server.

use super::request::{MAX_SLICES, Request, Unsent};
use crate::bulk::BulkTurns;
use crate::framing::{Framing, Step};
use crate::response_head::ResponseHead;
use bytes::{Bytes, BytesMut};
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// Bytes per read at first; doubled up to the maximum while a response fills whole reads.
const SMALL_READ: usize = 4 << 10;
const LARGE_READ: usize = 64 << 10;
/// The maximum of a body whose length is not known: streams are many and long, and keep their buffer while their reader is
/// slow.
const STREAM_READ: usize = 16 << 10;

/// A request without a response.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct SendError {
    #[source]
    pub cause: io::Error,
    /// The whole request was written, so the server may have acted on it.
    pub is_written: bool,
}

impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        error.cause
    }
}

/// A connection over a stream. Requests are sent one after another.
pub struct Connection<S> {
    stream: S,
    /// Received bytes that were not consumed yet.
    input: BytesMut,
    next_read: usize,
    /// Framing of the current response.
    framing: Framing,
    keep_alive: bool,
    /// It has carried a request before, so the server may have closed it meanwhile.
    pub was_used: bool,
    /// Number of sweeps it has been idle for.
    pub(super) idle_sweeps: u32,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            input: BytesMut::new(),
            next_read: SMALL_READ,
            framing: Framing::Length(0),
            keep_alive: true,
            was_used: false,
            idle_sweeps: 0,
        }
    }

    /// Sends a request and waits for the head of the response, which may arrive before the request is written. Calls
    /// `on_written` once all of it was written, so that the caller knows even if it stops waiting for the response.
    pub async fn send(&mut self, request: &Request, on_written: impl FnOnce()) -> Result<ResponseHead, SendError> {
        self.send_with(request, on_written, |_| {}).await
    }

    /// Like [`Self::send`]; `each` sees every header of the response.
    pub(super) async fn send_with(
        &mut self,
        request: &Request,
        on_written: impl FnOnce(),
        mut each: impl FnMut(&httparse::Header<'_>),
    ) -> Result<ResponseHead, SendError> {
        let mut unsent = Unsent::all(request);
        let mut write_error = None;
        let mut on_written = Some(on_written);
        let mut turns = BulkTurns::default();
        let received = poll_fn(|cx| {
            while write_error.is_none() && !unsent.is_empty() {
                match turns.poll(cx, |cx, room| self.poll_write(cx, &unsent, room)) {
                    Poll::Ready(Ok(written)) => unsent.advance(written),
                    // The server may have sent a response that explains why it stopped reading.
                    Poll::Ready(Err(error)) => write_error = Some(error),
                    Poll::Pending => break,
                }
            }
            if unsent.is_empty() || write_error.is_some() {
                turns.release();
            }
            if unsent.is_empty() && write_error.is_none() {
                ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
                if let Some(on_written) = on_written.take() {
                    on_written();
                }
            }
            loop {
                if let Some(head) = ResponseHead::take_with(&mut self.input, &mut each).map_err(io::Error::other)? {
                    return Poll::Ready(Ok(head));
                }
                if ready!(self.poll_read(cx))? == 0 {
                    let closed = || io::Error::new(io::ErrorKind::UnexpectedEof, "closed without a response");
                    return Poll::Ready(Err(write_error.take().unwrap_or_else(closed)));
                }
            }
        })
        .await;
        let head = received.map_err(|cause| SendError { cause, is_written: unsent.is_empty() })?;
        self.framing = head.framing;
        self.keep_alive = head.keep_alive && unsent.is_empty();
        Ok(head)
    }

    /// The next piece of the response body; `None` at its end.
    pub fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match self.framing.next(&mut self.input) {
                Ok(Step::Data(data)) => return Poll::Ready(Some(Ok(data))),
                Ok(Step::End) => return Poll::Ready(None),
                Ok(Step::More) => {}
                Err(error) => return Poll::Ready(Some(Err(io::Error::other(error)))),
            }
            match ready!(self.poll_read(cx)) {
                Ok(0) if self.framing == Framing::UntilClose => return Poll::Ready(None),
                Ok(0) => {
                    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "closed before the end of the response");
                    return Poll::Ready(Some(Err(error)));
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    /// Bytes of the body that are still to come; 0 if its length is not known.
    pub(super) fn announced(&self) -> u64 {
        match self.framing {
            Framing::Length(left) => left,
            Framing::Chunked(_) | Framing::UntilClose => 0,
        }
    }

    /// Whether the connection is open and ready for another request.
    pub fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        self.keep_alive && self.framing.is_over() && self.input.is_empty() && self.poll_read(cx).is_pending()
    }

    /// Writes at most `room` bytes.
    fn poll_write(&mut self, cx: &mut Context<'_>, unsent: &Unsent<'_>, room: usize) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.stream);
        let written = if unsent.is_one_piece() {
            let piece = unsent.first();
            ready!(stream.poll_write(cx, &piece[..piece.len().min(room)]))?
        } else {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let count = unsent.fill(&mut slices, room);
            ready!(stream.poll_write_vectored(cx, &slices[..count]))?
        };
        Poll::Ready(if written == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(written) })
    }

    /// Reads what has arrived; 0 at the end of the input.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let most = if let Framing::Length(_) = self.framing { LARGE_READ } else { STREAM_READ };
        let next_read = self.next_read.min(most);
        if self.input.capacity() - self.input.len() < next_read / 2 {
            self.input.reserve(next_read);
        }
        let room = self.input.capacity() - self.input.len();
        let count = ready!(pin!(self.stream.read_buf(&mut self.input)).poll(cx))?;
        self.next_read = if count == room { (next_read * 2).min(most) } else { next_read };
        Poll::Ready(Ok(count))
    }
}
