//! Listening sockets: one per core on the same port, among which the kernel distributes connections.

use anyhow::Context;
use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::net::TcpStream;

const BACKLOG: i32 = 4096;
/// A client that acknowledges nothing for this long is gone: a network that disappears sends no reset.
const USER_TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes that the kernel keeps for a client of what it has sent and may have to send again. It also bounds the throughput of
/// a connection: a client at 100 ms gets 2.5 MB per second. Without it, a client that stops acknowledging keeps up to 4 MiB.
const MAX_IN_FLIGHT: usize = 256 << 10;

/// Bytes that the kernel keeps for a client beyond those it can send: what a client does not read takes memory, and the
/// memory limit of a control group of version 2 includes it.
const MAX_UNSENT: u32 = 32 << 10;

/// Binds `count` sockets to one address. Port 0 selects any free port, the same for all.
pub fn bind(address: SocketAddr, count: usize) -> anyhow::Result<Vec<TcpListener>> {
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
    // Accepted connections inherit it.
    socket.set_send_buffer_size(MAX_IN_FLIGHT)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Configures an accepted connection: events are sent without delay, and a vanished client is detected.
pub(crate) fn configure(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    socket.set_tcp_notsent_lowat(MAX_UNSENT)
}

/// Closing the connection resets it, so that the kernel keeps nothing of it.
pub(crate) fn reset_on_close(stream: &TcpStream) {
    // Fails only if the connection has ended.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Makes the kernel ignore new handshakes on a listening socket; those that have begun go on, and so do connections.
///
/// A client whose first packet is ignored sends it again after a second, and is refused if the socket is closed by then.
/// The program reads the byte with TCP's flags and drops the packet if SYN is set without ACK.
pub(crate) fn stop_handshakes(listener: &tokio::net::TcpListener) -> std::io::Result<()> {
    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const SKIP_UNLESS_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const FLAGS_OFFSET: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    SockRef::from(listener).attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS_OFFSET),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(SKIP_UNLESS_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
}

/// Whether another process listens on the address. Since ports are shared, a second server would silently take half of
/// the connections.
pub fn is_taken(address: SocketAddr) -> bool {
    address.port() != 0 && check(address).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}

/// Checks that this process could listen on the address alone.
pub fn check(address: SocketAddr) -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    #[tokio::test]
    async fn accepted_connections_have_a_bounded_send_buffer() {
        let listener = bind((std::net::Ipv4Addr::LOCALHOST, 0).into(), 1).unwrap().remove(0);
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        // The kernel doubles it, for its own structures.
        assert!(SockRef::from(&accepted).send_buffer_size().unwrap() <= 2 * MAX_IN_FLIGHT);
    }

    #[tokio::test]
    async fn after_handshakes_were_stopped_established_connections_go_on() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bound = listener.local_addr().unwrap();
        let mut early = TcpStream::connect(bound).await.unwrap();
        stop_handshakes(&listener).unwrap();
        assert!(timeout(Duration::from_millis(200), TcpStream::connect(bound)).await.is_err());
        let (mut accepted, _) = listener.accept().await.unwrap();
        accepted.write_all(b"hi").await.unwrap();
        early.write_all(b"ho").await.unwrap();
        let mut received = [0; 4];
        early.read_exact(&mut received[..2]).await.unwrap();
        accepted.read_exact(&mut received[2..]).await.unwrap();
        assert_eq!(&received, b"hiho");
    }
}
