//! Listening sockets: one per core on the same port, and the kernel spreads connections over them.

use anyhow::Context;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::net::TcpStream;

const BACKLOG: i32 = 4096;
/// A client that takes nothing and says nothing for so long is gone: there is no reset when a network disappears.
const SILENCE: Duration = Duration::from_secs(120);

/// Binds `count` sockets to one address; port 0 means any, the same for all.
pub(crate) fn bind(address: SocketAddr, count: usize) -> anyhow::Result<Vec<TcpListener>> {
    let first = bind_one(address).with_context(|| format!("cannot listen on {address}"))?;
    let bound = first.local_addr()?;
    let mut listeners = vec![first];
    for _ in 1..count {
        listeners.push(bind_one(bound).with_context(|| format!("cannot listen on {bound}"))?);
    }
    Ok(listeners)
}

fn bind_one(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// What every connection gets: events leave at once, and a vanished client is noticed.
pub(crate) fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_user_timeout(Some(SILENCE))
}

/// Whether somebody listens there already: with shared ports a second server would get half of its connections.
pub(crate) fn is_taken(address: SocketAddr) -> bool {
    address.port() != 0 && check(address).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}

/// Whether one could listen there alone.
pub(crate) fn check(address: SocketAddr) -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())
}
