//! Lists that are too long for one answer in memory: read page by page as the reader takes them.

use crate::edge::body::Pieces;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, header};
use std::io;
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Rows of one piece of an export, and pieces that may wait for a slow reader.
pub(crate) const PAGE: u32 = 1_000;
const AHEAD: usize = 2;

/// The body of an export, on its way to the edge.
#[derive(Clone)]
pub(crate) struct Export(pub(crate) Arc<Mutex<Option<Pieces>>>);

/// Where the pieces go.
pub(crate) struct Reader(mpsc::Sender<io::Result<Bytes>>);

impl Reader {
    /// Whether somebody still reads.
    pub(crate) async fn take(&self, piece: Vec<u8>) -> bool {
        self.0.send(Ok(piece.into())).await.is_ok()
    }
}

/// An answer whose body `write` hands to its reader. If it fails, the answer breaks off, so that the reader notices.
pub(crate) fn answer<F>(
    background: &Handle,
    media_type: &'static str,
    name: &str,
    write: impl FnOnce(Reader) -> F,
) -> Response
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let (sender, pieces) = mpsc::channel(AHEAD);
    let writing = write(Reader(sender.clone()));
    background.spawn(async move {
        if let Err(broken) = writing.await {
            let _ = sender.send(Err(broken)).await;
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
