//! The body of one response, on a connection that returns to its pool at the end.

use super::connection::Connection;
use super::pool::Pool;
use crate::LargeBuffer;
use crate::bulk::BulkTurns;
use crate::timers::IdleTimer;
use bytes::Bytes;
use std::future::poll_fn;
use std::hash::Hash;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// How long [`Exchange::drain`] waits for the end of a response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Precision of the limit on pauses: an eighth.
const IDLE_TICKS: u32 = 8;

/// Reads the body of a response. Dropped before its end, it closes the connection, and the server can stop working.
pub struct Exchange<K: Copy + Eq + Hash, S: AsyncRead + AsyncWrite + Unpin> {
    /// `None` once the response has ended.
    connection: Option<Connection<S>>,
    pool: Arc<Pool<K, S>>,
    server: K,
    /// `None` until [`Self::limit_pauses`]: another limit applies before the first piece.
    idle: Option<IdleTimer>,
}

#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("the connection failed: {0}")]
    Connection(#[from] io::Error),
    #[error("no data for {0:?}")]
    Stalled(Duration),
}

#[derive(Debug, thiserror::Error)]
pub enum CollectError<M> {
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
    #[error("there is no memory for the response")]
    NoMemory(M),
}

impl<K, S> Exchange<K, S>
where
    K: Copy + Eq + Hash,
    S: AsyncRead + AsyncWrite + Unpin,
{
    pub fn new(connection: Connection<S>, pool: Arc<Pool<K, S>>, server: K) -> Self {
        Self { connection: Some(connection), pool, server, idle: None }
    }

    /// From now on, a pause longer than `limit` is an error.
    pub fn limit_pauses(&mut self, limit: Duration) {
        self.idle = Some(IdleTimer::new(limit, IDLE_TICKS));
    }

    pub fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ExchangeError>>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
        match connection.poll_data(cx) {
            Poll::Ready(Some(Ok(data))) => {
                if let Some(idle) = &mut self.idle {
                    idle.restart();
                }
                Poll::Ready(Some(Ok(data)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.connection = None;
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(None) => {
                self.put_back(cx);
                Poll::Ready(None)
            }
            Poll::Pending => match &mut self.idle {
                Some(idle) => idle.poll(cx).map(|limit| Some(Err(ExchangeError::Stalled(limit)))),
                None => Poll::Pending,
            },
        }
    }

    pub async fn data(&mut self) -> Option<Result<Bytes, ExchangeError>> {
        poll_fn(|cx| self.poll_data(cx)).await
    }

    /// Reads the whole body, unless it has more than `limit` bytes, a pause longer than `max_pause`, or `grow` has no memory
    /// for this many bytes.
    pub async fn collect<M>(
        &mut self,
        limit: usize,
        max_pause: Duration,
        mut grow: impl FnMut(usize) -> Result<(), M>,
    ) -> Result<Bytes, CollectError<M>> {
        let Some(first) = self.data().await.transpose()? else {
            return Ok(Bytes::new());
        };
        self.limit_pauses(max_pause);
        let Some(second) = self.data().await.transpose()? else {
            return Ok(first);
        };
        let mut whole = LargeBuffer::with_capacity(2 * (first.len() + second.len()));
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        let mut turns = BulkTurns::default();
        turns.moved(whole.len());
        while let Some(more) = poll_fn(|cx| self.poll_data_in_turn(cx, &mut turns)).await.transpose()? {
            let length = whole.len() + more.len();
            if length > limit {
                return Err(CollectError::TooLarge(limit));
            }
            grow(length).map_err(CollectError::NoMemory)?;
            whole.extend_from_slice(&more);
        }
        Ok(whole.freeze())
    }

    fn poll_data_in_turn(
        &mut self,
        cx: &mut Context<'_>,
        turns: &mut BulkTurns,
    ) -> Poll<Option<Result<Bytes, ExchangeError>>> {
        let mut data = None;
        let polled = turns.poll::<ExchangeError>(cx, |cx, _| {
            data = ready!(self.poll_data(cx)).transpose()?;
            Poll::Ready(Ok(data.as_ref().map_or(0, Bytes::len)))
        });
        polled.map_ok(|_| data).map(Result::transpose)
    }

    fn put_back(&mut self, cx: &mut Context<'_>) {
        if let Some(mut connection) = self.connection.take()
            && connection.is_ready(cx)
        {
            self.pool.put_back(self.server, connection);
        }
    }
}

impl<K, S> Exchange<K, S>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    /// Reads the rest of the body in the background, so that the connection can be reused.
    pub fn drain(mut self) {
        if let Poll::Ready(end) = self.poll_data(&mut Context::from_waker(Waker::noop()))
            && end.is_none_or(|data| data.is_err())
        {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let ended = async { while let Some(Ok(_)) = self.data().await {} };
                let _ = tokio::time::timeout(DRAIN_TIMEOUT, ended).await;
            });
        }
    }
}
