//! A plain TCP balancer: distributes connections round-robin and skips backends that refuse.
//!
//! It can be cut: then it closes every connection and accepts no new ones, as if its cable were pulled.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A balancer that runs until it is dropped.
pub struct Balancer {
    pub address: SocketAddr,
    backends: Arc<Mutex<Vec<SocketAddr>>>,
    connected: Arc<watch::Sender<bool>>,
    _loop: JoinSet<()>,
}

impl Balancer {
    /// Listens on a free port of the loopback interface.
    pub async fn start(backends: Vec<SocketAddr>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (backends, connected) = (Arc::new(Mutex::new(backends)), Arc::new(watch::Sender::new(true)));
        let mut balancing = JoinSet::new();
        balancing.spawn(balance(listener, Arc::clone(&backends), Arc::clone(&connected)));
        Ok(Self { address, backends, connected, _loop: balancing })
    }

    /// Sets the backends of new connections.
    pub fn set_backends(&self, backends: Vec<SocketAddr>) {
        *self.backends.lock().unwrap_or_else(PoisonError::into_inner) = backends;
    }

    /// Closes every connection and rejects new ones.
    pub fn cut(&self) {
        self.connected.send_replace(false);
    }

    /// Accepts connections again after a cut.
    pub fn restore(&self) {
        self.connected.send_replace(true);
    }
}

async fn balance(listener: TcpListener, backends: Arc<Mutex<Vec<SocketAddr>>>, connected: Arc<watch::Sender<bool>>) {
    let turn = Arc::new(AtomicUsize::new(0));
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (backends, turn, mut state) = (Arc::clone(&backends), Arc::clone(&turn), connected.subscribe());
        connections.spawn(async move {
            if !*state.borrow_and_update() {
                return;
            }
            let known = backends.lock().unwrap_or_else(PoisonError::into_inner).clone();
            tokio::select! {
                () = forward(client, &known, turn.fetch_add(1, Ordering::Relaxed)) => {}
                _ = state.wait_for(|connected| !connected) => {}
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn forward(mut client: TcpStream, backends: &[SocketAddr], first: usize) {
    for step in 0..backends.len() {
        let backend = backends[(first + step) % backends.len()];
        if let Ok(mut server) = TcpStream::connect(backend).await {
            let _ = client.set_nodelay(true);
            let _ = server.set_nodelay(true);
            let _ = copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// A server that sends its name on connect and then waits for the client to close.
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    async fn named(name: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.write_all(name.as_bytes()).await.unwrap();
                tokio::spawn(async move { stream.read(&mut [0]).await });
            }
        });
        address
    }

    async fn connect(balancer: &Balancer) -> (String, TcpStream) {
        let mut stream = TcpStream::connect(balancer.address).await.unwrap();
        let mut name = [0; 1];
        let length = stream.read(&mut name).await.unwrap_or(0);
        (String::from_utf8(name[..length].to_vec()).unwrap(), stream)
    }

    #[tokio::test]
    async fn connections_are_round_robin_and_skip_refusing_backends() {
        let refusing = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let balancer = Balancer::start(vec![named("a").await, refusing, named("b").await]).await.unwrap();
        let mut names = Vec::new();
        for _ in 0..3 {
            names.push(connect(&balancer).await.0);
        }
        assert_eq!(names, ["a", "b", "b"]);
    }

    #[tokio::test]
    async fn a_cut_closes_connections_until_restored() {
        let balancer = Balancer::start(vec![named("a").await]).await.unwrap();
        let (name, mut open) = connect(&balancer).await;
        assert_eq!(name, "a");
        balancer.cut();
        assert_eq!(open.read(&mut [0]).await.unwrap_or(0), 0);
        assert_eq!(connect(&balancer).await.0, "");
        balancer.restore();
        assert_eq!(connect(&balancer).await.0, "a");
    }
}
