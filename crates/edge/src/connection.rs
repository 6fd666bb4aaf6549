//! One connection, over HTTP/1.1 or HTTP/2.

use crate::http2_stream::{StreamBody, StreamExecutor};
use crate::limits::ConnectionLimits;
use crate::listener;
use crate::panic_guard::PanicGuard;
use crate::peers::CountedConnection;
use crate::{EdgeResponse, Incoming, RequestHead, Service};
use http::Request;
use http1::server::{Cutoff, HeadBudget, Limits};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an HTTP/2 client may be silent before it is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(100);
/// Streams of one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;
const MAX_HTTP2_HEADERS: u32 = 64 << 10;
/// Bytes of request bodies that a client may send before they are read: of one stream, and of all.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 512 << 10;
/// Bytes of a response that wait in the connection.
const STREAM_SEND_BUFFER: usize = 64 << 10;

/// A connected client, and the service for its requests.
pub(crate) struct Peer<V> {
    pub(crate) address: IpAddr,
    pub(crate) service: Arc<V>,
    /// Memory for the incomplete heads of this core.
    pub(crate) heads: Arc<HeadBudget>,
    pub(crate) limits: ConnectionLimits,
    pub(crate) _counted: CountedConnection,
}

/// The connection to a client, plain or with TLS.
trait ClientStream: AsyncRead + AsyncWrite + Unpin {
    /// Closing resets the connection. Else the kernel keeps what the client has not taken, for minutes.
    fn reset_on_close(&self);
}

impl ClientStream for TcpStream {
    fn reset_on_close(&self) {
        listener::reset_on_close(self);
    }
}

impl ClientStream for TlsStream<TcpStream> {
    fn reset_on_close(&self) {
        self.get_ref().0.reset_on_close();
    }
}

/// Serves a connection until it ends, or until `stop` turns true and its last response is written.
pub(crate) async fn serve<V: Service>(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    peer: Peer<V>,
    stop: watch::Receiver<bool>,
) {
    match tls {
        None => serve_http1(stream, peer, stop).await,
        // Boxed, so that the many connections without TLS do not need memory for it.
        Some(tls) => Box::pin(serve_tls(stream, tls, peer, stop)).await,
    }
}

async fn serve_tls<V: Service>(stream: TcpStream, tls: TlsAcceptor, peer: Peer<V>, stop: watch::Receiver<bool>) {
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await else { return };
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        return serve_http2(stream, peer, stop).await;
    }
    serve_http1(stream, peer, stop).await;
}

async fn serve_http1<S: ClientStream, V: Service>(mut stream: S, peer: Peer<V>, stop: watch::Receiver<bool>) {
    let ConnectionLimits { stall_timeout: stall, call_timeout: call, figures, .. } = &peer.limits;
    let limits = Limits { stall: *stall, call: *call, ..Limits::new(Arc::clone(&peer.heads)) };
    let handler = |head, body| respond(&peer, head, Incoming::Http1(body));
    let reject = |error| peer.service.reject_head(error, peer.address);
    let Some(cutoff) = http1::server::serve(&mut stream, limits, stop, handler, reject).await else { return };
    figures.count(cutoff);
    match cutoff {
        Cutoff::Stalled | Cutoff::NoMemory => stream.reset_on_close(),
        Cutoff::TimedOut => {}
    }
}

async fn serve_http2<S: ClientStream, V: Service>(mut stream: S, peer: Peer<V>, stop: watch::Receiver<bool>) {
    if let Err(error) = serve_streams(&mut stream, peer, stop).await
        && error.is_timeout()
    {
        stream.reset_on_close();
    }
}

/// Fails with a timeout if the client does not respond to a ping.
async fn serve_streams<S: ClientStream, V: Service>(
    stream: &mut S,
    peer: Peer<V>,
    mut stop: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let executor = StreamExecutor { limits: peer.limits.clone() };
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (parts, body) = request.into_parts();
        let response = respond(&peer, parts.into(), Incoming::Http2(body));
        async {
            let (response, backlog) = response.await.into_response();
            Ok::<_, Infallible>(response.map(|body| StreamBody::new(body, backlog)))
        }
    });
    let mut connection = pin!(
        http2::Builder::new(executor)
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(STREAM_SEND_BUFFER)
            .max_header_list_size(MAX_HTTP2_HEADERS)
            .keep_alive_interval(PING_INTERVAL)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

fn respond<V: Service>(
    peer: &Peer<V>,
    head: RequestHead,
    body: Incoming,
) -> impl Future<Output = EdgeResponse<V::Relayed>> + Send + use<V> {
    let (service, envelope) = (Arc::clone(&peer.service), V::envelope(&head));
    let on_panic = move || {
        tracing::error!("a handler panicked");
        service.panicked(envelope)
    };
    PanicGuard { handler: Arc::clone(&peer.service).respond(head, body, peer.address), on_panic }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::PeerTable;
    use bytes::Bytes;
    use domain::{RequestId, Timestamp};
    use http::{Response, StatusCode};
    use http_body_util::Empty;
    use http1::RequestHeadError;
    use hyper_util::rt::TokioExecutor;
    use std::future::poll_fn;
    use std::io;
    use std::net::Ipv4Addr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;
    use tokio::task::JoinSet;

    impl ClientStream for DuplexStream {
        fn reset_on_close(&self) {}
    }

    type Relayed = Empty<Bytes>;
    type Body = crate::Body<Relayed>;
    type Pieces = mpsc::Sender<io::Result<Bytes>>;

    /// Responds with whatever the test sends.
    struct TestService {
        responses: mpsc::Sender<Pieces>,
    }

    impl Service for TestService {
        type Relayed = Relayed;

        async fn respond(self: Arc<Self>, _: RequestHead, _: Incoming, _: IpAddr) -> EdgeResponse<Relayed> {
            let (sender, receiver) = mpsc::channel(1);
            self.responses.send(sender).await.unwrap();
            Response::new(Body::Pieces(receiver)).into()
        }

        fn reject_head(&self, _: RequestHeadError, _: IpAddr) -> EdgeResponse<Relayed> {
            self.panicked(())
        }

        type Envelope = ();

        fn envelope(_: &RequestHead) {}

        fn panicked(&self, (): ()) -> EdgeResponse<Relayed> {
            Response::new(Body::empty()).into()
        }

        fn sweep(&self) {}

        fn cut_streams(&self) {}
    }

    fn limits(stall_timeout: Duration) -> ConnectionLimits {
        ConnectionLimits {
            stall_timeout,
            call_timeout: Duration::from_secs(3_600),
            peers: Arc::new(PeerTable::new(None, Vec::new())),
            figures: Arc::default(),
        }
    }

    fn peer(limits: ConnectionLimits, responses: mpsc::Sender<Pieces>) -> Peer<TestService> {
        peer_of(limits, TestService { responses })
    }

    fn peer_of<V>(limits: ConnectionLimits, service: V) -> Peer<V> {
        let (address, heads) = (IpAddr::from(Ipv4Addr::LOCALHOST), Arc::new(HeadBudget::new(0)));
        let _counted = limits.peers.admit(address).unwrap();
        Peer { address, service: Arc::new(service), heads, limits, _counted }
    }

    /// Panics at `/bug`. The envelope is the path of a request.
    struct BuggyService;

    impl Service for BuggyService {
        type Relayed = Relayed;

        async fn respond(self: Arc<Self>, head: RequestHead, _: Incoming, _: IpAddr) -> EdgeResponse<Relayed> {
            assert_ne!(head.uri.path(), "/bug", "the bug of a handler");
            Response::new(Body::from("served")).into()
        }

        fn reject_head(&self, _: RequestHeadError, _: IpAddr) -> EdgeResponse<Relayed> {
            self.panicked("unreadable")
        }

        type Envelope = &'static str;

        fn envelope(head: &RequestHead) -> &'static str {
            if head.uri.path() == "/bug" { "envelope of /bug" } else { "another envelope" }
        }

        fn panicked(&self, envelope: &'static str) -> EdgeResponse<Relayed> {
            let mut response = Response::new(Body::from(envelope));
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            EdgeResponse { request_id: Some(RequestId::new(Timestamp::from_millis(0), 1)), ..response.into() }
        }

        fn sweep(&self) {}

        fn cut_streams(&self) {}
    }

    /// What the client receives until it ends with `end`.
    async fn read_until(stream: &mut DuplexStream, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let read = stream.read_buf(&mut text).await.unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&text));
        }
        String::from_utf8(text).unwrap()
    }

    /// SPEC 7.2: the envelope is on every 5xx, with `x-request-id`.
    #[tokio::test]
    async fn a_panic_of_a_handler_is_a_response_in_its_envelope_and_concerns_no_other_request() {
        let (mut ours, theirs) = tokio::io::duplex(1 << 16);
        let (_stop, stopping) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_http1(theirs, peer_of(limits(Duration::from_secs(10)), BuggyService), stopping));
        ours.write_all(b"GET /bug HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let response = read_until(&mut ours, "\r\n\r\nenvelope of /bug").await;
        assert!(response.starts_with("HTTP/1.1 500 ") && response.contains("\r\nx-request-id: req_"), "{response}");
        ours.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let response = read_until(&mut ours, "\r\n\r\nserved").await;
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    }

    #[tokio::test]
    async fn the_connection_of_a_client_that_stalled_is_reset_so_that_the_kernel_keeps_nothing() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let (responses, mut opened) = mpsc::channel(1);
        let (_stop, stopping) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_http1(stream, peer(limits(Duration::from_millis(100)), responses), stopping));
        client.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let stalled = opened.recv().await.unwrap();
        while stalled.send(Ok(Bytes::from_static(&[b'x'; 4_096]))).await.is_ok() {}
        tasks.join_all().await;
        let error = client.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn an_http2_client_that_does_not_read_a_stream_loses_that_stream_only() {
        let (responses, mut opened) = mpsc::channel(1);
        let limits = limits(Duration::from_millis(100));
        let figures = Arc::clone(&limits.figures);
        let peer = peer(limits, responses);
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (_stop, stopping) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_http2(theirs, peer, stopping));
        let mut client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let client = client.initial_stream_window_size(1_u32 << 14).handshake::<_, Body>(TokioIo::new(ours));
        let (mut client, connection) = client.await.unwrap();
        tasks.spawn(async move {
            let _ = connection.await;
        });
        let request = || Request::get("http://test/").body(Body::empty()).unwrap();

        let _unread = client.send_request(request()).await.unwrap();
        let stalled = opened.recv().await.unwrap();
        while stalled.send(Ok(Bytes::from_static(&[b'x'; 4_096]))).await.is_ok() {}
        assert_eq!(figures.cut_off(), [("stalled", 1), ("no_memory", 0), ("timed_out", 0)]);

        let mut response = client.send_request(request()).await.unwrap().into_body();
        let served = opened.recv().await.unwrap();
        served.send(Ok(Bytes::from_static(b"still served"))).await.unwrap();
        drop(served);
        let frame = poll_fn(|cx| hyper::body::Body::poll_frame(std::pin::Pin::new(&mut response), cx)).await;
        assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "still served");
    }
}
