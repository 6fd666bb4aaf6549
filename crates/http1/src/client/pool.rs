//! Idle connections and request buffers, kept for the next request.

use super::connection::Connection;
use bytes::BytesMut;
use foldhash::HashMap;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::hash::Hash;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite};

/// Most idle connections per server.
const MAX_IDLE: usize = 512;
/// Sweeps that an idle connection survives. A connection that the server has closed is detected when it is taken.
const MAX_SWEEPS: u32 = 4;
/// Most request buffers, and the largest that is kept.
const MAX_BUFFERS: usize = 64;
const MAX_BUFFER_BYTES: usize = 32 << 10;

/// Idle connections by server. Use one pool per runtime: a stream stays with the runtime that opened it.
pub struct Pool<K, S> {
    idle: Mutex<HashMap<K, Vec<Connection<S>>>>,
    buffers: Mutex<Vec<BytesMut>>,
}

impl<K, S> Default for Pool<K, S> {
    fn default() -> Self {
        Self { idle: Mutex::default(), buffers: Mutex::default() }
    }
}

impl<K: Eq + Hash, S: AsyncRead + AsyncWrite + Unpin> Pool<K, S> {
    /// Takes an idle connection that the server has not closed.
    pub async fn take(&self, server: &K) -> Option<Connection<S>> {
        while let Some(mut connection) = self.pop(server) {
            if poll_fn(|cx| Poll::Ready(connection.is_ready(cx))).await {
                return Some(connection);
            }
        }
        None
    }

    /// Returns a connection that is ready for another request.
    pub fn put_back(&self, server: K, mut connection: Connection<S>) {
        connection.was_used = true;
        connection.idle_sweeps = 0;
        let mut idle = self.idle.lock();
        let connections = idle.entry(server).or_default();
        if connections.len() < MAX_IDLE {
            connections.push(connection);
        }
    }

    /// Closes connections that survived [`MAX_SWEEPS`] sweeps. To be called periodically.
    pub fn sweep(&self) {
        self.idle.lock().retain(|_, connections| {
            connections.iter_mut().for_each(|connection| connection.idle_sweeps += 1);
            connections.retain(|connection| connection.idle_sweeps <= MAX_SWEEPS);
            !connections.is_empty()
        });
    }

    /// An empty buffer for a request, with room for `bytes`.
    pub fn take_buffer(&self, bytes: usize) -> BytesMut {
        let mut buffer = self.buffers.lock().pop().unwrap_or_default();
        buffer.reserve(bytes);
        buffer
    }

    /// Returns the buffer of a request that was sent.
    pub fn put_back_buffer(&self, mut buffer: BytesMut) {
        let mut buffers = self.buffers.lock();
        if buffers.len() < MAX_BUFFERS && buffer.capacity() <= MAX_BUFFER_BYTES {
            buffer.clear();
            buffers.push(buffer);
        }
    }

    fn pop(&self, server: &K) -> Option<Connection<S>> {
        self.idle.lock().get_mut(server)?.pop()
    }
}
