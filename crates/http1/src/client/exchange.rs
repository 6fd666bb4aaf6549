//! The body of one response, on a connection that returns to its pool at the end.

use super::connection::Connection;
use super::pieces::{Collected, Pieces};
use super::pool::Pool;
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
use tokio::task::spawn_blocking;

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
        grow: impl FnMut(usize) -> Result<(), M>,
    ) -> Result<Bytes, CollectError<M>> {
        match self.collect_pieces(limit, max_pause, grow).await? {
            Collected::Whole(whole) => Ok(whole),
            Collected::Pieces(pieces) => {
                let joined = spawn_blocking(move || pieces.join()).await;
                Ok(joined.map_err(|error| ExchangeError::Connection(io::Error::other(error)))?)
            }
        }
    }

    /// Like [`Self::collect`], but leaves it to the caller to join a large body.
    pub async fn collect_pieces<M>(
        &mut self,
        limit: usize,
        max_pause: Duration,
        mut grow: impl FnMut(usize) -> Result<(), M>,
    ) -> Result<Collected, CollectError<M>> {
        let Some(first) = self.data().await.transpose()? else {
            return Ok(Collected::Whole(Bytes::new()));
        };
        self.limit_pauses(max_pause);
        let Some(second) = self.data().await.transpose()? else {
            return Ok(Collected::Whole(first));
        };
        let mut pieces = Pieces::starting_with(&first, &second);
        let mut turns = BulkTurns::default();
        turns.moved(pieces.len());
        while let Some(more) = poll_fn(|cx| self.poll_data_in_turn(cx, &mut turns)).await.transpose()? {
            let length = pieces.len() + more.len();
            // What is announced to be too large need not be read.
            if length.saturating_add(self.announced()) > limit {
                return Err(CollectError::TooLarge(limit));
            }
            grow(length).map_err(CollectError::NoMemory)?;
            pieces.push(&more);
        }
        Ok(pieces.finish())
    }

    /// Bytes that are still to come, as far as that is known.
    fn announced(&self) -> usize {
        let left = self.connection.as_ref().map_or(0, Connection::announced);
        usize::try_from(left).unwrap_or(usize::MAX)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Request;
    use bytes::BytesMut;
    use std::convert::Infallible;
    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinSet;

    const MEBIBYTE: usize = 1 << 20;
    const LIMIT: usize = 4 * MEBIBYTE;
    const MAX_PAUSE: Duration = Duration::from_secs(60);

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index % 251) as u8).collect()
    }

    fn with_length(body: &[u8]) -> Vec<u8> {
        [format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
    }

    fn chunked(body: &[u8]) -> Vec<u8> {
        let mut response = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for chunk in body.chunks(100_000) {
            response.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            response.extend_from_slice(chunk);
            response.extend_from_slice(b"\r\n");
        }
        [&response[..], b"0\r\n\r\n"].concat()
    }

    /// Starts to read a response, whose server stays connected.
    async fn receive(response: Vec<u8>) -> (Exchange<u8, DuplexStream>, JoinSet<()>) {
        let (ours, mut theirs) = duplex(64 << 10);
        let mut server = JoinSet::new();
        server.spawn(async move {
            // Fails once the client does not read on.
            let _ = theirs.write_all(&response).await;
            std::future::pending::<()>().await;
        });
        let mut connection = Connection::new(ours);
        let request = Request { start: BytesMut::from("GET / HTTP/1.1\r\nhost: h\r\n\r\n"), rest: Vec::new() };
        connection.send(&request, || {}).await.unwrap();
        (Exchange::new(connection, Arc::default(), 1), server)
    }

    #[tokio::test]
    async fn a_collected_body_is_what_was_sent() {
        let free = |_: usize| Ok::<_, Infallible>(());
        for length in [0, 100, 10_000, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 1, 3 * MEBIBYTE + 5, LIMIT] {
            let body = content(length);
            for response in [with_length(&body), chunked(&body)] {
                let (mut exchange, _server) = receive(response.clone()).await;
                assert!(exchange.collect(LIMIT, MAX_PAUSE, free).await.unwrap() == body, "{length}");
                assert!(exchange.data().await.is_none());
                let (mut exchange, _server) = receive(response).await;
                let collected = exchange.collect_pieces(LIMIT, MAX_PAUSE, free).await.unwrap();
                assert_eq!(matches!(collected, Collected::Pieces(_)), length > MEBIBYTE, "{length}");
                assert!(collected.join() == body, "{length}");
            }
        }
    }

    #[tokio::test]
    async fn a_body_beyond_the_limit_is_an_error() {
        let free = |_: usize| Ok::<_, Infallible>(());
        for response in [with_length(&content(LIMIT + 1)), chunked(&content(LIMIT + 1))] {
            let (mut exchange, _server) = receive(response).await;
            let collected = exchange.collect(LIMIT, MAX_PAUSE, free).await;
            assert!(matches!(collected, Err(CollectError::TooLarge(LIMIT))), "{collected:?}");
        }
    }

    #[tokio::test]
    async fn a_body_that_is_announced_to_be_too_large_is_not_read() {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", LIMIT + 1);
        let (mut exchange, _server) = receive([head.as_bytes(), &content(200_000)].concat()).await;
        let mut taken = 0;
        let grow = |bytes: usize| {
            taken = bytes;
            Ok::<_, Infallible>(())
        };
        let collected = exchange.collect(LIMIT, MAX_PAUSE, grow).await;
        assert!(matches!(collected, Err(CollectError::TooLarge(LIMIT))), "{collected:?}");
        assert_eq!(taken, 0);
    }

    #[tokio::test]
    async fn a_body_without_memory_is_an_error() {
        let grow = |bytes: usize| if bytes <= 2 * MEBIBYTE { Ok(()) } else { Err("no memory") };
        for response in [with_length(&content(LIMIT)), chunked(&content(LIMIT))] {
            let (mut exchange, _server) = receive(response).await;
            let collected = exchange.collect(LIMIT, MAX_PAUSE, grow).await;
            assert!(matches!(collected, Err(CollectError::NoMemory("no memory"))), "{collected:?}");
        }
    }
}
