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
mod handler;
mod head_budget;
#[cfg(test)]
mod hostile_tests;
mod limits;
mod output;
mod receive;
mod respond;
#[cfg(test)]
mod tests;

pub use body::{BodyReceiver, BodyRest, ReceiveError, RequestBody};
pub use handler::{Backlog, HandlerResponse};
pub use head_budget::HeadBudget;
pub use limits::{CALL_TICKS, Cutoff, Limits};

use crate::headers::RequestHead;
use crate::request_head::RequestHeadError;
use crate::timers::{IdleTimer, StallTimer, StopSignal};
use body::BodySource;
use head_budget::Reservation;
use output::Output;
use receive::{ConnectionPrefs, IncomingRequest};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::Sleep;

/// How long input is drained after the last response, if the client may still be sending. Closing at once would reset
/// the connection, and the client might lose the response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

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
    /// The deadline of an incomplete head, or of the last request of a connection that is to stop.
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
            let (response, keep_alive) = self.begin_response(response, &ConnectionPrefs { keep_alive, ..prefs });
            self.send(response).await?;
            if keep_alive && !self.is_overrun {
                continue;
            }
            let may_send_more = !all_read || self.is_overrun || self.has_more_input().await;
            return Ok(if may_send_more { ConnectionEnd::InputPending } else { ConnectionEnd::Clean });
        }
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
}
