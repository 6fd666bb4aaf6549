//! Small HTTP requests to an engine, each on its own connection and bounded in time and size.

use super::Engine;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http1::client::send_once;
use outbound::Connector;
use std::time::Duration;

/// Metrics of an engine with many histograms take a few hundred KiB.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

pub(crate) struct EngineResponse {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl Engine {
    pub(crate) async fn get(&self, path: &str, timeout: Duration) -> Result<EngineResponse, String> {
        self.send(Method::GET, path, Bytes::new(), timeout).await
    }

    pub(super) async fn post(
        &self,
        path: &str,
        body: &serde_json::Value,
        timeout: Duration,
    ) -> Result<EngineResponse, String> {
        self.send(Method::POST, path, body.to_string().into(), timeout).await
    }

    async fn send(&self, method: Method, path: &str, body: Bytes, timeout: Duration) -> Result<EngineResponse, String> {
        let request = format!("{method} {path}");
        let response = tokio::time::timeout(timeout, self.exchange(method, path, body)).await;
        response
            .unwrap_or_else(|_| Err(format!("no response within {timeout:?}")))
            .map_err(|error| format!("{request}: {error}"))
    }

    async fn exchange(&self, method: Method, path: &str, body: Bytes) -> Result<EngineResponse, String> {
        let stream = Connector::default().connect(&self.address).await.map_err(|error| error.to_string())?;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.address.authority)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(body).map_err(|error| error.to_string())?;
        let mut response = send_once(stream, &request).await.map_err(|error| error.to_string())?;
        let body = response.body(MAX_RESPONSE_BYTES).await.map_err(|error| error.to_string())?;
        Ok(EngineResponse { status: response.status, body })
    }
}
