//! The operations port: metrics, liveness and readiness, for the operator's tools.

use super::{health, json};
use crate::surface::Body;
use edge::RequestHead;
use http::{HeaderValue, Response, StatusCode, header};
use http1::RequestHeadError;
use http1::server::{self, HeadBudget, Limits};
use node::health::{Health, PARTS, Report};
use node::metrics::Metrics;
use std::sync::Arc;
use telemetry::metrics::MEDIA_TYPE;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

const MAX_CONNECTIONS: usize = 256;
const HEAD_BYTES: usize = 1 << 20;

pub(crate) struct Operations {
    pub metrics: Metrics,
    pub health: Arc<Health>,
}

/// Serves until `stop` turns true or its sender is gone, and then until the last connection has ended.
pub(crate) async fn serve(
    listener: TcpListener,
    stop: watch::Receiver<bool>,
    respond: impl Fn(&RequestHead) -> Response<Body> + Send + Sync + 'static,
) {
    let respond = Arc::new(respond);
    let mut stopped = stop.clone();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let limits = Limits::new(Arc::new(HeadBudget::new(HEAD_BYTES)));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let accept = async { (Arc::clone(&slots).acquire_owned().await, listener.accept().await) };
        let accepted = tokio::select! {
            accepted = accept => accepted,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        while connections.try_join_next().is_some() {}
        let (Ok(slot), Ok((stream, _))) = accepted else { continue };
        let (respond, limits, stop) = (Arc::clone(&respond), limits.clone(), stop.clone());
        connections.spawn(async move {
            let _slot = slot;
            let handler = |head, _| std::future::ready(respond(&head));
            server::serve(stream, limits, stop, handler, reject).await;
        });
    }
    while connections.join_next().await.is_some() {}
}

fn reject(error: RequestHeadError) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = error.status();
    response
}

impl Operations {
    pub(crate) fn respond(&self, head: &RequestHead) -> Response<Body> {
        match head.uri.path() {
            "/metrics" => metrics(self),
            "/healthz" => health(),
            "/readyz" => ready(self, head.uri.query().unwrap_or_default()),
            _ => not_found(),
        }
    }
}

/// The response of a node that waits for the store: it is alive, but has nothing to measure yet.
pub(crate) fn respond_while_starting(report: &Report, head: &RequestHead) -> Response<Body> {
    match head.uri.path() {
        "/healthz" => health(),
        "/readyz" | "/metrics" => json(StatusCode::SERVICE_UNAVAILABLE, encode(report)),
        _ => not_found(),
    }
}

fn not_found() -> Response<Body> {
    let mut response = Response::new(Body::from("not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn encode(report: &Report) -> String {
    serde_json::to_string(report).expect("a report has only text keys")
}

/// Metrics for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "operations", security(()),
    responses((status = 200, body = String, content_type = "text/plain")))]
fn metrics(operations: &Operations) -> Response<Body> {
    let mut response = Response::new(Body::from(operations.metrics.encode()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    response
}

/// Whether to send calls here, and the state of each part.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "operations", security(()),
    params(("require" = Option<String>, Query, description = "parts that must be healthy, such as `engines,leader`")),
    responses((status = 200, body = Object), (status = 400, description = "no part has this name", body = Object),
        (status = 503, description = "send no calls here; the body says which part is why", body = Object)))]
fn ready(operations: &Operations, query: &str) -> Response<Body> {
    let required = match required_parts(query) {
        Ok(required) => required,
        Err(message) => {
            let body = serde_json::json!({ "error": message });
            return json(StatusCode::BAD_REQUEST, body.to_string());
        }
    };
    let (_, report) = operations.health.check();
    let is_ready = report.is_ready() && required.iter().all(|part| report.is_part_ok(part));
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json(status, encode(&report))
}

/// The parts that the query names.
fn required_parts(query: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some(list) = pair.strip_prefix("require=") else {
            return Err(format!("`{pair}`: the only parameter is `require`, such as ?require=engines,leader"));
        };
        for part in list.split(',') {
            if !PARTS.contains(&part) {
                return Err(format!("require: unknown part `{part}`; there are {}", PARTS.join(", ")));
            }
            parts.push(part);
        }
    }
    Ok(parts)
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(super::health, ready, metrics))]
struct Handlers;

/// The surface's part of `/openapi.json`, with the default address of its port.
pub(crate) fn description() -> utoipa::openapi::OpenApi {
    use utoipa::OpenApi as _;
    let mut description = Handlers::openapi();
    let own = utoipa::openapi::Server::new("http://127.0.0.1:9090");
    for (path, item) in &mut description.paths.paths {
        // The public listener serves this one, too.
        if path != "/healthz" {
            item.servers = Some(vec![own.clone()]);
        }
    }
    description
}
