//! HTTP server: connections, routes, and the OpenAI-compatible API.

mod chat;
mod choice_parser;
mod chunks;
mod completion_stream;
mod completions;
mod embeddings;
mod error;
mod key;
mod models;
mod preparation;
mod response;
mod routes;
mod stream;
mod text_choice;
mod tokenize;
mod usage;

pub(crate) use key::EngineKey;

use crate::loading::LoadState;
use crate::metrics::Metrics;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use preparation::Preparation;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Idle timeout of connections; longer than clients keep idle connections open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(100);
/// Pause after a failed accept, most likely because file descriptors have run out.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(20);

/// Name and start time of the model.
pub(crate) struct Identity {
    pub model: String,
    pub created: u64,
}

impl Identity {
    pub(crate) fn new(model: String) -> Self {
        Self { model, created: unix_seconds() }
    }
}

/// Current time in whole seconds, as in the API.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// State shared by all requests.
struct Shared {
    identity: Identity,
    state: Arc<LoadState>,
    metrics: Arc<Metrics>,
    preparation: Preparation,
    key: Option<EngineKey>,
}

/// The server. It responds to `/health` before the model is loaded.
pub(crate) struct Server {
    shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn new(
        identity: Identity,
        state: Arc<LoadState>,
        metrics: Arc<Metrics>,
        key: Option<EngineKey>,
    ) -> Self {
        Self { shared: Arc::new(Shared { identity, state, metrics, preparation: Preparation::default(), key }) }
    }

    /// Serves connections until `stopping`, then drains running calls. Dropping it closes all connections.
    pub(crate) async fn run(self, listener: TcpListener, mut stopping: watch::Receiver<bool>) {
        let (mut connections, for_connections) = (JoinSet::new(), stopping.clone());
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (shared, stopping) = (Arc::clone(&self.shared), for_connections.clone());
                        connections.spawn(serve_connection(stream, shared, stopping));
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_BACKOFF).await,
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
    // Events are small writes that must not be delayed.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(routes::respond(&shared, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // A client that disconnects ends its call; there is no error to report.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopping.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
