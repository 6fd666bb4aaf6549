//! For the operator's own tools: metrics, liveness and readiness, on a port of their own.

use super::health;
use crate::edge::{Body, Head, http1};
use crate::health::{Health, PARTS};
use crate::telemetry::metrics::{self, Metrics};
use http::{HeaderValue, Response, StatusCode, header};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

const MAX_CONNECTIONS: usize = 256;

pub(crate) struct Operations {
    pub metrics: Metrics,
    pub health: Arc<Health>,
}

/// Serves until the task is ended.
pub(crate) async fn serve(listener: TcpListener, operations: Arc<Operations>) {
    let (_never_told, stop) = watch::channel(false);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (operations, never) = (Arc::clone(&operations), stop.clone());
        connections.spawn(async move {
            let _place = place;
            let service = |head, _| std::future::ready(answer(&operations, &head).into());
            http1::serve(stream, http1::IDLE, never, service).await;
        });
    }
}

fn answer(operations: &Operations, head: &Head) -> Response<Body> {
    match head.uri.path() {
        "/metrics" => {
            let mut response = Response::new(Body::from(operations.metrics.encode()));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(metrics::MEDIA_TYPE));
            response
        }
        "/healthz" => health(),
        "/readyz" => ready(operations, head.uri.query().unwrap_or_default()),
        _ => {
            let mut response = Response::new(Body::from("not found\n"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    }
}

/// 503 while no call should be sent here. `?require=engines,leader` asks for parts that must be well, too.
fn ready(operations: &Operations, query: &str) -> Response<Body> {
    let required = match required(query) {
        Ok(required) => required,
        Err(message) => {
            let body = serde_json::json!({ "error": message });
            return json(StatusCode::BAD_REQUEST, body.to_string());
        }
    };
    let (_, report) = operations.health.check();
    let is_ready = report.is_ready() && required.iter().all(|part| report.is_part_ok(part));
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json(status, serde_json::to_string(&report).expect("a report has only text keys"))
}

fn json(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.status_mut() = status;
    response
}

/// The parts that the query names.
fn required(query: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some(list) = pair.strip_prefix("require=") else {
            return Err(format!("`{pair}`: only `require` may be asked for, such as ?require=engines,leader"));
        };
        for part in list.split(',') {
            if !PARTS.contains(&part) {
                return Err(format!("require: no part is called `{part}`; there are {}", PARTS.join(", ")));
            }
            parts.push(part);
        }
    }
    Ok(parts)
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

/// Whether to send calls here, and how each part is.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "operations", security(()),
    params(("require" = Option<String>, Query, description = "parts that must be well, such as `engines,leader`")),
    responses((status = 200, body = Object), (status = 400, description = "no part has this name", body = Object),
        (status = 503, description = "send no calls here; the body says which part is why", body = Object)))]
#[expect(dead_code, reason = "it only describes")]
fn describe_ready() {}

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "operations", security(()),
    responses((status = 200, body = String, content_type = "text/plain")))]
#[expect(dead_code, reason = "it only describes")]
fn describe_metrics() {}
