//! Writes a file in chunks.

use super::{BatchError, BatchStorage, Claim};
use crate::entropy;
use domain::batches::FilePurpose;
use domain::{BatchId, FileId, StoredFile, Timestamp, WorkspaceId};
use store::Tx;
use store::batches::files;
use store::content_keys::Scope;
use store::files::{NewFile, RENEW_MILLIS};
use store::stored_bytes::MaxBytes;

/// The content of a chunk.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// A file that is being written. Unless it is completed, it is removed later.
pub struct FileWriter {
    storage: BatchStorage,
    id: FileId,
    workspace: WorkspaceId,
    purpose: FilePurpose,
    is_listed: bool,
    now: fn() -> Timestamp,
    created_at: Timestamp,
    /// When the store last learned that this writer lives.
    renewed_at: Timestamp,
    /// `None` for results.
    max_bytes: Option<MaxBytes>,
    /// The batch whose results it has, and the node that writes them.
    owner: Option<(BatchId, Claim)>,
    buffer: Vec<u8>,
    chunks: u64,
    bytes: u64,
    /// Lines that are not empty, with the last one as far as it was written.
    lines: u64,
    is_in_line: bool,
}

/// A file that is written and not complete yet.
#[derive(Debug, Clone)]
pub struct WrittenFile {
    pub id: FileId,
    workspace: WorkspaceId,
    purpose: FilePurpose,
    pub bytes: u64,
    pub(super) created_at: Timestamp,
}

impl FileWriter {
    /// A file that a client uploads.
    pub async fn upload(
        storage: &BatchStorage,
        workspace: WorkspaceId,
        now: fn() -> Timestamp,
    ) -> Result<Self, BatchError> {
        let max_bytes = Some(storage.bounds.max_bytes);
        Self::begin(storage, workspace, FilePurpose::Batch, (true, max_bytes), None, now).await
    }

    /// A file of results. They are stored even if there is no room.
    pub(super) async fn results(
        storage: &BatchStorage,
        workspace: WorkspaceId,
        is_listed: bool,
        owner: (BatchId, Claim),
    ) -> Result<Self, BatchError> {
        let now = owner.1.now;
        Self::begin(storage, workspace, FilePurpose::BatchOutput, (is_listed, None), Some(owner), now).await
    }

    async fn begin(
        storage: &BatchStorage,
        workspace: WorkspaceId,
        purpose: FilePurpose,
        (is_listed, max_bytes): (bool, Option<MaxBytes>),
        owner: Option<(BatchId, Claim)>,
        now: fn() -> Timestamp,
    ) -> Result<Self, BatchError> {
        let created_at = now();
        let writer = Self {
            storage: storage.clone(),
            id: FileId::new(created_at, entropy::in_order()),
            workspace,
            purpose,
            is_listed,
            now,
            created_at,
            renewed_at: created_at,
            max_bytes,
            owner,
            buffer: Vec::new(),
            chunks: 0,
            bytes: 0,
            lines: 0,
            is_in_line: false,
        };
        let mut tx = writer.begin_tx().await?;
        if let Some(full) = files::begin(&mut tx, writer.new_file(), max_bytes).await? {
            return Err(BatchError::Full(full));
        }
        tx.commit().await?;
        Ok(writer)
    }

    fn new_file(&self) -> NewFile<'_> {
        let Self { id, workspace, purpose, created_at, is_listed, .. } = self;
        NewFile {
            id,
            workspace,
            purpose: *purpose,
            created_at: *created_at,
            is_listed: *is_listed,
            is_in_bucket: self.storage.objects.are_written(),
        }
    }

    /// Begins a transaction, in which this run owns the batch of the results.
    async fn begin_tx(&self) -> Result<Tx, BatchError> {
        match &self.owner {
            Some((batch, claim)) => self.storage.begin_owned(batch, claim).await,
            None => Ok(self.storage.store.begin().await?),
        }
    }

    /// Writes more of the content. If that fails, the file is removed.
    pub async fn write(&mut self, piece: &[u8]) -> Result<(), BatchError> {
        let written = self.write_piece(piece).await;
        if written.is_err() {
            self.discard().await;
        }
        written
    }

    async fn write_piece(&mut self, piece: &[u8]) -> Result<(), BatchError> {
        self.bytes += piece.len() as u64;
        self.count_lines(piece);
        if self.purpose == FilePurpose::Batch {
            let bounds = &self.storage.bounds;
            if self.bytes > bounds.file_bytes {
                return Err(BatchError::FileTooLarge { limit: bounds.file_bytes });
            }
            if self.lines > bounds.file_lines {
                return Err(BatchError::TooManyLines { limit: bounds.file_lines });
            }
        }
        self.renew().await?;
        let mut rest = piece;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CHUNK_BYTES - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            rest = later;
            if self.buffer.len() == CHUNK_BYTES {
                self.write_chunk().await?;
            }
        }
        Ok(())
    }

    /// Keeps the file while its client sends slowly.
    async fn renew(&mut self) -> Result<(), BatchError> {
        let now = (self.now)();
        if now < self.renewed_at.plus_millis(RENEW_MILLIS) {
            return Ok(());
        }
        let mut tx = self.storage.store.begin().await?;
        files::renew(&mut tx, &self.id, now).await?;
        tx.commit().await?;
        self.renewed_at = now;
        Ok(())
    }

    fn count_lines(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if !self.is_in_line && !part.trim_ascii().is_empty() {
                self.is_in_line = true;
                self.lines += 1;
            }
            self.is_in_line &= !part.ends_with(b"\n");
        }
    }

    async fn write_chunk(&mut self) -> Result<(), BatchError> {
        let content = std::mem::take(&mut self.buffer);
        let bytes = content.len() as u64;
        let scope = Scope::FileChunk { file: &self.id, chunk: &self.chunks.to_string() };
        let chunk = self.storage.content.seal(scope, content);
        // The row is written before the object, so that no object is forgotten.
        let (chunk, object) = self.storage.objects.split(chunk);
        let mut tx = self.begin_tx().await?;
        let now = (self.now)();
        let bound = (self.max_bytes, now);
        if let Some(full) = files::append(&mut tx, self.new_file(), self.chunks, &chunk, bytes, bound).await? {
            return Err(BatchError::Full(full));
        }
        tx.commit().await?;
        if let Some(object) = object {
            self.storage.objects.put(&self.id, self.chunks, object).await?;
        }
        self.chunks += 1;
        self.renewed_at = now;
        Ok(())
    }

    /// Writes what is left. The file is to be completed then; if that fails, it is removed.
    pub async fn finish(&mut self) -> Result<WrittenFile, BatchError> {
        if !self.buffer.is_empty()
            && let Err(error) = self.write_chunk().await
        {
            self.discard().await;
            return Err(error);
        }
        let Self { purpose, created_at, bytes, .. } = *self;
        Ok(WrittenFile { id: self.id.clone(), workspace: self.workspace.clone(), purpose, bytes, created_at })
    }

    /// Removes the file. If the store cannot be reached, it is removed once it counts as given up.
    pub async fn discard(&self) {
        let discard = async {
            let mut tx = self.storage.store.begin().await?;
            files::discard(&mut tx, &self.id, (self.now)()).await?;
            tx.commit().await
        };
        if let Err(error) = discard.await {
            tracing::debug!(?error, "{} is removed later", self.id);
        }
    }
}

impl WrittenFile {
    /// Completes the file in the transaction of the caller.
    pub(super) async fn complete(
        self,
        tx: &mut Tx,
        filename: &str,
        expires_at: Timestamp,
    ) -> Result<StoredFile, BatchError> {
        files::complete(tx, &self.id, filename, expires_at).await?;
        let Self { id, workspace, purpose, bytes, created_at } = self;
        Ok(StoredFile { id, workspace, purpose, filename: filename.to_owned(), bytes, created_at, expires_at })
    }
}

impl BatchStorage {
    /// Completes an uploaded file, which is kept for `seconds` if its owner says so.
    pub async fn complete_upload(
        &self,
        written: WrittenFile,
        filename: &str,
        seconds: Option<u64>,
    ) -> Result<StoredFile, BatchError> {
        let expires_at = self.expiry(written.created_at, seconds);
        let mut tx = self.store.begin().await?;
        let file = written.complete(&mut tx, filename, expires_at).await?;
        tx.commit().await?;
        Ok(file)
    }

    pub(super) fn expiry(&self, from: Timestamp, seconds: Option<u64>) -> Timestamp {
        let kept = u64::try_from(self.bounds.retention.as_millis()).unwrap_or(u64::MAX);
        let millis = seconds.map_or(kept, |seconds| (seconds * 1_000).min(kept));
        from.plus_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}
