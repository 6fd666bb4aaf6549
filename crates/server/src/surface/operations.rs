//! For the operator's own tools: metrics, liveness and readiness, on a port of their own.

use super::health;
use crate::edge::Body;
use crate::node::NodeState;
use crate::telemetry::metrics::Metrics;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const MAX_CONNECTIONS: usize = 256;

pub(crate) struct Operations {
    pub metrics: Arc<Metrics>,
    pub node: Arc<NodeState>,
}

/// Serves until the task is ended.
pub(crate) async fn serve(listener: TcpListener, operations: Arc<Operations>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let operations = Arc::clone(&operations);
        connections.spawn(async move {
            let _place = place;
            let service = service_fn(move |request: Request<Incoming>| {
                let operations = Arc::clone(&operations);
                async move { Ok::<_, Infallible>(answer(&operations, &request)) }
            });
            let _ =
                http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn answer(operations: &Operations, request: &Request<Incoming>) -> Response<Body> {
    match request.uri().path() {
        "/metrics" => {
            let mut response = Response::new(Body::from(operations.metrics.encode()));
            let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        "/healthz" => health(),
        "/readyz" => ready(operations),
        _ => {
            let mut response = Response::new(Body::from("not found\n"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    }
}

/// 503 while draining. A store that is away is told, and does not stop serving.
fn ready(operations: &Operations) -> Response<Body> {
    let report = operations.node.report();
    let mut response = Response::new(Body::from(serde_json::to_vec(&report).expect("a report has only text keys")));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if report.is_draining() {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(describe_health, describe_ready, describe_metrics))]
struct Described;

/// What `/openapi.json` says of this surface: it has an address of its own.
pub(crate) fn description() -> utoipa::openapi::OpenApi {
    use utoipa::OpenApi as _;
    let mut description = Described::openapi();
    let own = utoipa::openapi::Server::new("http://127.0.0.1:9090");
    for (path, item) in &mut description.paths.paths {
        // The public listener answers this one, too.
        if path != "/healthz" {
            item.servers = Some(vec![own.clone()]);
        }
    }
    description
}

/// The process is alive.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "operations", security(()),
    responses((status = 200, body = Object)))]
#[expect(dead_code, reason = "it only describes")]
fn describe_health() {}

/// Whether to send calls here.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "operations", security(()),
    responses((status = 200, body = Object), (status = 503, description = "it is stopping", body = Object)))]
#[expect(dead_code, reason = "it only describes")]
fn describe_ready() {}

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "operations", security(()),
    responses((status = 200, body = String, content_type = "application/openmetrics-text")))]
#[expect(dead_code, reason = "it only describes")]
fn describe_metrics() {}
