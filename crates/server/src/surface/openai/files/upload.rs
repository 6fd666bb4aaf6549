//! Uploads: a form that is stored while it arrives.

use super::multipart::{FormError, FormEvent, FormReader, boundary};
use crate::surface::EdgeResponse;
use crate::surface::error::SurfaceError;
use crate::surface::inference::{Exchange, InferenceError, send_view};
use bytes::Bytes;
use control::batches::{BatchError, BatchStorage, FileWriter};
use dataplane::CallError;
use domain::batches::{EXPIRY_SECS, FilePurpose};
use domain::{Caller, StoredFile, WorkspaceId};
use edge::Incoming;
use edge::memory_budget::{Holder, MemoryGrant};
use edge::request_body::{BodyError, Pace, WINDOW};
use http::header;
use node::clock;
use std::sync::Arc;
use tokio::sync::mpsc;
use view::FileView;

/// The most that an upload takes: the chunk that is being collected, sealed and stored, and pieces on their way.
const MAX_MEMORY: u64 = 4 << 20;
/// Until there is a whole chunk, it takes this many times what has arrived.
const COPIES: u64 = 4;
/// Pieces on the way to the store.
const AHEAD: usize = 2;
/// A form is this much longer than its file, at most.
const FORM_BYTES: u64 = 64 << 10;
/// The most fields of a form, those that are not known included.
const MAX_FIELDS: usize = 16;
/// The most bytes of the name of a field.
const MAX_FIELD_NAME: usize = 128;
/// The most bytes of a field that is not the file.
const MAX_FIELD: usize = 1 << 10;

/// The fields of a form besides the content of the file.
#[derive(Default)]
struct Fields {
    purpose: Option<String>,
    filename: Option<String>,
    anchor: Option<String>,
    seconds: Option<String>,
}

/// What the task that stores a file gets.
enum Piece {
    Content(Bytes),
    /// The file is complete. Without this, it is discarded.
    End {
        filename: String,
        seconds: Option<u64>,
    },
}

/// Upload a file.
#[utoipa::path(post, path = "/v1/files", operation_id = "uploadFile", tag = "inference",
    request_body(content = Object, content_type = "multipart/form-data",
        description = "`file`, `purpose` (`batch`), and `expires_after[anchor]` (`created_at`) with `expires_after[seconds]` (3600 to 2592000)"),
    responses((status = 200, body = FileView)))]
pub(in crate::surface::openai) async fn create(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    let surface = exchange.surface;
    let rate_limits = surface.dataplane.admit_free(&caller, exchange.tap.request_id().clone()).await?;
    exchange.rate_limits = Some(rate_limits);
    let content_type = exchange.headers.text(header::CONTENT_TYPE).unwrap_or_default();
    let Some(boundary) = boundary(content_type) else {
        let media = content_type.split(';').next().unwrap_or_default().chars().take(100).collect();
        return Err(SurfaceError::from(BodyError::UnsupportedType(media)).into());
    };
    let encoding = exchange.headers.text(header::CONTENT_ENCODING).unwrap_or_default();
    if !matches!(encoding.trim(), "" | "identity") {
        let encoding = encoding.chars().take(100).collect();
        return Err(SurfaceError::from(BodyError::UnsupportedEncoding(encoding)).into());
    }
    let storage = surface.context.batches.clone();
    let limit = storage.bounds().file_bytes;
    if exchange.body.announced() > limit.saturating_add(FORM_BYTES) {
        return Err(BatchError::FileTooLarge { limit }.into());
    }
    let mut memory = surface.body_bounds.memory.grant(Holder::Organization(caller.organization.clone()));
    grow(&mut memory, 0)?;
    let (sender, pieces) = mpsc::channel(AHEAD);
    let task = surface.context.background.spawn(store_file(storage, caller.workspace.clone(), pieces));
    let pace = Pace::without_deadline(surface.body_bounds.read_timeout);
    let read = read_form(exchange.body, &boundary, pace, &mut memory, &sender).await;
    let result = match read {
        Ok(fields) => send_end(fields, &sender).await,
        Err(error) => Err(error),
    };
    drop(sender);
    match result {
        // The task says why it takes no more.
        Ok(()) | Err(UploadError::Stopped) => {}
        Err(UploadError::Request(error)) => return Err(error),
    }
    match task.await {
        Ok(stored) => Ok(send_view(exchange, &FileView::from(stored?))),
        Err(_panicked) => Err(SurfaceError::Internal.into()),
    }
}

/// Takes the memory of an upload of which this much has arrived. As the only body of its organization, it may take all that
/// is free.
fn grow(memory: &mut MemoryGrant, arrived: usize) -> Result<(), SurfaceError> {
    let needed = COPIES.saturating_mul(arrived as u64).clamp(WINDOW, MAX_MEMORY);
    Ok(memory.grow_body_to(needed).map_err(BodyError::from)?)
}

enum UploadError {
    /// The task has ended.
    Stopped,
    Request(InferenceError),
}

impl<T: Into<InferenceError>> From<T> for UploadError {
    fn from(error: T) -> Self {
        Self::Request(error.into())
    }
}

/// Stores a file while it arrives.
async fn store_file(
    storage: BatchStorage,
    workspace: WorkspaceId,
    mut pieces: mpsc::Receiver<Piece>,
) -> Result<StoredFile, BatchError> {
    let mut writer = FileWriter::upload(&storage, workspace, clock::now).await?;
    loop {
        match pieces.recv().await {
            Some(Piece::Content(bytes)) => writer.write(&bytes).await?,
            Some(Piece::End { filename, seconds }) => {
                let written = writer.finish().await?;
                return storage.complete_upload(written, &filename, seconds).await;
            }
            None => {
                writer.discard().await;
                return Err(BatchError::Invalid { param: "file".to_owned(), why: "the upload has ended".to_owned() });
            }
        }
    }
}

/// Reads the whole form, and passes the content of its file on.
async fn read_form(
    body: &mut Incoming,
    boundary: &str,
    mut pace: Pace,
    memory: &mut MemoryGrant,
    sender: &mpsc::Sender<Piece>,
) -> Result<Fields, UploadError> {
    let mut reader = FormReader::new(boundary);
    let mut fields = Fields::default();
    let mut current = String::new();
    let (mut arrived, mut parts, mut other_bytes) = (0, 0, 0);
    loop {
        let Some(piece) = pace.next(body, arrived).await.map_err(SurfaceError::from)? else {
            return Err(unreadable(&"the body ends before its last boundary").into());
        };
        arrived += piece.len();
        grow(memory, arrived)?;
        other_bytes += piece.len() as u64;
        reader.push(&piece);
        while let Some(event) = reader.next().map_err(|error: FormError| unreadable(&error))? {
            match event {
                FormEvent::Part { name, filename } => {
                    parts += 1;
                    if parts > MAX_FIELDS {
                        return Err(unreadable(&format!("a form has at most {MAX_FIELDS} fields")).into());
                    }
                    if name.len() > MAX_FIELD_NAME {
                        let what = format!("the name of a field has at most {MAX_FIELD_NAME} bytes");
                        return Err(unreadable(&what).into());
                    }
                    let value = if name == "file" {
                        filename.filter(|name| !name.is_empty()).unwrap_or_else(|| "upload.jsonl".to_owned())
                    } else {
                        String::new()
                    };
                    if let Some(field) = fields.named(&name)
                        && field.replace(value).is_some()
                    {
                        return Err(invalid(&name, "is a duplicate").into());
                    }
                    current = name;
                }
                FormEvent::Content(bytes) if current == "file" => {
                    other_bytes = other_bytes.saturating_sub(bytes.len() as u64);
                    let sent = pace.pause(sender.send(Piece::Content(bytes.into()))).await;
                    sent.map_err(|_| UploadError::Stopped)?;
                }
                FormEvent::Content(bytes) => {
                    if let Some(Some(value)) = fields.named(&current) {
                        value.push_str(&String::from_utf8_lossy(&bytes));
                        if value.len() > MAX_FIELD {
                            return Err(invalid(&current, "is too long").into());
                        }
                    }
                }
                FormEvent::End if other_bytes <= FORM_BYTES => return Ok(fields),
                FormEvent::End => break,
            }
        }
        // Also of a body whose length was not announced.
        if other_bytes > FORM_BYTES {
            return Err(unreadable(&format!("a form has at most {FORM_BYTES} bytes besides its file")).into());
        }
    }
}

impl Fields {
    fn named(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "file" => Some(&mut self.filename),
            "purpose" => Some(&mut self.purpose),
            "expires_after[anchor]" => Some(&mut self.anchor),
            "expires_after[seconds]" => Some(&mut self.seconds),
            _ => None,
        }
    }
}

/// Checks the fields, and lets the file be completed.
async fn send_end(fields: Fields, sender: &mpsc::Sender<Piece>) -> Result<(), UploadError> {
    let missing = |param: &str| CallError::Missing { param: param.to_owned() };
    let Fields { purpose, filename, anchor, seconds } = fields;
    let filename = filename.ok_or_else(|| missing("file"))?;
    let purpose = purpose.ok_or_else(|| missing("purpose"))?;
    if purpose != FilePurpose::Batch.as_str() {
        return Err(invalid("purpose", "must be `batch`").into());
    }
    let seconds = match (anchor, seconds) {
        (None, None) => None,
        (None, Some(_)) => return Err(missing("expires_after[anchor]").into()),
        (Some(_), None) => return Err(missing("expires_after[seconds]").into()),
        (Some(anchor), Some(_)) if anchor != "created_at" => {
            return Err(invalid("expires_after[anchor]", "must be `created_at`").into());
        }
        (Some(_), Some(seconds)) => {
            let seconds = seconds.trim().parse().ok().filter(|seconds| EXPIRY_SECS.contains(seconds));
            let why = "must be a whole number from 3600 to 2592000";
            Some(seconds.ok_or_else(|| invalid("expires_after[seconds]", why))?)
        }
    };
    sender.send(Piece::End { filename, seconds }).await.map_err(|_| UploadError::Stopped)
}

fn invalid(param: &str, why: &str) -> CallError {
    CallError::Invalid { param: param.to_owned(), why: why.to_owned() }
}

fn unreadable(error: &impl ToString) -> CallError {
    CallError::Unreadable(error.to_string())
}
