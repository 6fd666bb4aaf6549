//! Files: `/v1/files`.

mod multipart;
pub(super) mod upload;

use crate::surface::EdgeResponse;
use crate::surface::inference::{Exchange, InferenceError, on_store, query_pairs, send_file, send_view};
use control::Command;
use control::batches::{BatchError, BatchStorage};
use dataplane::CallError;
use domain::batches::FilePurpose;
use domain::{Caller, FileId};
use node::clock;
use serde::Serialize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use store::files::{FileQuery, MAX_LISTED};
use utoipa::ToSchema;
use view::FileView;

const LIMIT_RANGE: RangeInclusive<u32> = 1..=MAX_LISTED;
/// The most characters of an id that an error repeats.
const SHOWN_ID_LEN: usize = 100;

#[derive(Serialize, ToSchema)]
pub(super) struct FileList {
    /// `list`
    object: &'static str,
    data: Vec<FileView>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

#[derive(Serialize, ToSchema)]
pub(super) struct DeletedFile {
    id: String,
    /// `file`
    object: &'static str,
    deleted: bool,
}

/// The parameters of a list.
struct ListQuery {
    purpose: Option<FilePurpose>,
    after: Option<FileId>,
    newest_first: bool,
    limit: u32,
}

/// List files, the newest first.
#[utoipa::path(get, path = "/v1/files", operation_id = "listFiles", tag = "inference",
    params(("purpose" = Option<String>, Query, description = "`batch` or `batch_output`"),
        ("limit" = Option<u32>, Query, description = "1 to 10,000; default: 10,000", minimum = 1, maximum = 10_000),
        ("order" = Option<String>, Query, description = "`asc` or `desc`, the default"),
        ("after" = Option<String>, Query, description = "the id of the file before the page")),
    responses((status = 200, body = FileList)))]
pub(super) async fn list(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    let ListQuery { purpose, after, newest_first, limit } = list_query(exchange.uri.query())?;
    let find = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let query = FileQuery { purpose, after: after.as_ref(), newest_first, limit };
        storage.files(&caller.workspace, query, clock::now()).await
    };
    let page = on_store(exchange, &caller, find).await?;
    let id = |file: Option<&domain::StoredFile>| file.map(|file| file.id.to_string());
    let (first_id, last_id) = (id(page.files.first()), id(page.files.last()));
    let data = page.files.into_iter().map(FileView::from).collect();
    Ok(send_view(exchange, &FileList { object: "list", data, first_id, last_id, has_more: page.has_more }))
}

/// Get a file's record.
#[utoipa::path(get, path = "/v1/files/{id}", operation_id = "getFile", tag = "inference",
    responses((status = 200, body = FileView)))]
pub(super) async fn show(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let file = find(exchange, &caller, id).await?;
    Ok(send_view(exchange, &FileView::from(file)))
}

/// Get the content of a file.
#[utoipa::path(get, path = "/v1/files/{id}/content", operation_id = "getFileContent", tag = "inference",
    responses((status = 200, description = "the content", body = String, content_type = "application/octet-stream")))]
pub(super) async fn content(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let file = find(exchange, &caller, id).await?;
    send_file(exchange, &caller, file.id, "application/octet-stream").await
}

/// Delete a file.
#[utoipa::path(delete, path = "/v1/files/{id}", operation_id = "deleteFile", tag = "inference",
    responses((status = 200, body = DeletedFile)))]
pub(super) async fn delete(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let (wanted, author) = (parse(id), exchange.author(&caller));
    let delete = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let id = wanted?;
        let command = Command { store: storage.store(), author: &author, now: clock::now() };
        storage.delete_file(command, &caller, &id).await?;
        Ok(id)
    };
    let id = on_store(exchange, &caller, delete).await?.to_string();
    Ok(send_view(exchange, &DeletedFile { id, object: "file", deleted: true }))
}

async fn find(
    exchange: &mut Exchange<'_>,
    caller: &Arc<Caller>,
    id: &str,
) -> Result<domain::StoredFile, InferenceError> {
    let wanted = parse(id);
    let find = |storage: BatchStorage, caller: Arc<Caller>| async move {
        storage.file(&caller.workspace, &wanted?, clock::now()).await
    };
    on_store(exchange, caller, find).await
}

/// A malformed id counts as missing.
pub(super) fn parse(id: &str) -> Result<FileId, BatchError> {
    FileId::parse(id).map_err(|_| BatchError::Missing { noun: "file", id: id.chars().take(SHOWN_ID_LEN).collect() })
}

/// Parameters that are not known are ignored.
fn list_query(query: Option<&str>) -> Result<ListQuery, CallError> {
    let mut wanted = ListQuery { purpose: None, after: None, newest_first: true, limit: MAX_LISTED };
    let invalid = |param: &str, why: &str| CallError::Invalid { param: param.to_owned(), why: why.to_owned() };
    for (name, value) in query_pairs(query) {
        match name.as_str() {
            "purpose" => {
                let purpose = FilePurpose::parse(&value);
                wanted.purpose = Some(purpose.ok_or_else(|| invalid("purpose", "must be `batch` or `batch_output`"))?);
            }
            "limit" => {
                let limit = value.parse().ok().filter(|limit| LIMIT_RANGE.contains(limit));
                wanted.limit = limit.ok_or_else(|| invalid("limit", "must be a whole number from 1 to 10000"))?;
            }
            "order" => {
                wanted.newest_first = match value.as_str() {
                    "desc" => true,
                    "asc" => false,
                    _ => return Err(invalid("order", "must be `asc` or `desc`")),
                };
            }
            "after" => {
                let after = FileId::parse(&value).map_err(|_| invalid("after", "must be the id of a file"))?;
                wanted.after = Some(after);
            }
            _ => {}
        }
    }
    Ok(wanted)
}
