//! Connections through an HTTP proxy, which passes bytes on after a `CONNECT` request.

use crate::address::Address;
use http::HeaderValue;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const MAX_HEAD_BYTES: usize = 16 << 10;

/// A proxy that passes connections on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    pub address: Address,
    /// The value of `Proxy-Authorization`, marked as sensitive.
    pub authorization: Option<HeaderValue>,
}

/// Asks the proxy to pass everything after this on to `target`.
pub(crate) async fn open_tunnel<S>(stream: &mut S, proxy: &Proxy, target: &Address) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
    let authority = format!("{host}:{}", target.port);
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
    if let Some(value) = &proxy.authorization {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    stream.write_all(&request).await?;
    match status_of(&read_head(stream).await?) {
        Some(200..=299) => Ok(()),
        Some(status) => Err(io::Error::other(format!("the proxy responds with {status}"))),
        None => Err(io::Error::other("the proxy does not respond as expected")),
    }
}

/// Reads byte by byte: what follows the head belongs to the tunnel.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD_BYTES {
            return Err(io::Error::other("the head of the proxy's response is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(head)
}

fn status_of(head: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(head).ok()?;
    text.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the proxy got, and what was left to read after its response.
    async fn open(response: &[u8], target: &str) -> (io::Result<()>, String, Vec<u8>) {
        let (mut ours, mut theirs) = tokio::io::duplex(1 << 16);
        theirs.write_all(response).await.unwrap();
        theirs.shutdown().await.unwrap();
        let authorization = Some(HeaderValue::from_static("Basic abc"));
        let proxy = Proxy { address: Address::parse("http://proxy:3128").unwrap(), authorization };
        let opened = open_tunnel(&mut ours, &proxy, &Address::parse(target).unwrap()).await;
        let mut left = Vec::new();
        ours.read_to_end(&mut left).await.unwrap();
        drop(ours);
        let mut request = String::new();
        theirs.read_to_string(&mut request).await.unwrap();
        (opened, request, left)
    }

    #[tokio::test]
    async fn a_tunnel_begins_after_the_head_of_the_response() {
        let (opened, request, left) = open(b"HTTP/1.1 200\r\nVia: x\r\n\r\nhello", "https://hub.example/v1").await;
        assert!(opened.is_ok() && left == b"hello", "{opened:?}");
        let expected =
            "CONNECT hub.example:443 HTTP/1.1\r\nHost: hub.example:443\r\nProxy-Authorization: Basic abc\r\n\r\n";
        assert_eq!(request, expected);
        let (opened, request, _) = open(b"HTTP/1.0 200 OK\r\n\r\n", "https://[::1]:8443").await;
        assert!(opened.is_ok() && request.starts_with("CONNECT [::1]:8443 HTTP/1.1\r\n"), "{request}");
    }

    #[tokio::test]
    async fn a_proxy_that_rejects_is_an_error() {
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MAX_HEAD_BYTES));
        for (response, why) in [
            ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy responds with 407"),
            ("SSH-2.0-x\r\n\r\n", "not respond as expected"),
            ("HTTP/1.1 200 OK\r\n", ""),
            (long.as_str(), "too long"),
        ] {
            let error = open(response.as_bytes(), "https://hub.example").await.0.unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
