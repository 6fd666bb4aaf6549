//! The receiving side of a connection: the next request, and what arrives while the last one is answered.

use super::body::{self, BodySource, RequestBody};
use super::{Connection, Deadline, buffer_pool};
use crate::headers::RequestHead;
use crate::request_head::{MAX_REQUEST_HEAD, ReceivedRequest, RequestHeadError};
use http::Method;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

pub(super) struct IncomingRequest {
    pub(super) head: RequestHead,
    pub(super) body: RequestBody,
    /// Reads the rest of the body, if it has not arrived completely.
    pub(super) source: Option<BodySource>,
    pub(super) prefs: ConnectionPrefs,
}

/// Properties of a request that shape its response.
pub(super) struct ConnectionPrefs {
    pub(super) is_head: bool,
    pub(super) is_http10: bool,
    pub(super) keep_alive: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Whether the client has sent something behind its last request.
    pub(super) async fn has_more_input(&mut self) -> bool {
        if !self.input.is_empty() {
            return true;
        }
        poll_fn(|cx| Poll::Ready(matches!(self.poll_read(cx, |_, _| ()), Poll::Ready(Some(()))))).await
    }

    /// Waits for the next request; `None` if the client has closed, the connection was idle for too long, or it is to
    /// stop.
    pub(super) async fn next_request(&mut self) -> Result<Option<IncomingRequest>, RequestHeadError> {
        // It may have arrived with the last one.
        if !self.input.is_empty() {
            let arrived = std::mem::take(&mut self.input);
            match self.take_request(&arrived)? {
                Some(request) => return Ok(Some(request)),
                None => self.input = arrived,
            }
        }
        poll_fn(|cx| {
            loop {
                match self.poll_read(cx, Self::begin_request) {
                    Poll::Ready(Some(Ok(None))) => {}
                    Poll::Ready(request) => return Poll::Ready(request.unwrap_or(Ok(None))),
                    Poll::Pending => return self.poll_give_up(cx).map_ok(|()| None),
                }
            }
        })
        .await
    }

    /// Ready when the connection should not wait any longer. A request that has begun may complete until its deadline,
    /// even if the server is stopping.
    fn poll_give_up(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RequestHeadError>> {
        if !self.input.is_empty() {
            if !matches!(self.deadline, Some(Deadline::Head(_))) {
                self.deadline = Some(Deadline::Head(Box::pin(sleep(self.head_timeout))));
            }
        } else if self.stop.poll_is_set(cx) {
            self.deadline.get_or_insert_with(|| Deadline::LastRequest(Box::pin(sleep(self.last_request))));
        }
        match &mut self.deadline {
            Some(Deadline::Head(sleep)) => sleep.as_mut().poll(cx).map(|()| Err(RequestHeadError::TooSlow)),
            Some(Deadline::LastRequest(sleep)) => sleep.as_mut().poll(cx).map(Ok),
            None => self.idle.poll(cx).map(|_| Ok(())),
        }
    }

    /// Returns a request if `arrived` completes its head. Usually all of it arrives at once, with nothing before it.
    fn begin_request(&mut self, arrived: &[u8]) -> Result<Option<IncomingRequest>, RequestHeadError> {
        if self.input.is_empty() {
            let request = self.take_request(arrived)?;
            return if request.is_none() { self.await_rest(arrived.to_vec()) } else { Ok(request) };
        }
        let mut all = std::mem::take(&mut self.input);
        all.extend_from_slice(arrived);
        let request = if ReceivedRequest::may_end(&all, arrived) { self.take_request(&all)? } else { None };
        if request.is_none() { self.await_rest(all) } else { Ok(request) }
    }

    /// Keeps an incomplete head until more of it arrives.
    fn await_rest(&mut self, partial: Vec<u8>) -> Result<Option<IncomingRequest>, RequestHeadError> {
        if self.keep_input(partial) { Ok(None) } else { Err(RequestHeadError::NoRoom) }
    }

    /// Keeps received bytes for later; `false` if there is no room for them, and they are dropped.
    pub(super) fn keep_input(&mut self, bytes: Vec<u8>) -> bool {
        let has_room = self.reservation.resize(bytes.len());
        self.input = if has_room { bytes } else { Vec::new() };
        has_room
    }

    fn take_request(&mut self, arrived: &[u8]) -> Result<Option<IncomingRequest>, RequestHeadError> {
        let Some((request, used)) = ReceivedRequest::parse(arrived)? else { return Ok(None) };
        let prefs = ConnectionPrefs {
            is_head: request.head.method == Method::HEAD,
            is_http10: request.is_http10,
            keep_alive: request.keep_alive,
        };
        let rest = &arrived[used..];
        let (body, source) = match request.body {
            Some(body) => {
                self.is_overrun |= !self.keep_input(rest.to_vec());
                (RequestBody::Whole(body), None)
            }
            None => {
                self.keep_input(Vec::new());
                let (source, receiver) = body::open(request.framing, rest, request.expects_continue);
                (RequestBody::Partial(receiver), Some(source))
            }
        };
        Ok(Some(IncomingRequest { head: request.head, body, source, prefs }))
    }

    /// Reads what has arrived and passes it to `take`; `None` at the end of the input.
    fn poll_read<T>(&mut self, cx: &mut Context<'_>, take: impl FnOnce(&mut Self, &[u8]) -> T) -> Poll<Option<T>> {
        buffer_pool::with_input(|buffer| match ready!(pin!(self.stream.read_buf(buffer)).poll(cx)) {
            Ok(0) | Err(_) => Poll::Ready(None),
            Ok(_) => Poll::Ready(Some(take(self, buffer))),
        })
    }

    /// Fails when the client disconnects. Input is read all the time, because what a client sends behind its request must
    /// not hide that it left.
    pub(super) fn poll_disconnect(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if ready!(self.poll_read(cx, Self::keep_pipelined)).is_none() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// Keeps input that arrives before the response is complete. Clients that send more than a head's worth would have to
    /// be trusted with the memory; they are to send it again on another connection (RFC 9112, section 9.3.2).
    fn keep_pipelined(&mut self, arrived: &[u8]) {
        let mut all = std::mem::take(&mut self.input);
        let is_too_long = self.is_overrun || all.len() + arrived.len() > MAX_REQUEST_HEAD;
        if !is_too_long {
            all.extend_from_slice(arrived);
        }
        self.is_overrun = !self.keep_input(if is_too_long { Vec::new() } else { all }) || is_too_long;
    }

    /// Closes the sending side, then reads and discards input until the client closes, too.
    pub(super) async fn drain_until_close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        while poll_fn(|cx| self.poll_read(cx, |_, _| ())).await.is_some() {}
        Ok(())
    }
}
