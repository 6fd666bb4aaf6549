//! Calls over HTTP/2.

use anyhow::Context;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::gateway::Target;

/// An HTTP/2 connection.
pub(crate) struct Http2 {
    sender: http2::SendRequest<Full<Bytes>>,
    _driver: JoinSet<()>,
}

impl Http2 {
    /// With a stream window of this many bytes, if it is to be small.
    pub(crate) async fn connect(target: &Target, window: Option<u32>) -> anyhow::Result<Self> {
        let config = target.tls.clone().context("the gateway serves no TLS")?;
        let stream = TcpStream::connect(target.address).await?;
        // Otherwise the second frame of a call waits 40 ms for the kernel's delayed acknowledgement.
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        let stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { sender, _driver: driver })
    }

    /// Sends a call; its response is not read.
    pub(crate) async fn send(
        &mut self,
        key: &str,
        body: Bytes,
    ) -> anyhow::Result<hyper::Response<hyper::body::Incoming>> {
        let request = Request::post("https://localhost/v1/chat/completions")
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        Ok(self.sender.send_request(request).await?)
    }

    /// Sends a call and reads its response.
    pub(crate) async fn call(&mut self, key: &str, body: Bytes) -> anyhow::Result<u16> {
        let response = self.send(key, body).await?;
        let status = response.status().as_u16();
        response.into_body().collect().await?;
        Ok(status)
    }
}
