//! Files: their records, and their content in chunks. It is sealed before it gets here: this module sees only bytes.
//!
//! A chunk in a bucket has a row here, too, which is written before the object and deleted after it. So no object is forgotten.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::stored_bytes::{self, MaxBytes};
use domain::batches::FilePurpose;
use domain::{FileId, StoredFile, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// The most files of a page.
pub const MAX_LISTED: u32 = 10_000;
/// A file that is not complete is given up this long after something was last written: its node has died.
const WRITING_MILLIS: i64 = 2 * 3_600_000;
/// A writer that waits for its client calls [`renew`] after this time.
pub const RENEW_MILLIS: i64 = WRITING_MILLIS / 8;
/// An object of a file that was given up may still be on its way to the bucket for this long.
const ARRIVAL_MILLIS: i64 = 5 * 60_000;
/// The next attempt to delete objects that could not be deleted.
const REPEAT_MILLIS: i64 = 10 * 60_000;
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
    pub is_in_bucket: bool,
}

/// A chunk as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContent {
    /// The id of the key that sealed it; `None` if it is not sealed.
    pub key: Option<String>,
    pub bytes: Vec<u8>,
}

/// A chunk of a complete file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// The bytes of the whole file.
    pub total: u64,
    /// Then the content is empty here.
    pub is_in_bucket: bool,
    /// `None` after the last chunk.
    pub content: Option<StoredContent>,
}

/// The next chunks to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    pub id: FileId,
    pub is_in_bucket: bool,
    /// The numbers of chunks.
    pub chunks: Vec<u64>,
}

/// A bound that leaves no room for files, or for lines of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullStorage {
    pub bound: FileBound,
    /// In bytes.
    pub limit: u64,
}

/// Whose bytes a bound counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileBound {
    /// The bytes of the files of a workspace.
    Workspace,
    /// The bytes of the files and stored responses of an organization.
    Organization,
    /// The bytes of the files of all workspaces, where an organization counts for at most its own bound.
    Total,
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
/// The bytes of all files.
const TOTAL_BYTES: &str = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM stored_file_totals";
/// The same for the bound of all. Results are stored past every bound, so an organization counts for at most its own: what it has
/// beyond leaves the others their room. $1 is the bound of one without its own.
const BOUNDED_BYTES: &str = "SELECT CAST(COALESCE(SUM(CASE WHEN t.bytes > t.bound THEN t.bound ELSE t.bytes END), 0) AS BIGINT) \
     AS bytes FROM (SELECT SUM(f.bytes) AS bytes, COALESCE(MAX(o.max_stored_bytes), $1) AS bound FROM stored_file_totals f \
     LEFT JOIN organizations o ON o.id = f.organization_id GROUP BY f.organization_id) AS t";
const COLUMNS: &str = "id, workspace_id, purpose, filename, bytes, created_at, expires_at";

/// Begins a file without content, which is not listed yet. It counts even if it stays empty. If it exceeds a bound of `max`, the
/// transaction must not be committed.
pub async fn begin(tx: &mut Tx, new: NewFile<'_>, max: Option<MaxBytes>) -> Result<Option<FullStorage>, StoreError> {
    let insert = sqlx::query(
        "INSERT INTO files (id, workspace_id, purpose, filename, bytes, state, is_listed, is_in_bucket, created_at, expires_at) \
         VALUES ($1, $2, $3, '', 0, 'writing', $4, $5, $6, $7)",
    )
    .bind(new.id.as_str())
    .bind(new.workspace.as_str())
    .bind(new.purpose.as_str())
    .bind(i64::from(new.is_listed))
    .bind(i64::from(new.is_in_bucket))
    .bind(new.created_at.millis())
    .bind(given_up_at(new.created_at));
    tx.execute(insert).await?;
    add(tx, new.workspace, LEAST_BYTES).await?;
    exceeded(tx, new.workspace, 0, max, new.created_at).await
}

/// Adds a chunk of `bytes` bytes of content, which is empty here if it goes to a bucket. If it exceeds a bound of `max`, the
/// transaction must not be committed.
pub async fn append(
    tx: &mut Tx,
    file: NewFile<'_>,
    number: u64,
    chunk: &StoredContent,
    bytes: u64,
    (max, now): (Option<MaxBytes>, Timestamp),
) -> Result<Option<FullStorage>, StoreError> {
    let grow = sqlx::query(
        "UPDATE files SET bytes = bytes + $2, expires_at = $3 WHERE id = $1 AND state = 'writing' RETURNING bytes",
    );
    let grow = grow.bind(file.id.as_str()).bind(row::to_number(bytes)).bind(given_up_at(now));
    let grown = tx.row(grow).await?.ok_or_else(|| StoreError::missing("file", file.id.as_str()))?;
    let total = row::count(&grown, "bytes")?;
    add(tx, file.workspace, counted(total) - counted(total.saturating_sub(bytes))).await?;
    let full = exceeded(tx, file.workspace, 0, max, now).await?;
    if full.is_some() {
        return Ok(full);
    }
    let insert = sqlx::query("INSERT INTO file_chunks (file_id, number, content_key, content) VALUES ($1, $2, $3, $4)");
    let insert = insert.bind(file.id.as_str()).bind(row::to_number(number));
    tx.execute(insert.bind(chunk.key.as_deref()).bind(chunk.bytes.as_slice())).await?;
    Ok(None)
}

/// Keeps a file that is being written.
pub async fn renew(tx: &mut Tx, id: &FileId, now: Timestamp) -> Result<(), StoreError> {
    let renew = sqlx::query("UPDATE files SET expires_at = $2 WHERE id = $1 AND state = 'writing'");
    tx.execute_one(renew.bind(id.as_str()).bind(given_up_at(now)), "file", id.as_str()).await
}

const fn given_up_at(written_at: Timestamp) -> i64 {
    written_at.plus_millis(WRITING_MILLIS).millis()
}

/// The bound of `max` that `more` bytes of files of a workspace would exceed. Files that were deleted, have expired or were cut off
/// count for the organization and for all until their chunks are removed, so that uploading and deleting does not fill the disk.
pub async fn exceeded(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    more: u64,
    max: Option<MaxBytes>,
    now: Timestamp,
) -> Result<Option<FullStorage>, StoreError> {
    let Some(max) = max else { return Ok(None) };
    let full = |bound, limit| Ok(Some(FullStorage { bound, limit }));
    if bytes_of(tx, workspace, now).await? + more > max.workspace {
        return full(FileBound::Workspace, max.workspace);
    }
    if let Some(limit) = stored_bytes::exceeded(tx, workspace, more, max.organization).await? {
        return full(FileBound::Organization, limit);
    }
    let bounded = sqlx::query(BOUNDED_BYTES).bind(row::to_number(max.organization));
    if tx.count(bounded, "bytes").await? + more > max.total {
        return full(FileBound::Total, max.total);
    }
    Ok(None)
}

/// The bytes of all files of a workspace. A file counts for at least [`LEAST_BYTES`], until it expires or is given up.
pub async fn bytes_of(tx: &mut Tx, workspace: &WorkspaceId, now: Timestamp) -> Result<u64, StoreError> {
    let text = format!(
        "SELECT CAST(COALESCE(SUM(CASE WHEN bytes < {LEAST_BYTES} THEN {LEAST_BYTES} ELSE bytes END), 0) AS BIGINT) \
         AS bytes FROM files WHERE workspace_id = $1 AND state <> 'deleted' AND expires_at > $2"
    );
    tx.count(sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(now.millis()), "bytes").await
}

/// The bytes of the files of all workspaces, with those that are still to be removed.
pub async fn total_bytes(store: &Store) -> Result<u64, StoreError> {
    store.count(sqlx::query(TOTAL_BYTES), "bytes").await
}

/// What a file of this size takes of the bounds.
fn counted(bytes: u64) -> u64 {
    bytes.max(LEAST_BYTES)
}

/// Adds to the total of a workspace. Its row is locked after that of the file, here and in [`remove`].
async fn add(tx: &mut Tx, workspace: &WorkspaceId, bytes: u64) -> Result<(), StoreError> {
    let add = sqlx::query(
        "INSERT INTO stored_file_totals (workspace_id, organization_id, bytes) \
         VALUES ($1, (SELECT organization_id FROM workspaces WHERE id = $1), $2) ON CONFLICT (workspace_id) \
         DO UPDATE SET bytes = stored_file_totals.bytes + excluded.bytes",
    );
    tx.execute(add.bind(workspace.as_str()).bind(row::to_number(bytes))).await.map(drop)
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

/// Gives up a file, complete or not. Its chunks are removed later.
pub async fn discard(tx: &mut Tx, id: &FileId, now: Timestamp) -> Result<(), StoreError> {
    let text = format!("{DISCARD} WHERE id = $1 AND state <> 'deleted'");
    let discard = sqlx::query(AssertSqlSafe(text)).bind(id.as_str());
    tx.execute(discard.bind(now.plus_millis(ARRIVAL_MILLIS).millis())).await.map(drop)
}

/// With the file, and the moment when all of its objects have arrived.
const DISCARD: &str = "UPDATE files SET state = 'deleted', \
     expires_at = CASE WHEN is_in_bucket = 1 AND state = 'writing' THEN CAST($2 AS BIGINT) ELSE 0 END";

/// A chunk of a file, by its number from 0; `None` if the file is not complete, or not any more.
pub async fn part(store: &Store, id: &FileId, number: u64) -> Result<Option<FilePart>, StoreError> {
    let query = sqlx::query(
        "SELECT f.bytes, f.is_in_bucket, c.number, c.content_key, c.content \
         FROM files f LEFT JOIN file_chunks c ON c.file_id = f.id AND c.number = $2 \
         WHERE f.id = $1 AND f.state = 'complete'",
    );
    let Some(found) = store.row(query.bind(id.as_str()).bind(row::to_number(number))).await? else { return Ok(None) };
    let has_content = row::optional_number(&found, "number")?.is_some();
    let content = if has_content { Some(content(&found)?) } else { None };
    let (total, is_in_bucket) = (row::count(&found, "bytes")?, row::flag(&found, "is_in_bucket")?);
    Ok(Some(FilePart { total, is_in_bucket, content }))
}

/// The next chunks of a file that was deleted, has expired or was given up. From now on, those who read or write the file get an
/// error.
pub async fn next_deletion(store: &Store, from_bucket: bool, now: Timestamp) -> Result<Option<Deletion>, StoreError> {
    loop {
        let query = sqlx::query(
            "SELECT id, state, is_in_bucket FROM files WHERE expires_at <= $1 AND is_in_bucket <= $2 \
             ORDER BY expires_at LIMIT 1",
        );
        let found = store.row(query.bind(now.millis()).bind(i64::from(from_bucket))).await?;
        let Some(found) = found else { return Ok(None) };
        let id = row::parsed(&found, "id", |text| FileId::parse(text).ok())?;
        let is_in_bucket = row::flag(&found, "is_in_bucket")?;
        if row::text(&found, "state")? != "deleted" {
            let text = format!("{DISCARD} WHERE id = $1 AND expires_at <= $3");
            let discard = sqlx::query(AssertSqlSafe(text)).bind(id.as_str());
            let discard = discard.bind(now.plus_millis(ARRIVAL_MILLIS).millis()).bind(now.millis());
            let mut tx = store.begin().await?;
            tx.execute(discard).await?;
            tx.commit().await?;
            continue;
        }
        let text = format!("SELECT number FROM file_chunks WHERE file_id = $1 ORDER BY number LIMIT {CHUNKS}");
        let numbers = store.rows(sqlx::query(AssertSqlSafe(text)).bind(id.as_str())).await?;
        let chunks = numbers.iter().map(|found| row::count(found, "number")).collect::<Result<_, _>>()?;
        return Ok(Some(Deletion { id, is_in_bucket, chunks }));
    }
}

/// Removes chunks of a deleted file, and the file with the last of them.
pub async fn remove(store: &Store, deletion: &Deletion) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    let id = deletion.id.as_str();
    for number in &deletion.chunks {
        let remove = sqlx::query("DELETE FROM file_chunks WHERE file_id = $1 AND number = $2");
        tx.execute(remove.bind(id).bind(row::to_number(*number))).await?;
    }
    if (deletion.chunks.len() as u64) < CHUNKS {
        let remove = sqlx::query("DELETE FROM files WHERE id = $1 RETURNING workspace_id, bytes");
        if let Some(removed) = tx.row(remove.bind(id)).await? {
            subtract(&mut tx, &row::text(&removed, "workspace_id")?, counted(row::count(&removed, "bytes")?)).await?;
        }
    }
    tx.commit().await
}

/// A workspace without files has no total.
async fn subtract(tx: &mut Tx, workspace: &str, bytes: u64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE stored_file_totals SET bytes = bytes - $2 WHERE workspace_id = $1");
    tx.execute(update.bind(workspace).bind(row::to_number(bytes))).await?;
    let remove = sqlx::query("DELETE FROM stored_file_totals WHERE workspace_id = $1 AND bytes <= 0");
    tx.execute(remove.bind(workspace)).await.map(drop)
}

/// Lets other files be deleted before one whose objects cannot be.
pub async fn postpone(store: &Store, id: &FileId, now: Timestamp) -> Result<(), StoreError> {
    let postpone = sqlx::query("UPDATE files SET expires_at = $2 WHERE id = $1 AND state = 'deleted'");
    let mut tx = store.begin().await?;
    tx.execute(postpone.bind(id.as_str()).bind(now.plus_millis(REPEAT_MILLIS).millis())).await?;
    tx.commit().await
}

/// Whether the objects of any file are in a bucket.
pub async fn any_in_bucket(store: &Store) -> Result<bool, StoreError> {
    Ok(store.row(sqlx::query("SELECT id FROM files WHERE is_in_bucket = 1 LIMIT 1")).await?.is_some())
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
