//! What routes of files and batches share: work on the store, lists, and content that is sent as it is read.

use super::{Exchange, InferenceError};
use crate::surface::error::SurfaceError;
use crate::surface::{Body, EdgeResponse, json};
use bytes::Bytes;
use control::batches::{BatchError, BatchStorage, FileReader};
use domain::Caller;
use http::{HeaderValue, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Chunks that wait for a slow client.
const AHEAD: usize = 1;

/// Counts the request, and does the work on the runtime that owns the store's connections.
pub(in crate::surface) async fn on_store<T, F>(
    exchange: &mut Exchange<'_>,
    caller: &Arc<Caller>,
    work: impl FnOnce(BatchStorage, Arc<Caller>) -> F,
) -> Result<T, InferenceError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, BatchError>> + Send + 'static,
{
    let surface = exchange.surface;
    let work = work(surface.context.batches.clone(), Arc::clone(caller));
    let rate_limits = surface.dataplane.admit_free(caller, exchange.tap.request_id().clone()).await?;
    exchange.rate_limits = Some(rate_limits);
    match surface.context.background.spawn(work).await {
        Ok(result) => Ok(result?),
        Err(_panicked) => Err(SurfaceError::Internal.into()),
    }
}

/// Sends a record, which closes the record of the request.
pub(in crate::surface) fn send_view(exchange: &mut Exchange<'_>, view: &impl Serialize) -> EdgeResponse {
    let body = serde_json::to_vec(view).expect("views have only text keys");
    exchange.serve(json(StatusCode::OK, body))
}

/// Sends the content of a file while it is read.
pub(in crate::surface) fn send_file(
    exchange: &mut Exchange<'_>,
    mut reader: FileReader,
    media_type: &'static str,
) -> EdgeResponse {
    let (sender, pieces) = mpsc::channel::<io::Result<Bytes>>(AHEAD);
    exchange.surface.context.exports.spawn(async move {
        loop {
            let piece = match reader.next().await {
                Ok(Some(chunk)) => Ok(chunk.into()),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(?error, "the content of a file cannot be read");
                    Err(io::Error::other("the content cannot be read"))
                }
            };
            let is_over = piece.is_err();
            if sender.send(piece).await.is_err() || is_over {
                return;
            }
        }
    });
    let mut response = Response::new(Body::Pieces(pieces));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    exchange.serve(response)
}

/// The decoded parameters of a query.
pub(in crate::surface) fn query_pairs(query: Option<&str>) -> Vec<(String, String)> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}
