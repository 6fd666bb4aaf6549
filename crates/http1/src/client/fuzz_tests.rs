//! Fuzz target for whole responses: this client against hyper's, and against itself with the response in pieces.

use super::send_once;
use crate::fuzz_tests::WORDS;
use crate::response_head::MAX_HEADERS;
use bytes::Bytes;
use fuzz::Fuzz;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;

/// Status and body of a response that was read to its end.
type Complete = Option<(u16, Vec<u8>)>;

fn request() -> Request<Bytes> {
    Request::get("/").header("host", "h").body(Bytes::new()).expect("the request is valid")
}

/// Sends the pieces once a request has arrived, and closes.
async fn respond(mut stream: DuplexStream, pieces: Vec<Vec<u8>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request arrives"));
    }
    for piece in pieces {
        if stream.write_all(&piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    let _ = stream.shutdown().await;
}

fn start_server(pieces: &[&[u8]]) -> (DuplexStream, JoinSet<()>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let mut server = JoinSet::new();
    server.spawn(respond(theirs, pieces.iter().map(|piece| piece.to_vec()).collect()));
    (ours, server)
}

async fn with_ours(pieces: &[&[u8]]) -> Complete {
    let (stream, _server) = start_server(pieces);
    let mut response = send_once(stream, &request()).await.ok()?;
    let body = response.body(1 << 20).await.ok()?;
    Some((response.status.as_u16(), body.to_vec()))
}

async fn with_hyper(bytes: &[u8]) -> Complete {
    let (stream, mut tasks) = start_server(&[bytes]);
    // As many headers as here; hyper's default is fewer.
    let mut client = hyper::client::conn::http1::Builder::new();
    let (mut sender, connection) = client.max_headers(MAX_HEADERS).handshake(TokioIo::new(stream)).await.ok()?;
    tasks.spawn(async move {
        let _ = connection.await;
    });
    let response = sender.send_request(request().map(Full::new)).await.ok()?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.ok()?;
    Some((status, body.to_bytes().to_vec()))
}

#[test]
fn responses() {
    Fuzz::new("http1-response-head").words(WORDS).run(|bytes| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let ours = with_ours(&[bytes]).await;
            assert_eq!(with_ours(&fuzz::pieces(bytes)).await, ours, "in pieces");
            // hyper rejects chunks in HTTP/1.0; here they are read, and the connection is not used again.
            if ours.is_some() && !bytes.windows(8).any(|part| part == b"HTTP/1.0") {
                assert_eq!(with_hyper(bytes).await, ours, "with hyper");
            }
        });
    });
}
