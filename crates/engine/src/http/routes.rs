//! Routing.

use super::response::{self, HttpResponse};
use super::{Shared, chat, completions, embeddings, error, models, tokenize};
use crate::error::RequestError;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::json;
use std::sync::Arc;

/// Same limit as the gateway.
const BODY_LIMIT: usize = 16 << 20;
/// Needs no key: probes of a cluster have none.
const HEALTH: &str = "/health";
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Handles one request.
pub(super) async fn respond(shared: &Arc<Shared>, request: Request<Incoming>) -> HttpResponse {
    match dispatch(shared, request).await {
        Ok(response) => response,
        Err(error) => error::response(&error),
    }
}

async fn dispatch(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<HttpResponse, RequestError> {
    let path = request.uri().path().to_owned();
    if let Some(key) = shared.key.as_ref().filter(|_| path != HEALTH) {
        key.check(request.headers())?;
    }
    match path.as_str() {
        "/v1/chat/completions" => chat::complete(shared, body(request).await?).await,
        "/v1/completions" => completions::complete(shared, body(request).await?).await,
        "/tokenize" => tokenize::tokenize(shared, body(request).await?).await,
        "/detokenize" => tokenize::detokenize(shared, body(request).await?).await,
        "/v1/embeddings" => embeddings::embed(shared, body(request).await?).await,
        HEALTH => only_get(&request).and_then(|()| health(shared)),
        "/metrics" => only_get(&request).map(|()| response::text(StatusCode::OK, METRICS_TYPE, shared.metrics.page())),
        "/version" => only_get(&request).map(|()| version()),
        "/v1/models" => only_get(&request).map(|()| models::list(shared)),
        _ => match path.strip_prefix("/v1/models/") {
            Some(id) => only_get(&request).and_then(|()| models::show(shared, id)),
            None => Err(RequestError::UnknownRoute),
        },
    }
}

fn health(shared: &Shared) -> Result<HttpResponse, RequestError> {
    shared.state.serving()?;
    Ok(response::json(StatusCode::OK, &json!({"status": "ok"})))
}

/// As vLLM says it.
fn version() -> HttpResponse {
    response::json(StatusCode::OK, &json!({"version": env!("CARGO_PKG_VERSION")}))
}

fn only_get(request: &Request<Incoming>) -> Result<(), RequestError> {
    if request.method() == Method::GET { Ok(()) } else { Err(RequestError::WrongMethod { allowed: "GET" }) }
}

/// Reads the body of a POST request.
async fn body(request: Request<Incoming>) -> Result<Bytes, RequestError> {
    if request.method() != Method::POST {
        return Err(RequestError::WrongMethod { allowed: "POST" });
    }
    match Limited::new(request.into_body(), BODY_LIMIT).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(RequestError::BodyTooLarge { limit: BODY_LIMIT }),
        Err(_) => Err(RequestError::BadJson { problem: "the body was cut off".to_owned() }),
    }
}
