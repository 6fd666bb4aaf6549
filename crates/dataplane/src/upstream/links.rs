//! Idle connections, kept for the next call. Each runtime has its own: nothing is shared between cores.

use super::link::Link;
use fleet::Connector;
use fleet::replica::{Replica, ReplicaId};
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Idle connections kept to one replica.
const MAX_IDLE: usize = 512;
/// Model servers close idle connections after 5 s or more; a closed one is noticed when it is taken.
const MAX_IDLE_TIME: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Links {
    connector: Connector,
    idle: Mutex<HashMap<ReplicaId, Vec<Link>>>,
}

impl Links {
    pub fn new(connector: Connector) -> Self {
        Self { connector, idle: Mutex::default() }
    }

    /// A connection that was used before and is still good, else a new one.
    pub async fn take(&self, replica: &Arc<Replica>) -> io::Result<Link> {
        while let Some(mut link) = self.pop(replica) {
            if poll_fn(|cx| Poll::Ready(link.is_ready(cx))).await {
                return Ok(link);
            }
        }
        self.open(replica).await
    }

    pub async fn open(&self, replica: &Arc<Replica>) -> io::Result<Link> {
        Link::open(&self.connector, replica).await
    }

    /// Takes a connection back that is ready for another call.
    pub fn give_back(&self, replica: &Arc<Replica>, mut link: Link) {
        link.used = true;
        link.idle_since = Instant::now();
        let mut idle = self.idle();
        let links = idle.entry(replica.id).or_default();
        if links.len() < MAX_IDLE {
            links.push(link);
        }
    }

    /// Closes what has been idle for long. Called now and then.
    pub fn sweep(&self, now: Instant) {
        self.idle().retain(|_, links| {
            links.retain(|link| now.duration_since(link.idle_since) < MAX_IDLE_TIME);
            !links.is_empty()
        });
    }

    fn pop(&self, replica: &Arc<Replica>) -> Option<Link> {
        self.idle().get_mut(&replica.id)?.pop()
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<ReplicaId, Vec<Link>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
