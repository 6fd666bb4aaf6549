//! Between the edge and axum, for the surfaces that use axum's router.

use crate::surface::Body;
use axum::body::to_bytes;
use http::{HeaderValue, Response, Uri, header};

/// `/api/workspaces/` is `/api/workspaces`.
pub(super) fn without_trailing_slash(uri: Uri) -> Uri {
    let Some(shorter) = uri.path().strip_suffix('/') else { return uri };
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    format!("{shorter}{query}").parse().unwrap_or(uri)
}

/// Converts axum's response to the edge's.
pub(super) async fn into_edge(response: axum::response::Response) -> Response<Body> {
    let (head, body) = response.into_parts();
    // In memory already: handlers return whole bodies.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    personal(Response::from_parts(head, Body::from(bytes)))
}

/// Adds the headers of responses that are meant for one caller only.
pub(super) fn personal(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
