//! A raw connection, for requests that a well-behaved client would never send.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use testkit::http::connect;
use testkit::http::response_reader::{ResponseReader, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::app::{TIMEOUT, TestApp};

/// A server that sends nothing for this long is silent.
const SILENCE: Duration = Duration::from_millis(300);

pub(crate) struct Wire {
    stream: TcpStream,
    /// Received bytes after the last response.
    unread: Vec<u8>,
}

/// One response, unparsed.
pub(crate) struct WireResponse {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) status: u16,
}

impl WireResponse {
    pub(crate) fn status_line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(self.head.as_bytes(), name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// `status code` of an error in the envelope.
    pub(crate) fn error_line(&self) -> String {
        format!("{} {}", self.status, self.json()["error"]["code"].as_str().unwrap_or_default())
    }
}

impl Wire {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self { stream: connect(address).await, unread: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends as much as the server accepts before it closes.
    pub(crate) async fn send_until_closed(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// The next response, to its end or that of the connection.
    pub(crate) async fn response(&mut self) -> WireResponse {
        self.read(|_| false).await
    }

    /// The next response, which has a length but no body, as after HEAD.
    pub(crate) async fn response_without_body(&mut self) -> WireResponse {
        self.read(|reader| reader.status() != 0).await
    }

    async fn read(&mut self, enough: impl Fn(&ResponseReader) -> bool) -> WireResponse {
        let mut reader = ResponseReader::default();
        let mut body = Vec::new();
        loop {
            let fed = reader.feed(&self.unread, |part| body.extend_from_slice(part)).unwrap();
            self.unread.drain(..fed);
            if reader.is_done() || enough(&reader) {
                break;
            }
            if self.receive().await == 0 {
                assert!(reader.ends_with_connection(), "closed in the middle of {reader:?}");
                break;
            }
        }
        let head = String::from_utf8_lossy(reader.head()).into_owned();
        WireResponse { head, body, status: reader.status() }
    }

    async fn receive(&mut self) -> usize {
        let mut buffer = vec![0; 64 * 1024];
        let read = timeout(TIMEOUT, self.stream.read(&mut buffer)).await.expect("a response within the timeout");
        let count = read.unwrap_or(0);
        self.unread.extend_from_slice(&buffer[..count]);
        count
    }

    /// Waits for these bytes, which stay available for the next response.
    pub(crate) async fn wait_for(&mut self, expected: &str) {
        while !String::from_utf8_lossy(&self.unread).contains(expected) {
            assert_ne!(self.receive().await, 0, "closed before {expected}");
        }
    }

    /// Whether the server neither sends nor closes for a while.
    pub(crate) async fn is_silent(&mut self) -> bool {
        self.unread.is_empty() && timeout(SILENCE, self.receive()).await.is_err()
    }

    /// Waits until the server closes, for any time.
    pub(crate) async fn closed(&mut self) {
        let mut buffer = [0; 4_096];
        while self.stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    }

    /// Whether the server closes within the timeout.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.receive().await == 0
    }
}

/// `POST /v1/chat/completions` with the first key, additional header lines, and a body of known length.
pub(crate) fn post(app: &TestApp, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = format!("content-length: {}\r\n{headers}", body.len());
    [post_head(app, &length).as_bytes(), body].concat()
}

/// Only the head of such a request, with these header lines.
pub(crate) fn post_head(app: &TestApp, headers: &str) -> String {
    let key = &app.key;
    format!("POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {key}\r\n{headers}\r\n")
}

/// `GET` of a path with the first key.
pub(crate) fn get(app: &TestApp, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n\r\n", app.key)
}
