//! Files: their records, and their content in chunks. It is sealed before it gets here: this module sees only bytes.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::batches::FilePurpose;
use domain::{FileId, StoredFile, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// The most files of a page.
pub const MAX_LISTED: u32 = 10_000;
/// A file that is not complete after this time never will be.
const WRITING_MILLIS: i64 = 24 * 3_600_000;
/// Chunks that one transaction deletes. Few, because they are large.
const CHUNKS: u64 = 8;

/// A file that is about to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    pub id: &'a FileId,
    pub workspace: &'a WorkspaceId,
    pub purpose: FilePurpose,
    pub created_at: Timestamp,
    /// Results of a message batch are not listed.
    pub is_listed: bool,
}

/// A chunk as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContent {
    /// The id of the key that sealed it; `None` if it is not sealed.
    pub key: Option<String>,
    pub bytes: Vec<u8>,
}

/// Whether there was room for a chunk. If not, the transaction must not be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Append {
    Done,
    /// The files of the workspace would have too many bytes.
    Full,
}

/// Which files of a workspace are listed.
#[derive(Debug, Clone, Copy)]
pub struct FileQuery<'a> {
    pub purpose: Option<FilePurpose>,
    /// The last file of the page before.
    pub after: Option<&'a FileId>,
    pub newest_first: bool,
    pub limit: u32,
}

/// So that the number of files is bounded, too.
const LEAST_BYTES: u64 = 1 << 10;
const COLUMNS: &str = "id, workspace_id, purpose, filename, bytes, created_at, expires_at";

/// Begins a file without content, which is not listed yet.
pub async fn begin(tx: &mut Tx, new: NewFile<'_>) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO files (id, workspace_id, purpose, filename, bytes, state, is_listed, created_at, expires_at) \
         VALUES ($1, $2, $3, '', 0, 'writing', $4, $5, $6)",
    )
    .bind(new.id.as_str())
    .bind(new.workspace.as_str())
    .bind(new.purpose.as_str())
    .bind(i64::from(new.is_listed))
    .bind(new.created_at.millis())
    .bind(new.created_at.plus_millis(WRITING_MILLIS).millis());
    tx.execute(insert).await.map(drop)
}

/// Adds a chunk of `bytes` bytes of content, unless the files of the workspace would have more than `max_bytes`.
pub async fn append(
    tx: &mut Tx,
    file: NewFile<'_>,
    number: u64,
    chunk: &StoredContent,
    bytes: u64,
    max_bytes: u64,
) -> Result<Append, StoreError> {
    let grow = sqlx::query("UPDATE files SET bytes = bytes + $2 WHERE id = $1 AND state = 'writing'");
    tx.execute_one(grow.bind(file.id.as_str()).bind(row::to_number(bytes)), "file", file.id.as_str()).await?;
    if bytes_of(tx, file.workspace).await? > max_bytes {
        return Ok(Append::Full);
    }
    let insert = sqlx::query("INSERT INTO file_chunks (file_id, number, content_key, content) VALUES ($1, $2, $3, $4)");
    let insert = insert.bind(file.id.as_str()).bind(row::to_number(number));
    tx.execute(insert.bind(chunk.key.as_deref()).bind(chunk.bytes.as_slice())).await?;
    Ok(Append::Done)
}

/// The bytes of all files of a workspace. A file counts for at least [`LEAST_BYTES`].
pub async fn bytes_of(tx: &mut Tx, workspace: &WorkspaceId) -> Result<u64, StoreError> {
    let text = format!(
        "SELECT CAST(COALESCE(SUM(CASE WHEN bytes < {LEAST_BYTES} THEN {LEAST_BYTES} ELSE bytes END), 0) AS BIGINT) AS bytes \
         FROM files WHERE workspace_id = $1 AND state <> 'deleted'"
    );
    tx.count(sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()), "bytes").await
}

/// Ends a file: from now on it can be read.
pub async fn complete(tx: &mut Tx, id: &FileId, filename: &str, expires_at: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE files SET state = 'complete', filename = $2, expires_at = $3 WHERE id = $1 AND state = 'writing'",
    );
    tx.execute_one(update.bind(id.as_str()).bind(filename).bind(expires_at.millis()), "file", id.as_str()).await
}

/// A complete file that has not expired.
pub async fn find(
    store: &Store,
    workspace: &WorkspaceId,
    id: &FileId,
    now: Timestamp,
) -> Result<Option<StoredFile>, StoreError> {
    let text = format!(
        "SELECT {COLUMNS} FROM files WHERE id = $1 AND workspace_id = $2 AND state = 'complete' AND expires_at > $3"
    );
    let query = sqlx::query(AssertSqlSafe(text)).bind(id.as_str()).bind(workspace.as_str()).bind(now.millis());
    store.row(query).await?.as_ref().map(from_row).transpose()
}

/// A page of the complete files of a workspace.
pub async fn list(
    store: &Store,
    workspace: &WorkspaceId,
    query: FileQuery<'_>,
    now: Timestamp,
) -> Result<Vec<StoredFile>, StoreError> {
    let (comparison, order) = if query.newest_first { ("<", "DESC") } else { (">", "ASC") };
    let after = query.after.map_or(if query.newest_first { "~" } else { "" }, FileId::as_str);
    let text = format!(
        "SELECT {COLUMNS} FROM files WHERE workspace_id = $1 AND state = 'complete' AND is_listed = 1 AND expires_at > $2 \
         AND id {comparison} $3 AND ($4 = '' OR purpose = $4) ORDER BY id {order} LIMIT $5"
    );
    let listed = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(now.millis()).bind(after);
    let purpose = query.purpose.map_or("", FilePurpose::as_str);
    let listed = listed.bind(purpose).bind(i64::from(query.limit.clamp(1, MAX_LISTED + 1)));
    store.rows(listed).await?.iter().map(from_row).collect()
}

/// Deletes a complete file, and returns whether there was one. Its chunks are removed later.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &FileId, now: Timestamp) -> Result<bool, StoreError> {
    let delete = sqlx::query(
        "UPDATE files SET state = 'deleted', expires_at = 0 \
         WHERE id = $1 AND workspace_id = $2 AND state = 'complete' AND is_listed = 1 AND expires_at > $3",
    );
    Ok(tx.execute(delete.bind(id.as_str()).bind(workspace.as_str()).bind(now.millis())).await? > 0)
}

/// Gives up a file, complete or not.
pub async fn discard(tx: &mut Tx, id: &FileId) -> Result<(), StoreError> {
    let discard = sqlx::query("UPDATE files SET state = 'deleted', expires_at = 0 WHERE id = $1");
    tx.execute(discard.bind(id.as_str())).await.map(drop)
}

/// A chunk of a file, by its number from 0; `None` after the last one.
pub async fn chunk(store: &Store, id: &FileId, number: u64) -> Result<Option<StoredContent>, StoreError> {
    let query = sqlx::query("SELECT content_key, content FROM file_chunks WHERE file_id = $1 AND number = $2");
    let found = store.row(query.bind(id.as_str()).bind(row::to_number(number))).await?;
    found.as_ref().map(content).transpose()
}

/// Removes chunks of one file that was deleted or has expired, and then the file. Returns whether there may be more to do.
pub async fn clear(store: &Store, now: Timestamp) -> Result<bool, StoreError> {
    let query = sqlx::query("SELECT id FROM files WHERE expires_at <= $1 ORDER BY expires_at LIMIT 1");
    let Some(found) = store.row(query.bind(now.millis())).await? else { return Ok(false) };
    let id = row::text(&found, "id")?;
    let mut tx = store.begin().await?;
    let text = format!(
        "DELETE FROM file_chunks WHERE file_id = $1 AND number IN \
         (SELECT number FROM file_chunks WHERE file_id = $1 ORDER BY number LIMIT {CHUNKS})"
    );
    if tx.execute(sqlx::query(AssertSqlSafe(text)).bind(id.as_str())).await? < CHUNKS {
        tx.execute(sqlx::query("DELETE FROM files WHERE id = $1").bind(id.as_str())).await?;
    }
    tx.commit().await?;
    Ok(true)
}

pub(super) fn content(found: &AnyRow) -> Result<StoredContent, StoreError> {
    Ok(StoredContent { key: row::optional_text(found, "content_key")?, bytes: row::bytes(found, "content")? })
}

fn from_row(found: &AnyRow) -> Result<StoredFile, StoreError> {
    Ok(StoredFile {
        id: row::parsed(found, "id", |text| FileId::parse(text).ok())?,
        workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        purpose: row::parsed(found, "purpose", FilePurpose::parse)?,
        filename: row::text(found, "filename")?,
        bytes: row::count(found, "bytes")?,
        created_at: row::moment(found, "created_at")?,
        expires_at: row::moment(found, "expires_at")?,
    })
}
