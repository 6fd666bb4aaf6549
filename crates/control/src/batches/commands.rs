//! Commands on files and batches.

use super::{BatchError, BatchStorage};
use crate::command::{AuditedChange, Command};
use crate::entropy;
use domain::batches::{
    Batch, BatchEndpoint, BatchStatus, COMPLETION_WINDOW_MILLIS, FilePurpose, LineCounts, LineUsage, OutputExpiry,
};
use domain::{BatchId, Caller, FileId, NanoUsd, StoredFile, Timestamp, WorkspaceId};
use serde_json::json;
use std::collections::BTreeMap;
use store::batches::{self, BatchQuery};
use store::files::{self, FileQuery};
use store::idempotency::{self, Claim, Request};
use store::{StoreError, Tx, workspaces};

/// A batch of a file.
#[derive(Debug, Clone)]
pub struct NewBatch {
    pub endpoint: BatchEndpoint,
    pub input_file: FileId,
    pub output_expiry: Option<OutputExpiry>,
    pub metadata: Option<BTreeMap<String, String>>,
    /// The idempotency key, and a digest of the request.
    pub idempotency: Option<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct FilePage {
    pub files: Vec<StoredFile>,
    pub has_more: bool,
}

#[derive(Debug, Clone)]
pub struct BatchPage {
    pub batches: Vec<Batch>,
    pub has_more: bool,
}

impl NewBatch {
    fn into_batch(self, caller: &Caller, now: Timestamp) -> Batch {
        let Self { endpoint, input_file, output_expiry, metadata, idempotency: _ } = self;
        Batch { input_file: Some(input_file), output_expiry, metadata, ..blank(caller, endpoint, now) }
    }
}

/// A new batch without lines.
pub(super) fn blank(caller: &Caller, endpoint: BatchEndpoint, now: Timestamp) -> Batch {
    Batch {
        id: BatchId::new(now, entropy::in_order()),
        organization: caller.organization.clone(),
        workspace: caller.workspace.clone(),
        actor: caller.actor.clone(),
        endpoint,
        status: BatchStatus::Validating,
        model: None,
        input_file: None,
        output_file: None,
        error_file: None,
        output_expiry: None,
        metadata: None,
        problems: Vec::new(),
        counts: LineCounts::default(),
        usage: LineUsage::default(),
        cost: NanoUsd::ZERO,
        created_at: now,
        in_progress_at: None,
        expires_at: now.plus_millis(COMPLETION_WINDOW_MILLIS),
        finalizing_at: None,
        completed_at: None,
        failed_at: None,
        expired_at: None,
        cancelling_at: None,
        cancelled_at: None,
    }
}

impl BatchStorage {
    /// Creates a batch. The same idempotency key returns the same batch.
    pub async fn create(&self, command: Command<'_>, caller: &Caller, new: NewBatch) -> Result<Batch, BatchError> {
        let (idempotency, now) = (new.idempotency.clone(), command.now);
        // Before the transaction: many that wait for a second connection would keep all of them. A request that is repeated gets its
        // batch even if the file is gone.
        let checked = self.check_input(caller, &new, now).await;
        let mut tx = command.store.begin().await?;
        let request = request_of(&caller.workspace, idempotency.as_ref());
        if let Some(id) = made_before(&mut tx, request, now).await? {
            drop(tx);
            return self.find(&caller.workspace, &id).await;
        }
        checked?;
        let batch = new.into_batch(caller, now);
        self.lock(&mut tx, &batch).await?;
        self.insert(&mut tx, &batch, request).await?;
        record_creation(command, &mut tx, &batch).await?;
        tx.commit().await?;
        self.nudge.notify_one();
        Ok(batch)
    }

    async fn check_input(&self, caller: &Caller, new: &NewBatch, now: Timestamp) -> Result<(), BatchError> {
        match files::find(&self.store, &caller.workspace, &new.input_file, now).await? {
            None => Err(BatchError::Missing { noun: "input file", id: new.input_file.to_string() }),
            Some(file) if file.purpose == FilePurpose::Batch => Ok(()),
            Some(file) => {
                let why = format!("the file has the purpose `{}`; that of an input is `batch`", file.purpose.as_str());
                Err(BatchError::Invalid { param: "input_file_id".to_owned(), why })
            }
        }
    }

    /// Locks the workspace, whose batches and files are counted next, and rejects a batch if its files have no room: results
    /// are stored whatever their size.
    pub(super) async fn lock(&self, tx: &mut Tx, batch: &Batch) -> Result<(), BatchError> {
        workspaces::lock(tx, &batch.workspace).await?;
        match files::exceeded(tx, &batch.workspace, 1, Some(self.bounds.max_bytes), batch.created_at).await? {
            Some(full) => Err(BatchError::Full(full)),
            None => Ok(()),
        }
    }

    pub(super) async fn insert(
        &self,
        tx: &mut Tx,
        batch: &Batch,
        request: Option<Request<'_>>,
    ) -> Result<(), BatchError> {
        let limit = self.bounds.open_batches;
        if !batches::insert_open(tx, batch, limit).await? {
            return Err(BatchError::TooManyBatches { limit });
        }
        if let Some(request) = request {
            idempotency::complete(tx, request, "batch", batch.id.as_str()).await?;
        }
        Ok(())
    }

    pub async fn find(&self, workspace: &WorkspaceId, id: &BatchId) -> Result<Batch, BatchError> {
        batches::find(&self.store, workspace, id).await?.ok_or_else(|| missing(id))
    }

    /// A batch of a file.
    pub async fn find_of_files(&self, workspace: &WorkspaceId, id: &BatchId) -> Result<Batch, BatchError> {
        let batch = self.find(workspace, id).await?;
        if batch.endpoint.is_messages() { Err(missing(id)) } else { Ok(batch) }
    }

    /// A batch of messages.
    pub async fn find_of_messages(&self, workspace: &WorkspaceId, id: &BatchId) -> Result<Batch, BatchError> {
        let batch = self.find(workspace, id).await?;
        if batch.endpoint.is_messages() { Ok(batch) } else { Err(missing(id)) }
    }

    /// A page of batches; `query.limit` is the size of the page.
    pub async fn list(&self, workspace: &WorkspaceId, query: BatchQuery<'_>) -> Result<BatchPage, BatchError> {
        let wanted = query.limit;
        let query = BatchQuery { limit: wanted + 1, ..query };
        let mut batches = batches::list(&self.store, workspace, query).await?;
        let has_more = batches.len() > wanted as usize;
        if has_more && query.after.is_none() && query.before.is_some() {
            batches.remove(0);
        }
        batches.truncate(wanted as usize);
        Ok(BatchPage { batches, has_more })
    }

    /// Begins to cancel a batch. One that is being cancelled already is returned as it is.
    pub async fn cancel(
        &self,
        command: Command<'_>,
        workspace: &WorkspaceId,
        id: &BatchId,
    ) -> Result<Batch, BatchError> {
        let mut tx = command.store.begin().await?;
        let batch = batches::cancel(&mut tx, Some(workspace), id, command.now).await?.ok_or_else(|| missing(id))?;
        if batch.cancelling_at == Some(command.now) {
            let change = AuditedChange::new("batch.cancel", Some(&batch.organization), id.as_str());
            command.record_of_user(&mut tx, change.after(json!({ "workspaceId": workspace }))).await?;
        }
        tx.commit().await?;
        self.nudge.notify_one();
        if batch.status.is_open() || batch.endpoint.is_messages() {
            return Ok(batch);
        }
        Err(BatchError::NotCancellable { status: batch.status.as_str() })
    }

    /// Deletes a batch that has ended, with its hidden results.
    pub async fn delete(&self, command: Command<'_>, workspace: &WorkspaceId, id: &BatchId) -> Result<(), BatchError> {
        let batch = self.find(workspace, id).await?;
        let mut tx = command.store.begin().await?;
        if !batches::delete(&mut tx, workspace, id).await? {
            return Err(BatchError::NotEnded);
        }
        let change = AuditedChange::new("batch.delete", Some(&batch.organization), id.as_str());
        command.record_of_user(&mut tx, change.before(json!({ "workspaceId": workspace }))).await?;
        if batch.endpoint.is_messages() {
            for results in batch.output_file.iter().chain(&batch.error_file) {
                files::discard(&mut tx, results, command.now).await?;
            }
        }
        Ok(tx.commit().await?)
    }

    pub async fn file(&self, workspace: &WorkspaceId, id: &FileId, now: Timestamp) -> Result<StoredFile, BatchError> {
        let found = files::find(&self.store, workspace, id, now).await?;
        found.ok_or_else(|| BatchError::Missing { noun: "file", id: id.to_string() })
    }

    /// A page of files; `query.limit` is the size of the page.
    pub async fn files(
        &self,
        workspace: &WorkspaceId,
        query: FileQuery<'_>,
        now: Timestamp,
    ) -> Result<FilePage, BatchError> {
        let wanted = query.limit;
        let mut files = files::list(&self.store, workspace, FileQuery { limit: wanted + 1, ..query }, now).await?;
        let has_more = files.len() > wanted as usize;
        files.truncate(wanted as usize);
        Ok(FilePage { files, has_more })
    }

    pub async fn delete_file(&self, command: Command<'_>, caller: &Caller, id: &FileId) -> Result<(), BatchError> {
        let mut tx = command.store.begin().await?;
        if !files::delete(&mut tx, &caller.workspace, id, command.now).await? {
            return Err(BatchError::Missing { noun: "file", id: id.to_string() });
        }
        let change = AuditedChange::new("file.delete", Some(&caller.organization), id.as_str());
        command.record_of_user(&mut tx, change.before(json!({ "workspaceId": caller.workspace }))).await?;
        Ok(tx.commit().await?)
    }
}

pub(super) async fn record_creation(command: Command<'_>, tx: &mut Tx, batch: &Batch) -> Result<(), StoreError> {
    let after = json!({ "workspaceId": batch.workspace, "endpoint": batch.endpoint.as_str() });
    let change = AuditedChange::new("batch.create", Some(&batch.organization), batch.id.as_str()).after(after);
    command.record_of_user(tx, change).await
}

/// Begins to cancel a batch of any workspace, for the operator.
pub async fn cancel(command: Command<'_>, id: &BatchId) -> Result<Batch, BatchError> {
    let mut tx = command.store.begin().await?;
    let batch = batches::cancel(&mut tx, None, id, command.now).await?.ok_or_else(|| missing(id))?;
    if batch.cancelling_at != Some(command.now) {
        return Err(BatchError::NotCancellable { status: batch.status.as_str() });
    }
    command.record(&mut tx, AuditedChange::new("batch.cancel", Some(&batch.organization), id.as_str())).await?;
    tx.commit().await?;
    Ok(batch)
}

/// A request with an idempotency key and its digest.
pub(super) fn request_of<'a>(
    workspace: &'a WorkspaceId,
    idempotency: Option<&'a (String, String)>,
) -> Option<Request<'a>> {
    idempotency.map(|(key, fingerprint)| Request { workspace, key, fingerprint })
}

/// The batch that the same request has made before. Its key is locked by the transaction if there is none.
pub(super) async fn made_before(
    tx: &mut Tx,
    request: Option<Request<'_>>,
    now: Timestamp,
) -> Result<Option<BatchId>, BatchError> {
    let Some(request) = request else { return Ok(None) };
    match idempotency::claim(tx, request, now).await? {
        Claim::New => Ok(None),
        Claim::Completed { response, .. } => BatchId::parse(&response).map(Some).map_err(|_| BatchError::KeyReused),
        Claim::Reused => Err(BatchError::KeyReused),
    }
}

fn missing(id: &BatchId) -> BatchError {
    BatchError::Missing { noun: "batch", id: id.to_string() }
}
