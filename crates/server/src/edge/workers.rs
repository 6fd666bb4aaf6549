//! The threads that serve, one per core.

use super::connection::{self, Visitor};
use super::listener;
use crate::surface::Surface;
use anyhow::Context;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Connections that one core serves at a time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 50_000;
const SWEEP: Duration = Duration::from_secs(15);
/// How long cut streams may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The pause after the system refused a connection, for want of file descriptors as a rule.
const BREATH: Duration = Duration::from_millis(50);

/// Threads that run until they are told to stop and their connections have ended.
pub(crate) struct Workers {
    threads: Vec<std::thread::JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Workers {
    /// Starts a thread for each socket with a surface of its own, which is told its core's number.
    pub(crate) fn start(
        listeners: Vec<TcpListener>,
        tls: Option<&TlsAcceptor>,
        drain_timeout: Duration,
        surface: impl Fn(usize) -> Surface,
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
                let (surface, tls, stopping) = (Arc::new(surface(index)), tls.cloned(), stopping.clone());
                std::thread::Builder::new()
                    .name(format!("edge-{index}"))
                    .spawn(move || runtime.block_on(serve(listener, tls, surface, stopping, drain_timeout)))
                    .context("cannot start a thread")
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { threads, stop })
    }

    /// No new connections; returns when the open ones have ended or their time is up.
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

async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    surface: Arc<Surface>,
    mut stopping: watch::Receiver<bool>,
    drain_timeout: Duration,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "a listening socket cannot be used"),
    };
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(SWEEP);
    let stop = stopping.clone();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, peer)) if listener::prepare(&stream).is_ok() => {
                    let visitor = Visitor { peer: peer.ip(), surface: Arc::clone(&surface) };
                    connections.spawn(connection::serve(stream, tls.clone(), visitor, stop.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => surface.sweep(),
            _ = stopping.wait_for(|stop| *stop) => break,
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(drain_timeout, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections cut at the end of the drain time");
        surface.cut_streams();
        let told = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, told).await;
    }
}
