//! Sends raw bytes and shows the response byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::response_reader::{self, ResponseReader};

/// An incomplete response is returned after this time.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The bytes of a response, and whether the server closed the connection.
#[derive(Debug, Clone)]
pub struct RawResponse {
    pub bytes: Vec<u8>,
    /// The payload without chunk framing.
    pub payload: Vec<u8>,
    /// The response ended as announced by its head.
    pub complete: bool,
    /// The server closed (or reset) the connection while we read.
    pub closed: bool,
    pub status: u16,
    head_length: usize,
}

impl RawResponse {
    /// Status line and headers with their blank line.
    pub fn head(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..self.head_length]).into_owned()
    }

    /// The first line: `HTTP/1.1 200 OK`.
    pub fn status_line(&self) -> String {
        self.head().lines().next().unwrap_or_default().to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        response_reader::header(&self.bytes[..self.head_length], name)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.payload).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.payload).unwrap_or(serde_json::Value::Null)
    }
}

/// Connects with `TCP_NODELAY`.
pub async fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.unwrap_or_else(|error| panic!("connect to {address}: {error}"));
    stream.set_nodelay(true).expect("a fresh socket takes TCP_NODELAY");
    stream
}

/// Sends the bytes on a new connection and reads one response, until it ends, the connection closes or time runs out.
pub async fn send(address: SocketAddr, request: &[u8]) -> RawResponse {
    let mut stream = connect(address).await;
    // A server may respond and close before it has read everything; its response counts.
    let _ = stream.write_all(request).await;
    read_response(&mut stream).await
}

async fn read_response(stream: &mut TcpStream) -> RawResponse {
    let mut reader = ResponseReader::default();
    let (mut bytes, mut payload, mut closed) = (Vec::new(), Vec::new(), false);
    let mut buffer = vec![0; 64 * 1024];
    let read_all = async {
        while !reader.is_done() {
            let Ok(count @ 1..) = stream.read(&mut buffer).await else {
                closed = true;
                break;
            };
            bytes.extend_from_slice(&buffer[..count]);
            if reader.feed(&buffer[..count], |part| payload.extend_from_slice(part)).is_err() {
                break;
            }
        }
    };
    let _ = timeout(TIMEOUT, read_all).await;
    let complete = reader.is_done() || (closed && reader.ends_with_connection());
    // An interim response before the head counts as part of it.
    let head_length = memchr::memmem::find(&bytes, reader.head()).map_or(0, |at| at + reader.head().len());
    RawResponse { bytes, payload, complete, closed, status: reader.status(), head_length }
}
