//! The threads that serve connections, one per core.
//!
//! They stop in two steps, so that no client sees a connection reset:
//!
//! 1. Connections end after their next response, but new ones are still accepted: load balancers need a moment to notice
//!    that this node is not ready. This goes on until no new connection has come for [`QUIET`].
//! 2. The listening sockets close. The kernel would reset connections that it has established and that were not accepted, so
//!    it first begins no new handshakes, and the queue is emptied. A client that comes now is refused.

use crate::connection::{self, Peer};
use crate::limits::ConnectionLimits;
use crate::{Service, listener};
use anyhow::Context;
use http1::server::HeadBudget;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
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
/// A stopping node accepts connections until none has come for this long.
const QUIET: Duration = Duration::from_millis(500);
/// Bound of the time in which a stopping node accepts connections; half of the drain timeout, if that is less.
const ACCEPT_GRACE: Duration = Duration::from_secs(5);
/// A handshake that has begun is over after this long, unless the client is very far away.
const HANDSHAKE_QUIET: Duration = Duration::from_millis(200);
/// Bound of the time for handshakes that have begun.
const HANDSHAKE_GRACE: Duration = Duration::from_secs(1);

/// Threads that run until they are stopped and their connections have ended.
pub struct Workers {
    threads: Vec<std::thread::JoinHandle<()>>,
    drain_timeout: Duration,
    signals: Signals,
    accepted: Arc<AtomicU64>,
}

/// The steps of stopping, for all cores.
struct Signals {
    /// Connections end after their next response.
    stop: watch::Sender<bool>,
    end: watch::Sender<Option<Ending>>,
}

/// How the workers end. Connections that are still open at the deadline are cut.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// The listening sockets close.
    Stop { deadline: Instant },
    /// Other workers accept from the same sockets.
    HandOver { deadline: Instant },
}

impl Workers {
    /// Starts one thread per socket. `service` creates the service of a core from its index.
    pub fn start<V: Service>(
        listeners: Vec<TcpListener>,
        tls: Option<&TlsAcceptor>,
        drain_timeout: Duration,
        limits: &ConnectionLimits,
        service: impl Fn(usize) -> V,
    ) -> anyhow::Result<Self> {
        let signals = Signals { stop: watch::Sender::new(false), end: watch::Sender::new(None) };
        let accepted = Arc::new(AtomicU64::new(0));
        let threads = listeners
            .into_iter()
            .enumerate()
            .map(|(index, listener)| {
                // Only threads for work that blocks are started by this runtime.
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .on_thread_start(background::lower_priority)
                    .build()
                    .context("cannot start a runtime")?;
                let core = Core {
                    tls: tls.cloned(),
                    service: Arc::new(service(index)),
                    limits: limits.clone(),
                    heads: Arc::new(HeadBudget::new(HEAD_BYTES)),
                    stop: signals.stop.subscribe(),
                    accepted: Arc::clone(&accepted),
                    connections: JoinSet::new(),
                };
                let end = signals.end.subscribe();
                std::thread::Builder::new()
                    .name(format!("edge-{index}"))
                    .spawn(move || runtime.block_on(core.serve(listener, end)))
                    .context("cannot start a thread")
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { threads, drain_timeout, signals, accepted })
    }

    /// Stops accepting connections; returns when the open ones have ended or the drain timeout has passed.
    pub async fn stop(self) {
        let deadline = Instant::now() + self.drain_timeout;
        self.signals.stop.send_replace(true);
        let _ = timeout(ACCEPT_GRACE.min(self.drain_timeout / 2), self.wait_until_quiet()).await;
        tracing::info!("closing the listening sockets");
        self.signals.end.send_replace(Some(Ending::Stop { deadline }));
        self.join().await;
    }

    /// Lets other workers accept from the same sockets. Returns when the connections have ended, or the drain timeout has
    /// passed.
    pub async fn hand_over(self) {
        let deadline = Instant::now() + self.drain_timeout;
        self.signals.stop.send_replace(true);
        self.signals.end.send_replace(Some(Ending::HandOver { deadline }));
        self.join().await;
    }

    async fn join(self) {
        let joined = tokio::task::spawn_blocking(move || {
            for thread in self.threads {
                if thread.join().is_err() {
                    tracing::error!("an edge thread panicked");
                }
            }
        });
        let _ = joined.await;
    }

    async fn wait_until_quiet(&self) {
        loop {
            let before = self.accepted.load(Ordering::Relaxed);
            sleep(QUIET).await;
            if self.accepted.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}

/// One core with its connections.
struct Core<V> {
    tls: Option<TlsAcceptor>,
    service: Arc<V>,
    limits: ConnectionLimits,
    heads: Arc<HeadBudget>,
    stop: watch::Receiver<bool>,
    /// Connections that all cores have accepted.
    accepted: Arc<AtomicU64>,
    connections: JoinSet<()>,
}

impl<V: Service> Core<V> {
    async fn serve(mut self, listener: TcpListener, mut end: watch::Receiver<Option<Ending>>) {
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(%error, "a listening socket cannot be used"),
        };
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        loop {
            tokio::select! {
                accepted = listener.accept(), if self.connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, address)) => self.take(stream, address),
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        sleep(ACCEPT_BACKOFF).await;
                    }
                },
                Some(_) = self.connections.join_next() => {}
                _ = sweep.tick() => self.service.sweep(),
                _ = end.wait_for(Option::is_some) => break,
            }
        }
        let ending = *end.borrow();
        let deadline = match ending {
            Some(Ending::Stop { deadline }) => {
                self.close(listener).await;
                deadline
            }
            Some(Ending::HandOver { deadline }) => {
                drop(listener);
                deadline
            }
            // The process ends without waiting for connections.
            None => Instant::now(),
        };
        self.drain(deadline).await;
    }

    /// Serves an accepted connection. One beyond the bound of its address is closed at once.
    fn take(&mut self, stream: TcpStream, address: SocketAddr) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        if listener::configure(&stream).is_err() {
            return;
        }
        let Some(counted) = self.limits.peers.admit(address.ip()) else { return };
        let (service, heads, limits) = (Arc::clone(&self.service), Arc::clone(&self.heads), self.limits.clone());
        let peer = Peer { address: address.ip(), service, heads, limits, _counted: counted };
        self.connections.spawn(connection::serve(stream, self.tls.clone(), peer, self.stop.clone()));
    }

    /// Closes the listening socket after all connections were accepted that the kernel has established.
    async fn close(&mut self, listener: tokio::net::TcpListener) {
        if let Err(error) = listener::stop_handshakes(&listener) {
            // Newer kernels require CAP_NET_ADMIN, which no gateway should have.
            tracing::info!(%error, "connections that are being opened now may be reset");
        }
        let handshakes = async {
            while let Ok(Ok((stream, address))) = timeout(HANDSHAKE_QUIET, listener.accept()).await {
                self.take(stream, address);
            }
        };
        let _ = timeout(HANDSHAKE_GRACE, handshakes).await;
        // From the kernel itself: the runtime may not have noticed the last ones.
        let Ok(listener) = listener.into_std() else { return };
        while let Ok((stream, address)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.take(stream, address);
            }
        }
    }

    /// Waits until the connections have ended, and cuts them at the deadline.
    async fn drain(&mut self, deadline: Instant) {
        let connections = &mut self.connections;
        if timeout_at(deadline, async { while connections.join_next().await.is_some() {} }).await.is_err() {
            tracing::warn!(connections = connections.len(), "connections cut at the end of the drain timeout");
            self.service.cut_streams();
            let _ = timeout(CUT_GRACE, async { while connections.join_next().await.is_some() {} }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::PeerTable;
    use crate::{Body, EdgeResponse, Incoming, RequestHead};
    use bytes::Bytes;
    use http::Response;
    use http_body_util::Empty;
    use http1::RequestHeadError;
    use std::net::{IpAddr, Ipv4Addr};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    struct Greeter;

    impl Service for Greeter {
        type Relayed = Empty<Bytes>;

        async fn respond(self: Arc<Self>, _: RequestHead, _: Incoming, _: IpAddr) -> EdgeResponse<Self::Relayed> {
            Response::new(Body::from("hi")).into()
        }

        fn reject_head(&self, _: RequestHeadError, _: IpAddr) -> EdgeResponse<Self::Relayed> {
            self.panicked(())
        }

        type Envelope = ();

        fn envelope(_: &RequestHead) {}

        fn panicked(&self, (): ()) -> EdgeResponse<Self::Relayed> {
            Response::new(Body::empty()).into()
        }

        fn sweep(&self) {}

        fn cut_streams(&self) {}
    }

    fn limits() -> ConnectionLimits {
        ConnectionLimits {
            stall_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(60),
            peers: Arc::new(PeerTable::new(None, Vec::new())),
            figures: Arc::default(),
        }
    }

    /// Opens connections that the kernel establishes and that are not accepted, with a request on each.
    async fn open_connections(address: SocketAddr) -> Vec<TcpStream> {
        let mut clients = Vec::new();
        for _ in 0..50 {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
            clients.push(client);
        }
        clients
    }

    async fn assert_served(clients: Vec<TcpStream>) {
        for mut client in clients {
            let mut response = String::new();
            client.read_to_string(&mut response).await.expect("no reset");
            assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
        }
    }

    #[tokio::test]
    async fn established_connections_are_served_before_the_socket_closes() {
        let listener = listener::bind((Ipv4Addr::LOCALHOST, 0).into(), 1).unwrap().remove(0);
        let clients = open_connections(listener.local_addr().unwrap()).await;
        let mut core = Core {
            tls: None,
            service: Arc::new(Greeter),
            limits: limits(),
            heads: Arc::new(HeadBudget::new(HEAD_BYTES)),
            stop: watch::Sender::new(true).subscribe(),
            accepted: Arc::default(),
            connections: JoinSet::new(),
        };
        core.close(tokio::net::TcpListener::from_std(listener).unwrap()).await;
        assert_served(clients).await;
        core.drain(Instant::now() + Duration::from_secs(60)).await;
    }

    #[tokio::test]
    async fn connections_that_come_while_the_workers_stop_are_served() {
        let listeners = listener::bind((Ipv4Addr::LOCALHOST, 0).into(), 2).unwrap();
        let address = listeners[0].local_addr().unwrap();
        let before = open_connections(address).await;
        let workers = Workers::start(listeners, None, Duration::from_secs(60), &limits(), |_| Greeter).unwrap();
        let mut stopped = workers.signals.stop.subscribe();
        let mut stopping = JoinSet::new();
        stopping.spawn(workers.stop());
        stopped.wait_for(|stopped| *stopped).await.unwrap();
        let after = open_connections(address).await;
        assert_served(before).await;
        assert_served(after).await;
        stopping.join_all().await;
    }
}
