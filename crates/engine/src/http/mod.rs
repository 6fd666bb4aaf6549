//! The HTTP side: connections, routes, and the shapes of the OpenAI interface.

mod answer;
mod chat;
mod chunks;
mod embeddings;
mod error;
mod models;
mod routes;
mod speech;
mod stream;
mod usage;

use crate::loading::Stage;
use crate::metrics::Metrics;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long the next request may take to arrive; longer than any client keeps an idle connection.
const IDLE: Duration = Duration::from_secs(100);
/// A pause when no connection can be accepted: out of file descriptors, most likely.
const ACCEPT_AGAIN: Duration = Duration::from_millis(20);

/// What the model is called, and since when it is here.
pub(crate) struct Identity {
    pub model: String,
    pub created: u64,
}

impl Identity {
    pub(crate) fn new(model: String) -> Self {
        Self { model, created: unix_seconds() }
    }
}

/// Whole seconds, as the interface has them.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// What every request may need.
struct Shared {
    identity: Identity,
    stage: Arc<Stage>,
    metrics: Arc<Metrics>,
}

/// The server; it can answer `/health` before there is a model.
pub(crate) struct Server {
    shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn new(identity: Identity, stage: Arc<Stage>, metrics: Arc<Metrics>) -> Self {
        Self { shared: Arc::new(Shared { identity, stage, metrics }) }
    }

    /// Serves connections until it is to stop, then lets the calls that are running end; dropping it closes them all.
    pub(crate) async fn run(self, listener: TcpListener, mut stopping: watch::Receiver<bool>) {
        let (mut connections, for_connections) = (JoinSet::new(), stopping.clone());
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (shared, stopping) = (Arc::clone(&self.shared), for_connections.clone());
                        connections.spawn(serve_connection(stream, shared, stopping));
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
                },
                Some(_) = connections.join_next() => {}
                _ = stopping.wait_for(|stop| *stop) => break,
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>, mut stopping: watch::Receiver<bool>) {
    // One write per event, and each goes out at once.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(routes::answer(&shared, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // A client that left ends its call by that; there is nobody to tell.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopping.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
