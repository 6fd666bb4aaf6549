//! One connection to a replica.
//!
//! It is driven by whoever uses it, in the same task: an event on its way to a client wakes one task, and dropping the
//! link closes the connection at once.

use super::head::Head;
use super::request::{MAX_SLICES, Request, Unsent};
use crate::framing::{Framing, Step};
use bytes::{Bytes, BytesMut};
use fleet::{Backend, Connector, Stream};
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncReadExt, AsyncWrite};

/// What is read at a time; more where an answer comes faster than that.
const SMALL_READ: usize = 4 << 10;
const LARGE_READ: usize = 64 << 10;

pub struct Link {
    stream: Stream,
    /// What has arrived and was not taken yet.
    input: BytesMut,
    next_read: usize,
    /// Of the answer that is on its way.
    framing: Framing,
    keep_alive: bool,
    /// It has carried a call before, so the replica may have closed it meanwhile.
    pub used: bool,
    /// How many sweeps it has been idle for.
    pub sweeps: u32,
}

impl Link {
    pub async fn open(connector: &Connector, replica: &Backend) -> io::Result<Self> {
        let stream = connector.connect(&replica.address).await?;
        Ok(Self {
            stream,
            input: BytesMut::new(),
            next_read: SMALL_READ,
            framing: Framing::Length(0),
            keep_alive: true,
            used: false,
            sweeps: 0,
        })
    }

    /// Sends a request and waits for the head of the answer, which may come before all is sent.
    pub async fn send(&mut self, request: &Request) -> io::Result<Head> {
        let mut unsent = Unsent::all(request);
        let mut cannot_write = None;
        let head = poll_fn(|cx| {
            while cannot_write.is_none() && !unsent.is_empty() {
                match self.poll_write(cx, &mut unsent) {
                    Poll::Ready(Ok(())) => {}
                    // The replica may have said why before it stopped reading.
                    Poll::Ready(Err(error)) => cannot_write = Some(error),
                    Poll::Pending => break,
                }
            }
            if unsent.is_empty() && cannot_write.is_none() {
                ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            }
            loop {
                if let Some(head) = Head::take(&mut self.input).map_err(io::Error::other)? {
                    return Poll::Ready(Ok(head));
                }
                if ready!(self.poll_read(cx))? == 0 {
                    let closed = || io::Error::new(io::ErrorKind::UnexpectedEof, "closed without an answer");
                    return Poll::Ready(Err(cannot_write.take().unwrap_or_else(closed)));
                }
            }
        })
        .await?;
        self.framing = head.framing;
        self.keep_alive = head.keep_alive && unsent.is_empty();
        Ok(head)
    }

    /// The next piece of the answer's body.
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
                    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "closed before the end of the answer");
                    return Poll::Ready(Some(Err(error)));
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    /// Whether the connection is open and ready for another request.
    pub fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        self.keep_alive && self.framing.is_over() && self.input.is_empty() && self.poll_read(cx).is_pending()
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, unsent: &mut Unsent<'_>) -> Poll<io::Result<()>> {
        let stream = Pin::new(&mut self.stream);
        let written = if unsent.is_one_piece() {
            ready!(stream.poll_write(cx, unsent.first()))?
        } else {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let count = unsent.fill(&mut slices);
            ready!(stream.poll_write_vectored(cx, &slices[..count]))?
        };
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        unsent.advance(written);
        Poll::Ready(Ok(()))
    }

    /// Reads what is there; 0 at the end.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.input.capacity() - self.input.len() < self.next_read / 2 {
            self.input.reserve(self.next_read);
        }
        let room = self.input.capacity() - self.input.len();
        let count = ready!(pin!(self.stream.read_buf(&mut self.input)).poll(cx))?;
        self.next_read = if count == room { (self.next_read * 2).min(LARGE_READ) } else { self.next_read };
        Poll::Ready(Ok(count))
    }
}
