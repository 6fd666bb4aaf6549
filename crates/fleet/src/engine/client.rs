//! Small HTTP requests to an engine, each on its own connection and bounded in time and size.

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use std::future::{Future as _, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::net::TcpStream;

/// Metrics of an engine with many histograms take a few hundred KiB.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

pub(super) struct EngineResponse {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

pub(super) async fn get(engine: SocketAddr, path: &str, timeout: Duration) -> Result<EngineResponse, String> {
    send(engine, Method::GET, path, Bytes::new(), timeout).await
}

pub(super) async fn post(
    engine: SocketAddr,
    path: &str,
    body: &serde_json::Value,
    timeout: Duration,
) -> Result<EngineResponse, String> {
    send(engine, Method::POST, path, body.to_string().into(), timeout).await
}

async fn send(
    engine: SocketAddr,
    method: Method,
    path: &str,
    body: Bytes,
    timeout: Duration,
) -> Result<EngineResponse, String> {
    let request = format!("{method} {path}");
    let response = tokio::time::timeout(timeout, exchange(engine, method, path, body)).await;
    response
        .unwrap_or_else(|_| Err(format!("no response within {timeout:?}")))
        .map_err(|error| format!("{request}: {error}"))
}

async fn exchange(engine: SocketAddr, method: Method, path: &str, body: Bytes) -> Result<EngineResponse, String> {
    let stream = TcpStream::connect(engine).await.map_err(|error| error.to_string())?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, engine.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    let response = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
        Ok(EngineResponse { status, body: body.map_err(|error| error.to_string())?.to_bytes() })
    };
    // The engine may close right after its response, so keep polling the response after the connection has ended.
    let (mut response, mut connection) = (pin!(response), pin!(connection));
    let mut closed = false;
    poll_fn(|cx| {
        closed = closed || connection.as_mut().poll(cx).is_ready();
        response.as_mut().poll(cx)
    })
    .await
}
