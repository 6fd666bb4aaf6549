//! Idle connections, kept for the next call. Each runtime has its own: nothing is shared between cores.

use super::link::Link;
use bytes::BytesMut;
use fleet::Connector;
use fleet::backend::{Backend, BackendId};
use foldhash::HashMap;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// Idle connections kept to one replica.
const MAX_IDLE: usize = 512;
/// Sweeps that an idle connection survives: about a minute. Model servers close it after 5 s or more; a closed one is
/// noticed when it is taken.
const MAX_SWEEPS: u32 = 4;

/// Buffers of requests that were sent, kept for the next ones, and the largest of them.
const MAX_BUFFERS: usize = 64;
const LARGEST_BUFFER: usize = 32 << 10;

#[derive(Default)]
pub struct Links {
    connector: Connector,
    idle: Mutex<HashMap<BackendId, Vec<Link>>>,
    buffers: Mutex<Vec<BytesMut>>,
}

impl Links {
    pub fn new(connector: Connector) -> Self {
        Self { connector, ..Self::default() }
    }

    /// A connection that was used before and is still good, else a new one.
    pub async fn take(&self, replica: &Arc<Backend>) -> io::Result<Link> {
        while let Some(mut link) = self.pop(replica) {
            if poll_fn(|cx| Poll::Ready(link.is_ready(cx))).await {
                return Ok(link);
            }
        }
        // In a box: few calls need one, and all would have to be large enough for it.
        Box::pin(self.open(replica)).await
    }

    pub async fn open(&self, replica: &Arc<Backend>) -> io::Result<Link> {
        Link::open(&self.connector, replica).await
    }

    /// Takes a connection back that is ready for another call.
    pub fn give_back(&self, replica: &Arc<Backend>, mut link: Link) {
        link.used = true;
        link.sweeps = 0;
        let mut idle = self.idle();
        let links = idle.entry(replica.id).or_default();
        if links.len() < MAX_IDLE {
            links.push(link);
        }
    }

    /// Closes what has been idle for long. Called now and then.
    pub fn sweep(&self) {
        self.idle().retain(|_, links| {
            links.iter_mut().for_each(|link| link.sweeps += 1);
            links.retain(|link| link.sweeps <= MAX_SWEEPS);
            !links.is_empty()
        });
    }

    /// An empty buffer for a request with room for so much.
    pub fn buffer(&self, bytes: usize) -> BytesMut {
        let mut buffer = self.buffers().pop().unwrap_or_default();
        buffer.reserve(bytes);
        buffer
    }

    /// Takes the buffer of a request back that was sent.
    pub fn give_back_buffer(&self, mut buffer: BytesMut) {
        let mut buffers = self.buffers();
        if buffers.len() < MAX_BUFFERS && buffer.capacity() <= LARGEST_BUFFER {
            buffer.clear();
            buffers.push(buffer);
        }
    }

    fn buffers(&self) -> MutexGuard<'_, Vec<BytesMut>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self, replica: &Arc<Backend>) -> Option<Link> {
        self.idle().get_mut(&replica.id)?.pop()
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<BackendId, Vec<Link>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
