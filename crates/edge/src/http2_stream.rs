//! Watches over the streams of an HTTP/2 connection.
//!
//! hyper runs each stream as a task and asks its body for data only while the client's window has room. So a body cannot
//! notice that its client has stopped reading: it is not polled. Here the task is wrapped instead. The body reports to it
//! what it handed out, and when data waits for the client for too long, the task ends, which resets the stream and drops
//! the body.

use crate::backlog::ResponseBacklog;
use crate::body::{Body, Relayed};
use crate::limits::ConnectionLimits;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http1::server::{Backlog, CALL_TICKS, Cutoff};
use http1::timers::{IdleTimer, Lag, StallTimer};
use hyper::rt::Executor;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// Bytes that a body hands out at a time. What it has handed out is beyond its control.
const PIECE_BYTES: usize = 16 << 10;

tokio::task_local! {
    /// The progress of the stream whose task is running.
    static PROGRESS: Arc<Progress>;
}

/// What a body has handed out.
#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicUsize,
    /// It was not asked for more since: the last piece waits for the client.
    is_blocked: AtomicBool,
    /// Memory while the client does not keep up.
    backlog: Mutex<ResponseBacklog>,
}

/// Runs the tasks of streams.
#[derive(Clone)]
pub(crate) struct StreamExecutor {
    pub(crate) limits: ConnectionLimits,
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, stream: F) {
        TokioExecutor::new().execute(watch(stream, self.limits.clone()));
    }
}

async fn watch<F: Future>(stream: F, limits: ConnectionLimits) {
    let progress = Arc::<Progress>::default();
    let mut stall = StallTimer::new(limits.stall_timeout);
    let mut call = IdleTimer::new(limits.call_timeout, CALL_TICKS);
    let mut stream = pin!(PROGRESS.scope(Arc::clone(&progress), stream));
    let cutoff = poll_fn(|cx| {
        if stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if progress.is_blocked.load(Ordering::Relaxed) {
            stall.took(progress.bytes.swap(0, Ordering::Relaxed));
            while let Poll::Ready(lag) = stall.poll_blocked(cx) {
                match lag {
                    Lag::Behind if progress.backlog.lock().take() => {}
                    Lag::Behind => return Poll::Ready(Some(Cutoff::NoMemory)),
                    Lag::Stalled => return Poll::Ready(Some(Cutoff::Stalled)),
                }
            }
        } else if stall.caught_up() {
            progress.backlog.lock().give_back();
        }
        call.poll(cx).map(|_| Some(Cutoff::TimedOut))
    });
    if let Some(cutoff) = cutoff.await {
        limits.figures.count(cutoff);
    }
}

/// A response body that reports its progress to the task of its stream.
pub(crate) struct StreamBody<R> {
    body: Body<R>,
    /// The part of the last piece that was not handed out.
    rest: Bytes,
    has_begun: bool,
    progress: Arc<Progress>,
}

impl<R> StreamBody<R> {
    /// Must be called in the task of the stream.
    pub(crate) fn new(body: Body<R>, backlog: ResponseBacklog) -> Self {
        let progress = PROGRESS.try_with(Arc::clone).unwrap_or_default();
        *progress.backlog.lock() = backlog;
        Self { body, rest: Bytes::new(), has_begun: false, progress }
    }
}

impl<R: Relayed> http_body::Body for StreamBody<R> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        this.has_begun = true;
        this.progress.is_blocked.store(false, Ordering::Relaxed);
        if this.rest.is_empty() {
            match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other => return other,
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        this.progress.bytes.fetch_add(piece.len(), Ordering::Relaxed);
        this.progress.is_blocked.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    /// Only an empty body ends before it is polled. Otherwise the end is separate from the last piece, so that the task
    /// watches until that piece has room in the client's window.
    fn is_end_stream(&self) -> bool {
        !self.has_begun && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_budget::{Holder, MemoryBudget};
    use crate::peers::PeerTable;
    use http_body_util::Empty;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    /// Lets the task that watches look again, too.
    async fn wait_until(is_so: impl Fn() -> bool) {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn limits() -> ConnectionLimits {
        ConnectionLimits {
            stall_timeout: Duration::from_millis(50),
            call_timeout: Duration::from_secs(3_600),
            peers: Arc::new(PeerTable::new(None, Vec::new())),
            figures: Arc::default(),
        }
    }

    async fn next(body: &mut StreamBody<Empty<Bytes>>) -> Option<Bytes> {
        let frame = poll_fn(|cx| http_body::Body::poll_frame(Pin::new(body), cx)).await;
        frame.map(|frame| frame.unwrap().into_data().unwrap())
    }

    #[tokio::test]
    async fn a_stream_whose_client_takes_nothing_is_ended() {
        let limits = limits();
        let stalled = async {
            let mut body = StreamBody::new(Body::from("data"), ResponseBacklog::default());
            next(&mut body).await;
            std::future::pending::<()>().await;
        };
        watch(stalled, limits.clone()).await;
        assert_eq!(limits.figures.cut_off(), [("stalled", 1), ("no_memory", 0), ("timed_out", 0)]);
    }

    #[tokio::test]
    async fn a_stream_whose_client_does_not_keep_up_is_ended_if_there_is_no_memory() {
        let limits = ConnectionLimits { stall_timeout: Duration::from_secs(3_600), ..limits() };
        let budget = Arc::new(MemoryBudget::new(1));
        let backlog = ResponseBacklog::new(budget.grant(Holder::client(Ipv4Addr::LOCALHOST.into())));
        let behind = async {
            let mut body = StreamBody::new(Body::from("data"), backlog);
            next(&mut body).await;
            std::future::pending::<()>().await;
        };
        watch(behind, limits.clone()).await;
        assert_eq!(limits.figures.cut_off(), [("stalled", 0), ("no_memory", 1), ("timed_out", 0)]);
    }

    #[tokio::test]
    async fn a_stream_takes_memory_until_its_client_has_caught_up() {
        let budget = Arc::new(MemoryBudget::new(1 << 30));
        let backlog = ResponseBacklog::new(budget.grant(Holder::client(Ipv4Addr::LOCALHOST.into())));
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        sender.send(Ok(Bytes::from_static(b"data"))).await.unwrap();
        let (taken, free) = (Arc::clone(&budget), Arc::clone(&budget));
        let slow = async move {
            let mut body = StreamBody::new(Body::Pieces(receiver), backlog);
            next(&mut body).await;
            wait_until(|| taken.used() > 0).await;
            // The client has taken the piece, and waits for the next one.
            assert!(poll_fn(|cx| Poll::Ready(http_body::Body::poll_frame(Pin::new(&mut body), cx))).await.is_pending());
            wait_until(|| free.used() == 0).await;
        };
        let limits = ConnectionLimits { stall_timeout: Duration::from_secs(3_600), ..limits() };
        watch(slow, limits.clone()).await;
        assert_eq!(limits.figures.cut_off(), [("stalled", 0), ("no_memory", 0), ("timed_out", 0)]);
    }

    #[tokio::test]
    async fn a_stream_that_waits_for_its_model_is_not_stalled_but_has_a_deadline() {
        let limits = ConnectionLimits { call_timeout: Duration::from_millis(200), ..limits() };
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        sender.send(Ok(Bytes::from_static(b"data"))).await.unwrap();
        let waiting = async {
            let mut body = StreamBody::new(Body::Pieces(receiver), ResponseBacklog::default());
            while next(&mut body).await.is_some() {}
        };
        watch(waiting, limits.clone()).await;
        assert_eq!(limits.figures.cut_off(), [("stalled", 0), ("no_memory", 0), ("timed_out", 1)]);
    }

    #[tokio::test]
    async fn large_pieces_are_split_and_the_end_is_separate() {
        let mut body = StreamBody::new(Body::from(vec![b'x'; PIECE_BYTES + 1]), ResponseBacklog::default());
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(PIECE_BYTES as u64 + 1));
        for length in [PIECE_BYTES, 1] {
            assert_eq!(next(&mut body).await.unwrap().len(), length);
            assert!(!http_body::Body::is_end_stream(&body));
        }
        assert_eq!(next(&mut body).await, None);
        let empty = StreamBody::<Empty<Bytes>>::new(Body::empty(), ResponseBacklog::default());
        assert!(http_body::Body::is_end_stream(&empty));
    }
}
