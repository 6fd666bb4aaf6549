//! One connection, from its first byte to its last.

use super::body::Body;
use super::guard::Guarded;
use super::self_wake::SelfWake;
use crate::surface::{Surface, openai};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// What is read at a time. Headers have a bound of their own, far below this.
const MAX_READ: usize = 256 << 10;
/// How long the next request may take to arrive; longer than any client keeps an idle connection.
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
    let service = service_fn(move |request| answer(visitor.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(MAX_READ)
        .writev(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut wake = SelfWake::default();
    let poll = |connection: Pin<&mut _>, cx: &mut Context<'_>| wake.poll(connection, cx);
    run(pin!(connection), poll, stop, |connection| connection.graceful_shutdown()).await;
}

async fn serve_http2<S>(stream: S, visitor: Visitor, stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| answer(visitor.clone(), request));
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HTTP2_HEADERS)
        .keep_alive_interval(IDLE)
        .serve_connection(TokioIo::new(stream), service);
    run(pin!(connection), Future::poll, stop, |connection| connection.graceful_shutdown()).await;
}

/// Runs a connection to its end. When it is to stop, `shut` lets it finish what it has begun.
async fn run<C: Future>(
    mut connection: Pin<&mut C>,
    mut poll: impl FnMut(Pin<&mut C>, &mut Context<'_>) -> Poll<C::Output>,
    mut stop: watch::Receiver<bool>,
    shut: impl FnOnce(Pin<&mut C>),
) {
    let news = stop.clone();
    let mut told = pin!(stop.wait_for(|stop| *stop));
    let mut listens = false;
    let stopped = poll_fn(|cx| {
        if poll(connection.as_mut(), cx).is_ready() {
            return Poll::Ready(false);
        }
        // Once it listens, it is woken when there is something to hear.
        if listens && !news.has_changed().unwrap_or(true) {
            return Poll::Pending;
        }
        listens = true;
        told.as_mut().poll(cx).map(|_| true)
    });
    if stopped.await {
        shut(connection.as_mut());
        let _ = connection.await;
    }
}

/// A panic is answered like any other failure of ours.
fn answer(
    visitor: Visitor,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send {
    let answered = Guarded(Box::pin(visitor.surface.answer(request, visitor.peer)));
    async move {
        Ok(answered.await.unwrap_or_else(|| {
            tracing::error!("a handler panicked");
            openai::error::internal()
        }))
    }
}
