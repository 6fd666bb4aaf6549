//! One connection, from its first byte to its last.

use super::answered::Answered;
use super::guard::Guarded;
use super::headers::Head;
use super::http1;
use super::incoming::Incoming;
use crate::surface::{Surface, openai};
use http::Request;
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

/// How long a client with HTTP/2 may be silent before it is asked whether it is there.
const IDLE: Duration = Duration::from_secs(100);
const HANDSHAKE: Duration = Duration::from_secs(10);
const MAX_STREAMS: u32 = 1024;
const MAX_HTTP2_HEADERS: u32 = 64 << 10;

/// Who has connected, and what they find.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub peer: IpAddr,
    pub surface: Arc<Surface>,
}

/// Serves a connection until it ends, or until `stop` says so and its last answer is out.
pub(crate) async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>, visitor: Visitor, stop: watch::Receiver<bool>) {
    match tls {
        None => serve_http1(stream, visitor, stop).await,
        // In a box of its own: connections without it are many, and should not have to be large enough for it.
        Some(tls) => Box::pin(serve_tls(stream, tls, visitor, stop)).await,
    }
}

async fn serve_tls(stream: TcpStream, tls: TlsAcceptor, visitor: Visitor, stop: watch::Receiver<bool>) {
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await else { return };
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        return serve_http2(stream, visitor, stop).await;
    }
    serve_http1(stream, visitor, stop).await;
}

async fn serve_http1<S>(stream: S, visitor: Visitor, stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    http1::serve(stream, http1::IDLE, stop, move |head, body| answer(&visitor, head, body)).await;
}

async fn serve_http2<S>(stream: S, visitor: Visitor, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (parts, body) = request.into_parts();
        let answered = answer(&visitor, parts.into(), Incoming::Http2(body));
        async { Ok::<_, Infallible>(answered.await.into_response()) }
    });
    let mut connection = pin!(
        http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HTTP2_HEADERS)
            .keep_alive_interval(IDLE)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A panic is answered like any other failure of ours.
fn answer(visitor: &Visitor, head: Head, body: Incoming) -> impl Future<Output = Answered> + Send + use<> {
    let surface = Arc::clone(&visitor.surface);
    let instead = || {
        tracing::error!("a handler panicked");
        openai::error::internal().into()
    };
    Guarded { handler: surface.answer(head, body, visitor.peer), instead }
}
