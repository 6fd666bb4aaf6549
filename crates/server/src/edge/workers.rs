//! The threads that serve connections, one per core.

use super::connection::{self, Peer};
use super::limits::ConnectionLimits;
use super::{Service, listener};
use anyhow::Context;
use http1::server::HeadBudget;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Connections that one core serves at a time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 50_000;
/// Bytes of incomplete heads that one core keeps. Nearly all heads arrive in one piece and need none of it.
const HEAD_BYTES: usize = 8 << 20;
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);
/// Grace period for sending the final error event after the drain timeout.
const CUT_GRACE: Duration = Duration::from_secs(1);
/// Pause after a failed `accept`, usually because the process is out of file descriptors.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// Threads that run until they are stopped and their connections have ended.
pub(crate) struct Workers {
    threads: Vec<std::thread::JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Workers {
    /// Starts one thread per socket. `service` creates the service of a core from its index.
    pub(crate) fn start<V: Service>(
        listeners: Vec<TcpListener>,
        tls: Option<&TlsAcceptor>,
        drain_timeout: Duration,
        limits: &ConnectionLimits,
        service: impl Fn(usize) -> V,
    ) -> anyhow::Result<Self> {
        let (stop, stopping) = watch::channel(false);
        let threads = listeners
            .into_iter()
            .enumerate()
            .map(|(index, listener)| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .context("cannot start a runtime")?;
                let (service, tls, stopping) = (Arc::new(service(index)), tls.cloned(), stopping.clone());
                let limits = limits.clone();
                std::thread::Builder::new()
                    .name(format!("edge-{index}"))
                    .spawn(move || runtime.block_on(serve(listener, tls, service, limits, stopping, drain_timeout)))
                    .context("cannot start a thread")
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { threads, stop })
    }

    /// Stops accepting connections; returns when the open ones have ended or the drain timeout has passed.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        let joined = tokio::task::spawn_blocking(move || {
            for thread in self.threads {
                if thread.join().is_err() {
                    tracing::error!("an edge thread panicked");
                }
            }
        });
        let _ = joined.await;
    }
}

async fn serve<V: Service>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    service: Arc<V>,
    limits: ConnectionLimits,
    mut stopping: watch::Receiver<bool>,
    drain_timeout: Duration,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "a listening socket cannot be used"),
    };
    let heads = Arc::new(HeadBudget::new(HEAD_BYTES));
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    let stop = stopping.clone();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, address)) if listener::configure(&stream).is_ok() => {
                    // A connection beyond the bound is closed at once.
                    let Some(counted) = limits.peers.admit(address.ip()) else { continue };
                    let (service, heads, limits) = (Arc::clone(&service), Arc::clone(&heads), limits.clone());
                    let peer = Peer { address: address.ip(), service, heads, limits, _counted: counted };
                    connections.spawn(connection::serve(stream, tls.clone(), peer, stop.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => service.sweep(),
            _ = stopping.wait_for(|stop| *stop) => break,
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(drain_timeout, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections cut at the end of the drain timeout");
        service.cut_streams();
        let cut = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CUT_GRACE, cut).await;
    }
}
