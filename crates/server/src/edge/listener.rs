//! Listening sockets: one per core on the same port, among which the kernel distributes connections.

use anyhow::Context;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::net::TcpStream;

const BACKLOG: i32 = 4096;
/// A client that acknowledges nothing for this long is gone: a network that disappears sends no reset.
const USER_TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes that the kernel keeps for a client beyond those it can send: what a client does not read takes memory.
const MAX_UNSENT: u32 = 128 << 10;

/// Binds `count` sockets to one address. Port 0 selects any free port, the same for all.
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

/// Configures an accepted connection: events are sent without delay, and a vanished client is detected.
pub(super) fn configure(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    socket.set_tcp_notsent_lowat(MAX_UNSENT)
}

/// Whether another process listens on the address. Since ports are shared, a second server would silently take half of
/// the connections.
pub(crate) fn is_taken(address: SocketAddr) -> bool {
    address.port() != 0 && check(address).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}

/// Checks that this process could listen on the address alone.
pub(crate) fn check(address: SocketAddr) -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())
}
