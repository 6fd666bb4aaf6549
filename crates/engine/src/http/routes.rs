//! Which path does what.

use super::answer::{self, Answer};
use super::{Shared, chat, embeddings, error, models};
use crate::refusal::Refusal;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::json;

/// As large as the gateway lets through.
const BODY_LIMIT: usize = 16 << 20;
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers one request.
pub(super) async fn answer(shared: &Shared, request: Request<Incoming>) -> Answer {
    match dispatch(shared, request).await {
        Ok(answer) => answer,
        Err(refusal) => error::answer(&refusal),
    }
}

async fn dispatch(shared: &Shared, request: Request<Incoming>) -> Result<Answer, Refusal> {
    let path = request.uri().path().to_owned();
    match path.as_str() {
        "/v1/chat/completions" => chat::complete(shared, &body(request).await?).await,
        "/v1/embeddings" => embeddings::embed(shared, &body(request).await?).await,
        "/health" => only_get(&request).and_then(|()| health(shared)),
        "/metrics" => only_get(&request).map(|()| answer::text(StatusCode::OK, METRICS_TYPE, shared.metrics.page())),
        "/v1/models" => only_get(&request).map(|()| models::list(shared)),
        _ => match path.strip_prefix("/v1/models/") {
            Some(id) => only_get(&request).and_then(|()| models::show(shared, id)),
            None => Err(Refusal::UnknownRoute),
        },
    }
}

fn health(shared: &Shared) -> Result<Answer, Refusal> {
    shared.stage.serving()?;
    Ok(answer::json(StatusCode::OK, &json!({"status": "ok"})))
}

fn only_get(request: &Request<Incoming>) -> Result<(), Refusal> {
    if request.method() == Method::GET { Ok(()) } else { Err(Refusal::WrongMethod { allowed: "GET" }) }
}

/// The whole body of a POST.
async fn body(request: Request<Incoming>) -> Result<Bytes, Refusal> {
    if request.method() != Method::POST {
        return Err(Refusal::WrongMethod { allowed: "POST" });
    }
    match Limited::new(request.into_body(), BODY_LIMIT).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::BodyTooLarge { limit: BODY_LIMIT }),
        Err(_) => Err(Refusal::BadJson { problem: "it broke off".to_owned() }),
    }
}
