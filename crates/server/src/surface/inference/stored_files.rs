//! What routes of files and batches share: work on the store, idempotency keys, lists, and content that is sent as it is read.

use super::{Exchange, InferenceError};
use crate::surface::error::SurfaceError;
use crate::surface::{Body, EdgeResponse, idempotency, json};
use bytes::Bytes;
use control::batches::{BatchError, BatchStorage, FileReader};
use dataplane::CallError;
use domain::{Caller, FileId};
use edge::memory_budget::{Holder, MemoryGrant};
use edge::request_body::BodyError;
use http::{HeaderValue, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Chunks that wait for a slow client.
const AHEAD: usize = 1;
/// What the content of a file takes while it is sent: a chunk that is being read, as it is stored and as it is sent, one that
/// waits, and one on its way to the client.
const MEMORY: u64 = 4 << 20;

/// A chunk of a file. The memory is returned with the last one.
struct HeldChunk {
    content: Vec<u8>,
    _memory: Arc<MemoryGrant>,
}

impl AsRef<[u8]> for HeldChunk {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

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

/// The idempotency key of the request, if it has one.
pub(in crate::surface) fn idempotency_key(exchange: &Exchange<'_>) -> Result<Option<String>, CallError> {
    let invalid = |why: &str| CallError::Invalid { param: idempotency::HEADER.to_owned(), why: why.to_owned() };
    let key = idempotency::check(exchange.headers.all(idempotency::HEADER)).map_err(invalid)?;
    Ok(key.map(ToOwned::to_owned))
}

/// Sends a record, which closes the record of the request.
pub(in crate::surface) fn send_view(exchange: &mut Exchange<'_>, view: &impl Serialize) -> EdgeResponse {
    let body = serde_json::to_vec(view).expect("views have only text keys");
    exchange.serve(json(StatusCode::OK, body))
}

/// Sends the content of a file while it is read. The response begins once the first chunk is there.
pub(in crate::surface) async fn send_file(
    exchange: &mut Exchange<'_>,
    caller: &Caller,
    file: FileId,
    media_type: &'static str,
) -> Result<EdgeResponse, InferenceError> {
    let surface = exchange.surface;
    let mut memory = surface.body_bounds.memory.grant(Holder::Organization(caller.organization.clone()));
    memory.grow_to(MEMORY).map_err(|error| SurfaceError::from(BodyError::from(error)))?;
    let memory = Arc::new(memory);
    let mut reader = FileReader::new(&surface.context.batches, file);
    let first = async move {
        let first = reader.next().await?;
        Ok::<_, BatchError>((reader, first))
    };
    let (mut reader, mut chunk) = match surface.context.background.spawn(first).await {
        Ok(read) => read?,
        Err(_panicked) => return Err(SurfaceError::Internal.into()),
    };
    let (sender, pieces) = mpsc::channel::<io::Result<Bytes>>(AHEAD);
    surface.context.exports.spawn(async move {
        while let Some(content) = chunk {
            let held = HeldChunk { content, _memory: Arc::clone(&memory) };
            if sender.send(Ok(Bytes::from_owner(held))).await.is_err() {
                return;
            }
            chunk = match reader.next().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(?error, "the content of a file cannot be read");
                    let _ = sender.send(Err(io::Error::other("the content cannot be read"))).await;
                    return;
                }
            };
        }
    });
    let mut response = Response::new(Body::Pieces(pieces));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(exchange.serve(response))
}

/// The decoded parameters of a query.
pub(in crate::surface) fn query_pairs(query: Option<&str>) -> Vec<(String, String)> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}
