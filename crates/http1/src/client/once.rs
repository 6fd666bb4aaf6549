//! One call on a connection of its own, for everything that is not on the hot path.

use super::connection::Connection;
use super::request::Request;
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use std::future::poll_fn;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// A response whose body is read on demand. Dropping it closes the connection.
pub struct OnceResponse<S> {
    pub status: StatusCode,
    pub headers: HeaderMap,
    connection: Connection<S>,
}

#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    #[error("the connection failed: {0}")]
    Connection(#[from] io::Error),
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
}

/// Sends a request on a fresh connection and waits for the head of its response. The headers must include `Host`;
/// `Content-Length` and `Connection: close` are added. `HEAD` is not supported. There is no timeout.
pub async fn send_once<S>(stream: S, request: &http::Request<Bytes>) -> io::Result<OnceResponse<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut headers = HeaderMap::new();
    let mut connection = Connection::new(stream);
    let encoded = Request { start: encode(request), rest: Vec::new() };
    let head = connection
        .send_with(
            &encoded,
            || {},
            |header| {
                let (name, value) =
                    (HeaderName::from_bytes(header.name.as_bytes()), HeaderValue::from_bytes(header.value));
                if let (Ok(name), Ok(value)) = (name, value) {
                    headers.append(name, value);
                }
            },
        )
        .await?;
    Ok(OnceResponse { status: head.status, headers, connection })
}

impl<S: AsyncRead + AsyncWrite + Unpin> OnceResponse<S> {
    /// Reads the whole body, unless it has more than `limit` bytes.
    pub async fn body(&mut self, limit: usize) -> Result<Bytes, OnceError> {
        let mut whole = BytesMut::new();
        while let Some(data) = self.data().await? {
            if whole.len() + data.len() > limit {
                return Err(OnceError::TooLarge(limit));
            }
            whole.put(data);
        }
        Ok(whole.freeze())
    }

    /// The next piece of the body; `None` at its end.
    pub async fn data(&mut self) -> io::Result<Option<Bytes>> {
        poll_fn(|cx| self.connection.poll_data(cx)).await.transpose()
    }
}

fn encode(request: &http::Request<Bytes>) -> BytesMut {
    let mut encoded = BytesMut::with_capacity(512 + request.body().len());
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    for part in [request.method().as_str(), " ", target, " HTTP/1.1\r\nconnection: close\r\n"] {
        encoded.put_slice(part.as_bytes());
    }
    for (name, value) in request.headers() {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            encoded.put_slice(part);
        }
    }
    let has_length = !request.body().is_empty() || request.method() != Method::GET;
    if has_length {
        encoded.put_slice(format!("content-length: {}\r\n", request.body().len()).as_bytes());
    }
    encoded.put_slice(b"\r\n");
    encoded.put_slice(request.body());
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn a_call_is_sent_and_its_response_is_bounded() {
        let request = http::Request::post("http://host/path?query=1").header(header::HOST, "host");
        let request = request.body(Bytes::from_static(b"body")).unwrap();
        for limit in [8, 7] {
            let (ours, mut theirs) = duplex(1 << 10);
            let response = "HTTP/1.1 201 Created\r\nx-one: 1\r\nx-one: 2\r\ncontent-length: 8\r\n\r\nresponse";
            theirs.write_all(response.as_bytes()).await.unwrap();
            let mut response = send_once(ours, &request).await.unwrap();
            assert_eq!((response.status, response.headers.get_all("x-one").iter().count()), (StatusCode::CREATED, 2));
            let body = response.body(limit).await;
            assert_eq!(body.is_ok_and(|body| body == "response"), limit == 8);
            drop(response);
            let mut sent = String::new();
            theirs.read_to_string(&mut sent).await.unwrap();
            let expected =
                "POST /path?query=1 HTTP/1.1\r\nconnection: close\r\nhost: host\r\ncontent-length: 4\r\n\r\nbody";
            assert_eq!(sent, expected);
        }
    }
}
