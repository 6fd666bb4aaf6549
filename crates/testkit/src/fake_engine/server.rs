//! Listener threads of the fake engine: each has its own runtime and its own socket on the shared port.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::response::respond_to;
use super::state::State;

const BACKLOG: i32 = 4096;

/// The running threads; `stop` closes all their sockets.
pub(super) struct Threads {
    stop: watch::Sender<bool>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Listens on `address`, which has a fixed port.
    pub(super) fn start(address: SocketAddr, count: usize, state: &Arc<State>) -> anyhow::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let mut threads = Self { stop, handles: Vec::new() };
        for _ in 0..count.max(1) {
            let socket = bind(address)?;
            socket.listen(BACKLOG).context("listen")?;
            let listener = std::net::TcpListener::from(socket);
            let (state, stopped) = (Arc::clone(state), stopped.clone());
            let run = move || {
                if let Err(error) = serve_until(listener, &state, stopped) {
                    eprintln!("fake engine: {error:#}");
                }
            };
            let handle = std::thread::Builder::new().name("fake-engine".to_owned()).spawn(run)?;
            threads.handles.push(handle);
        }
        Ok(threads)
    }

    pub(super) fn stop(mut self) {
        // Fails only if the threads have already ended.
        let _ = self.stop.send(true);
        for handle in self.handles.drain(..) {
            let _ = handle.join();
        }
    }

    /// Blocks until the threads end.
    pub(super) fn join(mut self) {
        for handle in self.handles.drain(..) {
            let _ = handle.join();
        }
    }
}

/// A socket bound to the address, shared with our other sockets on the same port.
pub(super) fn bind(address: SocketAddr) -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::from(address)).with_context(|| format!("bind {address}"))?;
    Ok(socket)
}

fn serve_until(
    listener: std::net::TcpListener,
    state: &Arc<State>,
    mut stopped: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        tokio::select! {
            () = accept_all(&listener, state) => {}
            _ = stopped.wait_for(|stop| *stop) => {}
        }
        Ok(())
    })
}

async fn accept_all(listener: &TcpListener, state: &Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, Arc::clone(state)));
                }
                // Most likely out of file descriptors: wait until other connections close.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

fn serve_connection(stream: TcpStream, state: Arc<State>) -> impl Future<Output = ()> {
    // Counted as open from accept until the task ends.
    let counted = OpenConnection::new(Arc::clone(&state));
    async move {
        let _counted = counted;
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let close = Arc::new(Notify::new());
        let service = service_fn(|request| respond_to(Arc::clone(&state), Arc::clone(&close), request));
        let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        loop {
            tokio::select! {
                biased;
                // A client that disconnects is recorded by the call's guard, so the result is not needed.
                _ = connection.as_mut() => return,
                () = close.notified() => connection.as_mut().graceful_shutdown(),
            }
        }
    }
}

struct OpenConnection(Arc<State>);

impl OpenConnection {
    fn new(state: Arc<State>) -> Self {
        state.accepted.fetch_add(1, SeqCst);
        state.open.fetch_add(1, SeqCst);
        Self(state)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, SeqCst);
    }
}
