//! The sending side of a connection: the head and the body of a response, within the limits of time.

use super::output::Ending;
use super::receive::ConnectionPrefs;
use super::{Backlog, Connection, ConnectionEnd, Cutoff, HandlerResponse};
use crate::timers::Lag;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body::Body;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};

/// The part of a response that follows its head.
pub(super) struct OutgoingBody<B, K> {
    body: B,
    ending: Ending,
    /// Memory while the client does not keep up.
    backlog: K,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Adds the head of a response to the output; returns the rest, and whether the connection stays open.
    pub(super) fn begin_response<R: HandlerResponse>(
        &mut self,
        mut response: R,
        prefs: &ConnectionPrefs,
    ) -> (OutgoingBody<R::Body, R::Backlog>, bool) {
        let (status, length) = (response.response().status(), response.response().body().size_hint().exact());
        let ending = match length {
            _ if prefs.is_head || has_no_body(status) => Ending::Over,
            Some(length) => Ending::Length(length),
            None if prefs.is_http10 => Ending::Close,
            None => Ending::Chunked,
        };
        if has_no_body(status) {
            response.response_mut().headers_mut().remove(header::CONTENT_LENGTH);
        }
        if prefs.is_head
            && let Some(length) = length.filter(|length| *length > 0)
        {
            response.response_mut().headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let keep_alive = prefs.keep_alive && ending != Ending::Close;
        let connection = match (keep_alive, prefs.is_http10) {
            (false, _) => Some("close"),
            (true, true) => Some("keep-alive"),
            (true, false) => None,
        };
        let headers = response.response().headers();
        self.output.add_head(status, headers, |out| response.write_lines(out), ending, connection);
        let (body, backlog) = response.into_parts();
        (OutgoingBody { body, ending, backlog }, keep_alive)
    }

    pub(super) async fn send<B, K>(&mut self, mut response: OutgoingBody<B, K>) -> io::Result<()>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin,
        K: Backlog,
    {
        poll_fn(|cx| match self.poll_send(cx, &mut response) {
            Poll::Pending => self.poll_timeout(cx),
            sent @ Poll::Ready(_) => sent,
        })
        .await
    }

    /// Fails once the call has taken too long.
    pub(super) fn poll_timeout<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.call.poll(cx).map(|_| Err(self.cut_off(Cutoff::TimedOut)))
    }

    fn cut_off(&mut self, cutoff: Cutoff) -> io::Error {
        self.cutoff = Some(cutoff);
        io::ErrorKind::TimedOut.into()
    }

    /// Writes the output; fails if the client takes it too slowly, or if there is no memory for what waits for it.
    fn poll_flush(&mut self, cx: &mut Context<'_>, backlog: &mut impl Backlog) -> Poll<io::Result<()>> {
        if let flushed @ Poll::Ready(_) = self.output.poll_flush(cx, &mut self.stream) {
            return flushed;
        }
        self.stall.took(self.output.take_count());
        loop {
            let cutoff = match ready!(self.stall.poll_blocked(cx)) {
                Lag::Behind if backlog.take() => continue,
                Lag::Behind => Cutoff::NoMemory,
                Lag::Stalled => Cutoff::Stalled,
            };
            return Poll::Ready(Err(self.cut_off(cutoff)));
        }
    }

    /// The client has taken everything that there is.
    fn caught_up(&mut self, backlog: &mut impl Backlog) {
        if self.stall.caught_up() {
            backlog.give_back();
        }
    }

    /// Writes what the body produces, and fails if the client disconnects while there is nothing to write.
    fn poll_send<B, K>(&mut self, cx: &mut Context<'_>, response: &mut OutgoingBody<B, K>) -> Poll<io::Result<()>>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin,
        K: Backlog,
    {
        let OutgoingBody { body, ending, backlog } = response;
        loop {
            let mut is_waiting = false;
            while !ending.is_over() && self.output.has_room() && !is_waiting {
                match Pin::new(&mut *body).poll_frame(cx)? {
                    Poll::Ready(Some(frame)) => {
                        if let Ok(piece) = frame.into_data() {
                            self.output.add_piece(piece, ending)?;
                        }
                        if body.is_end_stream() {
                            self.output.end(ending)?;
                        }
                    }
                    Poll::Ready(None) => self.output.end(ending)?,
                    Poll::Pending => is_waiting = true,
                }
            }
            ready!(self.poll_flush(cx, backlog))?;
            if ending.is_over() || is_waiting {
                self.caught_up(backlog);
            }
            if ending.is_over() {
                return Poll::Ready(Ok(()));
            }
            if is_waiting {
                return self.poll_disconnect(cx);
            }
        }
    }

    /// Sends the last response of a connection whose next request cannot be found.
    pub(super) async fn reject<R: HandlerResponse>(&mut self, response: R) -> io::Result<ConnectionEnd> {
        self.keep_input(Vec::new());
        self.call.restart();
        let prefs = ConnectionPrefs { is_head: false, is_http10: false, keep_alive: false };
        let (response, _) = self.begin_response(response, &prefs);
        self.send(response).await?;
        Ok(ConnectionEnd::InputPending)
    }
}

fn has_no_body(status: StatusCode) -> bool {
    status.is_informational() || status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED
}
