//! A small HTTP client for tests. Each call has its own connection, so nothing is shared or retried.

use std::net::SocketAddr;

use anyhow::Context;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::sse::{Event, Stream, events_of};

/// A complete response.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Response {
    /// `200 OK`
    pub fn status_line(&self) -> String {
        self.status.to_string()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; panics with the body if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }

    pub fn sse_events(&self) -> Vec<Event> {
        events_of(&self.body)
    }
}

/// Base address and headers of calls.
#[derive(Debug, Clone)]
pub struct Client {
    authority: String,
    prefix: String,
    headers: HeaderMap,
}

impl Client {
    /// `base` is an address (`127.0.0.1:8080`) or an URL (`http://127.0.0.1:8080/v1`).
    #[expect(clippy::needless_pass_by_value, reason = "callers have an address, a text or a borrowed text")]
    pub fn new(base: impl ToString) -> Self {
        let base = base.to_string();
        let uri: Uri = if base.contains("://") { base.parse() } else { format!("http://{base}").parse() }
            .unwrap_or_else(|error| panic!("{base} is not an address: {error}"));
        let authority = uri.authority().unwrap_or_else(|| panic!("{base} has no host")).to_string();
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Self { authority, prefix, headers: HeaderMap::new() }
    }

    /// The same client with an API key.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {key}"))
    }

    /// The same client with a header, which replaces an existing one.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::try_from(name).unwrap_or_else(|_| panic!("`{name}` is not a header name"));
        let value = HeaderValue::try_from(value).unwrap_or_else(|_| panic!("`{value}` is not a header value"));
        self.headers.insert(name, value);
        self
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, Bytes::new()).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.send(Method::DELETE, path, Bytes::new()).await
    }

    pub async fn post_json(&self, path: &str, value: impl Into<Value>) -> Response {
        self.send_json(Method::POST, path, value).await
    }

    pub async fn post_bytes(&self, path: &str, body: impl Into<Bytes>) -> Response {
        self.send(Method::POST, path, body.into()).await
    }

    pub async fn send_json(&self, method: Method, path: &str, value: impl Into<Value>) -> Response {
        self.send(method, path, Bytes::from(value.into().to_string())).await
    }

    /// Sends a call; panics if there is no complete response.
    pub async fn send(&self, method: Method, path: &str, body: Bytes) -> Response {
        let named = format!("{method} {path}");
        self.try_send(method, path, body).await.unwrap_or_else(|error| panic!("{named}: {error:#}"))
    }

    /// Sends a call; the error is the reason why the connection or response failed.
    pub async fn try_send(&self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Response> {
        let (response, _connection) = self.open(method, path, body).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.context("the response was cut off")?.to_bytes();
        Ok(Response { status: parts.status, headers: parts.headers, body })
    }

    /// Sends a call whose response is read event by event. Dropping the stream disconnects.
    pub async fn open_stream(&self, path: &str, value: impl Into<Value>) -> Stream {
        let body = Bytes::from(value.into().to_string());
        self.try_open_stream(path, body).await.unwrap_or_else(|error| panic!("POST {path}: {error:#}"))
    }

    pub async fn try_open_stream(&self, path: &str, body: Bytes) -> anyhow::Result<Stream> {
        let (response, connection) = self.open(Method::POST, path, body).await?;
        Ok(Stream::new(response, connection))
    }

    async fn open(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<(http::Response<Incoming>, JoinSet<()>)> {
        let stream = TcpStream::connect(&self.authority).await.context("connect")?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async {
            // A connection error also ends the response, with the same error.
            let _ = connection.await;
        });
        let request = self.request(method, path, body)?;
        let response = sender.send_request(request).await.context("no response")?;
        Ok((response, driver))
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Request<Full<Bytes>>> {
        let uri = format!("{}{path}", self.prefix);
        let mut request = Request::builder().method(method).uri(uri).header(HOST, &self.authority);
        if !body.is_empty() && !self.headers.contains_key(CONTENT_TYPE) {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let mut request = request.body(Full::new(body))?;
        request.headers_mut().extend(self.headers.clone());
        Ok(request)
    }
}

impl From<SocketAddr> for Client {
    fn from(address: SocketAddr) -> Self {
        Self::new(address)
    }
}
