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
