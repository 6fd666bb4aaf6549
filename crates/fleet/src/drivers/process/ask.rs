//! Small calls to an engine, each on a connection of its own and bounded in time and size.

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use std::future::{Future as _, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::net::TcpStream;

/// Metrics of an engine with many histograms take some hundred KiB.
const LARGEST_ANSWER: usize = 8 << 20;

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

pub(super) async fn get(engine: SocketAddr, path: &str, patience: Duration) -> Result<Answer, String> {
    ask(engine, Method::GET, path, Bytes::new(), patience).await
}

pub(super) async fn post(
    engine: SocketAddr,
    path: &str,
    body: &serde_json::Value,
    patience: Duration,
) -> Result<Answer, String> {
    ask(engine, Method::POST, path, body.to_string().into(), patience).await
}

async fn ask(
    engine: SocketAddr,
    method: Method,
    path: &str,
    body: Bytes,
    patience: Duration,
) -> Result<Answer, String> {
    let asked = format!("{method} {path}");
    let answer = tokio::time::timeout(patience, exchange(engine, method, path, body)).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {patience:?}"))).map_err(|why| format!("{asked}: {why}"))
}

async fn exchange(engine: SocketAddr, method: Method, path: &str, body: Bytes) -> Result<Answer, String> {
    let stream = TcpStream::connect(engine).await.map_err(|error| error.to_string())?;
    let shake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shake.map_err(|error| error.to_string())?;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, engine.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    let answer = async {
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await;
        Ok(Answer { status, body: body.map_err(|error| error.to_string())?.to_bytes() })
    };
    // An engine may close as soon as it has answered, so the answer is looked at also when the connection has ended.
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    let mut closed = false;
    poll_fn(|cx| {
        closed = closed || connection.as_mut().poll(cx).is_ready();
        answer.as_mut().poll(cx)
    })
    .await
}
