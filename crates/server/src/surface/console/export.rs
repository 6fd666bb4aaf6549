//! Exports: lists too long for memory, read page by page while the client receives them.

use axum::response::Response;
use background::Tasks;
use bytes::Bytes;
use edge::Pieces;
use http::{HeaderValue, header};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Rows per chunk of an export.
pub(crate) const PAGE: u32 = 1_000;
/// Chunks that wait for a slow client.
const AHEAD: usize = 2;

/// The body of an export, on its way to the edge.
#[derive(Clone)]
pub(crate) struct Export(pub(crate) Arc<Mutex<Option<Pieces>>>);

/// Sends chunks of an export to the client.
pub(crate) struct ExportSender(mpsc::Sender<io::Result<Bytes>>);

impl ExportSender {
    /// Returns `false` if the client has disconnected.
    pub(crate) async fn send(&self, chunk: Vec<u8>) -> bool {
        self.0.send(Ok(chunk.into())).await.is_ok()
    }
}

/// A response whose body is sent by `write`. If that fails, the response is cut off, so that the client notices.
pub(crate) fn response<F>(
    exports: &Tasks,
    media_type: &'static str,
    name: &str,
    write: impl FnOnce(ExportSender) -> F,
) -> Response
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let (sender, pieces) = mpsc::channel(AHEAD);
    let writing = write(ExportSender(sender.clone()));
    exports.spawn(async move {
        if let Err(error) = writing.await {
            let _ = sender.send(Err(error)).await;
        }
    });
    let mut response = Response::default();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response.extensions_mut().insert(Export(Arc::new(Mutex::new(Some(pieces)))));
    response
}
