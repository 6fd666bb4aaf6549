//! One connection, over HTTP/1.1 or HTTP/2.

use super::panic_guard::PanicGuard;
use super::{EdgeResponse, Incoming, RequestHead, Service};
use http::Request;
use http1::server::{HeadBudget, Limits};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
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

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an HTTP/2 client may be silent before it is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(100);
const MAX_STREAMS: u32 = 1024;
const MAX_HTTP2_HEADERS: u32 = 64 << 10;

/// A connected client, and the service for its requests.
pub(super) struct Peer<V> {
    pub(super) address: IpAddr,
    pub(super) service: Arc<V>,
    /// Memory for the incomplete heads of this core.
    pub(super) heads: Arc<HeadBudget>,
}

/// Serves a connection until it ends, or until `stop` turns true and its last response is written.
pub(super) async fn serve<V: Service>(
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

async fn serve_http1<S, V>(stream: S, peer: Peer<V>, stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    V: Service,
{
    let limits = Limits::new(Arc::clone(&peer.heads));
    let handler = |head, body| respond(&peer, head, Incoming::Http1(body));
    let reject = |error| peer.service.reject_head(error, peer.address);
    http1::server::serve(stream, limits, stop, handler, reject).await;
}

async fn serve_http2<S, V>(stream: S, peer: Peer<V>, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    V: Service,
{
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (parts, body) = request.into_parts();
        let response = respond(&peer, parts.into(), Incoming::Http2(body));
        async { Ok::<_, Infallible>(response.await.into_response()) }
    });
    let mut connection = pin!(
        http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HTTP2_HEADERS)
            .keep_alive_interval(PING_INTERVAL)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

fn respond<V: Service>(
    peer: &Peer<V>,
    head: RequestHead,
    body: Incoming,
) -> impl Future<Output = EdgeResponse> + Send + use<V> {
    let service = Arc::clone(&peer.service);
    let on_panic = || {
        tracing::error!("a handler panicked");
        V::panicked()
    };
    PanicGuard { handler: service.respond(head, body, peer.address), on_panic }
}
