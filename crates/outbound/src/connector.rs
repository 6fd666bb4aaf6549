//! Connections to other services, plain or with TLS.

use crate::address::Address;
use crate::proxy::{Proxy, open_tunnel};
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// TCP keepalive detects machines that lost power: idle time before the first probe, and time between probes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// A connection without acknowledgements for this long is dropped. This does not limit how long an engine may take, since
/// its kernel acknowledges.
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether a connection failed because this machine lacks descriptors, memory or ports.
pub fn is_local_failure(error: &io::Error) -> bool {
    const ENOMEM: i32 = 12;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const EADDRNOTAVAIL: i32 = 99;
    const ENOBUFS: i32 = 105;
    error.raw_os_error().is_some_and(|code| [ENOMEM, ENFILE, EMFILE, EADDRNOTAVAIL, ENOBUFS].contains(&code))
}

/// Opens connections. The system's certificates are read for the first TLS connection.
#[derive(Clone, Default)]
pub struct Connector {
    tls: Arc<OnceLock<TlsConnector>>,
}

impl Connector {
    pub async fn connect(&self, address: &Address) -> io::Result<Stream> {
        let connected = async {
            match &address.socket {
                Some(socket) => Ok(Stream::Left(Either::Right(UnixStream::connect(socket).await?))),
                None => self.secure(open(address).await?, address).await,
            }
        };
        in_time(connected).await
    }

    /// Connects to `address` through a proxy.
    pub async fn connect_through(&self, proxy: &Proxy, address: &Address) -> io::Result<Stream> {
        let connected = async {
            let mut tcp = open(&proxy.address).await?;
            open_tunnel(&mut tcp, proxy, address).await?;
            self.secure(tcp, address).await
        };
        in_time(connected).await
    }

    /// Adds TLS if the address asks for it.
    async fn secure(&self, tcp: TcpStream, address: &Address) -> io::Result<Stream> {
        if !address.tls {
            return Ok(Stream::Left(Either::Left(tcp)));
        }
        let name = ServerName::try_from(address.host.clone()).map_err(io::Error::other)?;
        let connector = self.tls.get_or_init(tls_connector).clone();
        Ok(Stream::Right(Box::new(connector.connect(name, tcp).await?)))
    }
}

async fn in_time(connected: impl Future<Output = io::Result<Stream>>) -> io::Result<Stream> {
    tokio::time::timeout(CONNECT_TIMEOUT, connected)
        .await
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the connection attempt timed out")))
}

async fn open(address: &Address) -> io::Result<TcpStream> {
    let tcp = TcpStream::connect((address.host.as_str(), address.port)).await?;
    tcp.set_nodelay(true)?;
    set_keepalive(&tcp)?;
    Ok(tcp)
}

fn set_keepalive(tcp: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(tcp);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL))?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))
}

fn tls_connector() -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some system certificates could not be read");
    }
    let (added, ignored) = roots.add_parsable_certificates(found.certs);
    tracing::debug!(added, ignored, "trusted certificates for upstreams");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A connection to an upstream: plain, to a socket of this machine, or with TLS.
pub type Stream = Either<Either<TcpStream, UnixStream>, Box<TlsStream<TcpStream>>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_to_a_machine_without_power_times_out() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = Address::parse(&format!("http://127.0.0.1:{port}/v1")).unwrap();
        let Stream::Left(Either::Left(tcp)) = Connector::default().connect(&address).await.unwrap() else { panic!() };
        let socket = SockRef::from(&tcp);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE_IDLE);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), KEEPALIVE_INTERVAL);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(USER_TIMEOUT));
    }

    #[tokio::test]
    async fn a_socket_of_this_machine_is_connected() {
        let path = std::env::temp_dir().join(format!("forebay-outbound-{}.sock", std::process::id()));
        let _listener = tokio::net::UnixListener::bind(&path).unwrap();
        let address = Address::parse(&format!("unix:{}:1/v1", path.display())).unwrap();
        let connected = Connector::default().connect(&address).await;
        std::fs::remove_file(path).unwrap();
        assert!(matches!(connected.unwrap(), Stream::Left(Either::Right(_))));
    }
}
