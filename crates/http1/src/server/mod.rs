//! A server connection: requests one after another, each answered before the next is read.
//!
//! The connection, the handler of its request and the body of the response are one task. A connection that has nothing
//! to read or write holds no buffer.
//!
//! One round of [`serve`]:
//!
//! 1. Read into the thread's shared buffer until the head is complete. Usually one read brings head and body. An incomplete
//!    head is kept, within [`Limits`] of time and of the memory for all of them.
//! 2. Call the handler. If its body has not arrived completely, the handler gets a receiver, and the connection reads
//!    whenever the handler asks for more. Between two polls of the handler it also checks whether the client has
//!    disconnected; if so, the handler is dropped.
//! 3. Write the head of the response, then its body as it is produced, again watching for a disconnect.
//! 4. Keep the connection if both sides allow it and the body was read completely. Bytes that arrived behind the body
//!    are the start of the next request. If they are more than is kept, they are discarded, and the connection closes
//!    after the response.

mod body;
mod buffer_pool;
#[cfg(test)]
mod differential_tests;
#[cfg(test)]
mod fuzz_tests;
mod head_budget;
#[cfg(test)]
mod hostile_tests;
mod output;
#[cfg(test)]
mod tests;

pub use body::{BodyReceiver, ReceiveError, RequestBody};
pub use head_budget::HeadBudget;

use crate::headers::RequestHead;
use crate::request_head::{MAX_REQUEST_HEAD, ReceivedRequest, RequestHeadError};
use crate::timers::{IdleTimer, StallTimer, StopSignal};
use body::BodySource;
use bytes::Bytes;
use head_budget::Reservation;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body::Body;
use output::{Ending, Output};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

/// How long input is drained after the last response, if the client may still be sending. Closing at once would reset
/// the connection, and the client might lose the response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Limits of a server connection.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long a connection may wait for its next request; at most twice as long.
    pub idle: Duration,
    /// From the first byte of a head to its last.
    pub head: Duration,
    /// How long a connection without a request stays when the server stops: the client may just be sending one, most
    /// likely on a new connection.
    pub last_request: Duration,
    /// Memory for incomplete heads, shared with other connections.
    pub heads: Arc<HeadBudget>,
    /// The window in which a client has to take some of a response that waits for it, see [`StallTimer`].
    pub stall: Duration,
    /// From the head of a request to the end of its response; at most an eighth longer.
    pub call: Duration,
}

/// Why the server ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cutoff {
    /// The client took too little of the response.
    Stalled,
    /// The call took too long.
    TimedOut,
}

/// Precision of the limit on calls: an eighth.
pub const CALL_TICKS: u32 = 8;

impl Limits {
    /// Longer than clients usually keep an unused connection.
    pub const IDLE: Duration = Duration::from_secs(100);
    pub const HEAD: Duration = Duration::from_secs(15);
    pub const LAST_REQUEST: Duration = Duration::from_secs(1);
    /// Long enough for the steps in which sockets report progress, see [`StallTimer`].
    pub const STALL: Duration = Duration::from_secs(120);
    pub const CALL: Duration = Duration::from_secs(3_600);

    /// The usual times.
    pub fn new(heads: Arc<HeadBudget>) -> Self {
        Self {
            idle: Self::IDLE,
            head: Self::HEAD,
            last_request: Self::LAST_REQUEST,
            heads,
            stall: Self::STALL,
            call: Self::CALL,
        }
    }
}

/// What a handler returns: a response, perhaps with header lines beside those in its map.
///
/// Lines that every response carries are cheaper to write than to keep in a map first.
pub trait HandlerResponse {
    type Body: Body<Data = Bytes, Error = io::Error> + Unpin;

    fn response(&self) -> &Response<Self::Body>;
    fn response_mut(&mut self) -> &mut Response<Self::Body>;
    fn into_body(self) -> Self::Body;

    /// Adds header lines that are not in the map, each with its line end.
    fn write_lines(&self, out: &mut Vec<u8>);
}

impl<B: Body<Data = Bytes, Error = io::Error> + Unpin> HandlerResponse for Response<B> {
    type Body = B;

    fn response(&self) -> &Response<B> {
        self
    }

    fn response_mut(&mut self) -> &mut Response<B> {
        self
    }

    fn into_body(self) -> B {
        Response::into_body(self)
    }

    fn write_lines(&self, _: &mut Vec<u8>) {}
}

/// Serves a connection until it ends, is idle for too long, or `stop` turns true and its last response is written.
/// `reject` makes the response to a head that is rejected; the connection closes after it. Returns why the last call was
/// cut off, if it was; its handler or response body was dropped, as if the client had disconnected.
pub async fn serve<S, H, F, R, J>(
    stream: S,
    limits: Limits,
    stop: watch::Receiver<bool>,
    handler: H,
    reject: J,
) -> Option<Cutoff>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Fn(RequestHead, RequestBody) -> F,
    F: Future<Output = R>,
    R: HandlerResponse,
    J: Fn(RequestHeadError) -> R,
{
    let mut connection = Connection {
        stream,
        input: Vec::new(),
        reservation: Reservation::new(limits.heads),
        is_overrun: false,
        output: Output::default(),
        idle: IdleTimer::new(limits.idle, 1),
        head_timeout: limits.head,
        last_request: limits.last_request,
        deadline: None,
        stall: StallTimer::new(limits.stall),
        call: IdleTimer::new(limits.call, CALL_TICKS),
        cutoff: None,
        stop: StopSignal::new(stop),
    };
    let ended = connection.run(handler, reject).await;
    if matches!(ended, Ok(ConnectionEnd::InputPending)) {
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, connection.drain_until_close()).await;
    } else if ended.is_ok() {
        let _ = connection.stream.shutdown().await;
    }
    connection.cutoff
}

struct Connection<S> {
    stream: S,
    /// Received bytes that were not consumed yet: an incomplete head, or the next request.
    input: Vec<u8>,
    /// Memory that `input` takes from the budget.
    reservation: Reservation,
    /// More input has arrived than is kept. The rest is discarded, so the connection cannot serve another request.
    is_overrun: bool,
    output: Output,
    idle: IdleTimer,
    head_timeout: Duration,
    last_request: Duration,
    /// Of an incomplete head, or of the last request of a connection that is to stop.
    deadline: Option<Deadline>,
    stall: StallTimer,
    /// Limits the current call.
    call: IdleTimer,
    cutoff: Option<Cutoff>,
    stop: StopSignal,
}

/// Until when a connection waits for input.
enum Deadline {
    /// For the rest of a head.
    Head(Pin<Box<Sleep>>),
    /// For a last request, while the server stops.
    LastRequest(Pin<Box<Sleep>>),
}

/// How a connection ended without an I/O error.
enum ConnectionEnd {
    /// All input was read.
    Clean,
    /// The client may still be sending.
    InputPending,
}

struct IncomingRequest {
    head: RequestHead,
    body: RequestBody,
    /// Reads the rest of the body, if it has not arrived completely.
    source: Option<BodySource>,
    prefs: ConnectionPrefs,
}

/// Properties of a request that shape its response.
struct ConnectionPrefs {
    is_head: bool,
    is_http10: bool,
    keep_alive: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run<H, F, R, J>(&mut self, handler: H, reject: J) -> io::Result<ConnectionEnd>
    where
        H: Fn(RequestHead, RequestBody) -> F,
        F: Future<Output = R>,
        R: HandlerResponse,
        J: Fn(RequestHeadError) -> R,
    {
        loop {
            let request = match self.next_request().await {
                Ok(Some(request)) => request,
                // The client may have sent a request meanwhile, which closing at once would answer with a reset.
                Ok(None) if self.stop.is_set() => return Ok(ConnectionEnd::InputPending),
                Ok(None) => return Ok(ConnectionEnd::Clean),
                Err(error) => return self.reject(reject(error)).await,
            };
            self.deadline = None;
            self.idle.restart();
            self.call.restart();
            let IncomingRequest { head, body, mut source, prefs } = request;
            let response = {
                let mut handling = pin!(handler(head, body));
                poll_fn(|cx| match self.poll_handler(cx, handling.as_mut(), source.as_mut()) {
                    Poll::Pending => self.poll_timeout(cx),
                    response @ Poll::Ready(_) => response,
                })
                .await?
            };
            let all_read = match source.map(BodySource::into_rest) {
                None => true,
                Some(None) => false,
                Some(Some(mut rest)) => {
                    // More may have arrived while the handler was running.
                    rest.append(&mut self.input);
                    self.is_overrun |= !self.keep_input(rest);
                    true
                }
            };
            let keep_alive = prefs.keep_alive && all_read && !self.is_overrun && !self.stop.is_set();
            let (body, ending, keep_alive) = self.begin_response(response, &ConnectionPrefs { keep_alive, ..prefs });
            self.send(body, ending).await?;
            if keep_alive && !self.is_overrun {
                continue;
            }
            let may_send_more = !all_read || self.is_overrun || self.has_more_input().await;
            return Ok(if may_send_more { ConnectionEnd::InputPending } else { ConnectionEnd::Clean });
        }
    }

    /// Whether the client has sent something behind its last request.
    async fn has_more_input(&mut self) -> bool {
        if !self.input.is_empty() {
            return true;
        }
        poll_fn(|cx| Poll::Ready(matches!(self.poll_read(cx, |_, _| ()), Poll::Ready(Some(()))))).await
    }

    /// Waits for the next request; `None` if the client has closed, the connection was idle for too long, or it is to
    /// stop.
    async fn next_request(&mut self) -> Result<Option<IncomingRequest>, RequestHeadError> {
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
    fn keep_input(&mut self, bytes: Vec<u8>) -> bool {
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

    /// Polls the handler, reads the body on its demand, and fails if the client disconnects.
    fn poll_handler<F: Future>(
        &mut self,
        cx: &mut Context<'_>,
        mut handling: Pin<&mut F>,
        mut source: Option<&mut BodySource>,
    ) -> Poll<io::Result<F::Output>> {
        loop {
            if let Poll::Ready(response) = handling.as_mut().poll(cx) {
                return Poll::Ready(Ok(response));
            }
            match &mut source {
                Some(source) if source.is_demanded() => {
                    if std::mem::take(&mut source.awaits_continue) {
                        self.output.add(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    ready!(self.output.poll_flush(cx, &mut self.stream))?;
                    ready!(source.poll(cx, &mut self.stream));
                }
                // Input now belongs to the body, which the handler has not asked for yet.
                Some(source) if !source.is_over() => return Poll::Pending,
                _ => ready!(self.poll_disconnect(cx))?,
            }
        }
    }

    /// Fails when the client disconnects. Input is read all the time, because what a client sends behind its request must
    /// not hide that it left.
    fn poll_disconnect(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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

    /// Adds the head of a response to the output; returns the body, where it ends, and whether the connection stays
    /// open.
    fn begin_response<R: HandlerResponse>(
        &mut self,
        mut response: R,
        prefs: &ConnectionPrefs,
    ) -> (R::Body, Ending, bool) {
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
        (response.into_body(), ending, keep_alive)
    }

    async fn send<B>(&mut self, mut body: B, mut ending: Ending) -> io::Result<()>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin,
    {
        poll_fn(|cx| match self.poll_send(cx, &mut body, &mut ending) {
            Poll::Pending => self.poll_timeout(cx),
            sent @ Poll::Ready(_) => sent,
        })
        .await
    }

    /// Fails once the call has taken too long.
    fn poll_timeout<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.call.poll(cx).map(|_| Err(self.cut_off(Cutoff::TimedOut)))
    }

    fn cut_off(&mut self, cutoff: Cutoff) -> io::Error {
        self.cutoff = Some(cutoff);
        io::ErrorKind::TimedOut.into()
    }

    /// Writes the output; fails if the client takes it too slowly.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let flushed @ Poll::Ready(_) = self.output.poll_flush(cx, &mut self.stream) {
            return flushed;
        }
        self.stall.took(self.output.take_count());
        self.stall.poll_blocked(cx).map(|()| Err(self.cut_off(Cutoff::Stalled)))
    }

    /// Writes what the body produces, and fails if the client disconnects while there is nothing to write.
    fn poll_send<B>(&mut self, cx: &mut Context<'_>, body: &mut B, ending: &mut Ending) -> Poll<io::Result<()>>
    where
        B: Body<Data = Bytes, Error = io::Error> + Unpin,
    {
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
            ready!(self.poll_flush(cx))?;
            if ending.is_over() {
                self.stall.caught_up();
                return Poll::Ready(Ok(()));
            }
            if is_waiting {
                self.stall.caught_up();
                return self.poll_disconnect(cx);
            }
        }
    }

    /// Sends the last response of a connection whose next request cannot be found.
    async fn reject<R: HandlerResponse>(&mut self, response: R) -> io::Result<ConnectionEnd> {
        self.keep_input(Vec::new());
        self.call.restart();
        let prefs = ConnectionPrefs { is_head: false, is_http10: false, keep_alive: false };
        let (body, ending, _) = self.begin_response(response, &prefs);
        self.send(body, ending).await?;
        Ok(ConnectionEnd::InputPending)
    }

    /// Closes the sending side, then reads and discards input until the client closes, too.
    async fn drain_until_close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        while poll_fn(|cx| self.poll_read(cx, |_, _| ())).await.is_some() {}
        Ok(())
    }
}

fn has_no_body(status: StatusCode) -> bool {
    status.is_informational() || status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED
}
