//! Stored responses: encrypted where they are stored, found by the workspace that they belong to, deleted when they are too old.
//!
//! A response is stored with its own input and the id of the response that it continues. A conversation is read along that
//! chain, so no content outlives its own retention, and deleting a response deletes its content everywhere.
//!
//! Storing never fails a call: the response then says `store: false`.

mod conversation;
mod items;
mod memory;
mod retention;
mod sealed;
mod turns;

pub use conversation::ConversationError;
pub use items::{FoundItem, Item, ItemOrder, ItemPage, ItemQuery};
pub use memory::{ContentMemory, NoContentMemory};
pub use retention::{clear_all, clear_if_leading};

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use bytes::Bytes;
use domain::{Caller, ResponseRetention, Timestamp, WorkspaceId};
use sealed::SealedContent;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::content_keys::{ContentKeys, Scope};
use store::responses::{self, Insert, NewResponse, SealedResponse};
use store::stored_bytes::MaxBytes;
use store::{Store, StoreError};
use turns::ContentTurns;

/// The most content of one response, with its input. A larger one is not stored.
pub const MAX_RESPONSE_BYTES: usize = 16 << 20;
/// A client waits for the end of its response until it is stored.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Ids are shorter; a longer text is the id of no response.
const MAX_ID_BYTES: usize = 128;

/// The bounds of stored responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The content of all responses of a workspace.
    pub workspace_bytes: u64,
    /// The content of all responses of an organization without a bound of its own.
    pub organization_bytes: u64,
    /// The content of all responses in the store.
    pub total_bytes: u64,
    /// The content of a conversation that a call continues.
    pub conversation_bytes: u64,
}

/// Stores responses and finds them again. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ResponseStorage {
    store: Store,
    keys: Option<ContentKeys>,
    bounds: Bounds,
    reading: ContentTurns,
    /// Separate turns, because a response that cannot be stored is lost.
    writing: ContentTurns,
    /// The content of all responses in the store when it was last looked at.
    total: Arc<AtomicU64>,
    /// Whether the last save failed, so that an outage is logged once.
    failing: Arc<AtomicBool>,
    not_stored: Arc<NotStoredCounts>,
}

/// Responses of workspaces that store them which were not stored.
#[derive(Debug, Default)]
struct NotStoredCounts {
    too_large: AtomicU64,
    full: AtomicU64,
    store_full: AtomicU64,
    failed: AtomicU64,
}

/// A response to be stored.
#[derive(Clone)]
pub struct CompletedResponse {
    pub id: String,
    /// The response that it continues.
    pub previous: Option<String>,
    /// Its own input, without references: a JSON array of items.
    pub input: Bytes,
    /// The response object as JSON.
    pub response: Bytes,
}

impl CompletedResponse {
    fn bytes(&self) -> usize {
        self.input.len() + self.response.len()
    }
}

/// Why a response was not stored. The call is not affected.
#[derive(Debug, thiserror::Error)]
pub enum NotStored {
    #[error("the workspace does not store responses")]
    Off,
    #[error("a response of {bytes} bytes is too large to be stored")]
    TooLarge { bytes: usize },
    #[error("the workspace, or its organization, has no room for more stored responses")]
    Full,
    #[error("the store has no room for more stored responses")]
    StoreFull,
    #[error("the store failed")]
    Failed(#[source] CommandError),
}

/// What is needed to read or write the responses of a caller.
struct Access<'a> {
    keys: &'a ContentKeys,
    retention: ResponseRetention,
}

impl Access<'_> {
    fn sealed(&self, caller: &Caller, responses: Vec<SealedResponse>) -> SealedContent {
        SealedContent { keys: self.keys.clone(), workspace: caller.workspace.clone(), responses }
    }
}

impl ResponseStorage {
    pub fn new(store: Store, keys: Option<ContentKeys>, bounds: Bounds) -> Self {
        Self {
            store,
            keys,
            bounds,
            reading: ContentTurns::default(),
            writing: ContentTurns::default(),
            total: Arc::default(),
            failing: Arc::default(),
            not_stored: Arc::default(),
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether the caller's responses are stored.
    pub fn is_on(&self, caller: &Caller) -> bool {
        self.access(caller).is_some()
    }

    /// `None` if the workspace does not store responses, or if the operator has removed the content keys.
    fn access(&self, caller: &Caller) -> Option<Access<'_>> {
        Some(Access { keys: self.keys.as_ref()?, retention: caller.response_retention? })
    }

    /// The number of responses that could not be stored, by reason.
    pub fn not_stored(&self) -> [(&'static str, u64); 4] {
        let NotStoredCounts { too_large, full, store_full, failed } = &*self.not_stored;
        [("too_large", too_large), ("full", full), ("store_full", store_full), ("failed", failed)]
            .map(|(reason, count)| (reason, count.load(Ordering::Relaxed)))
    }

    /// The bytes of all stored responses, when they were last counted.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The bytes that all stored responses may have.
    pub fn max_total(&self) -> u64 {
        self.bounds.total_bytes
    }

    /// Counts what is stored, on all nodes.
    pub async fn count_total(&self) -> Result<(), StoreError> {
        self.total.store(responses::total_bytes(&self.store).await?, Ordering::Relaxed);
        Ok(())
    }

    /// Stores a response. On return it can be found on every node.
    pub async fn save(
        &self,
        caller: &Caller,
        completed: CompletedResponse,
        now: Timestamp,
        memory: &dyn ContentMemory,
    ) -> Result<(), NotStored> {
        let saved = self.try_save(caller, completed, now, memory).await;
        let count = match &saved {
            Ok(()) | Err(NotStored::Off) => return saved,
            Err(NotStored::TooLarge { .. }) => &self.not_stored.too_large,
            Err(NotStored::Full) => &self.not_stored.full,
            Err(NotStored::StoreFull) => &self.not_stored.store_full,
            Err(NotStored::Failed(_)) => &self.not_stored.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        saved
    }

    async fn try_save(
        &self,
        caller: &Caller,
        completed: CompletedResponse,
        now: Timestamp,
        memory: &dyn ContentMemory,
    ) -> Result<(), NotStored> {
        let access = self.access(caller).ok_or(NotStored::Off)?;
        let bytes = completed.bytes();
        if bytes > MAX_RESPONSE_BYTES {
            return Err(NotStored::TooLarge { bytes });
        }
        let saved = tokio::time::timeout(SAVE_TIMEOUT, self.write(caller, &access, completed, now, memory)).await;
        let saved = saved.unwrap_or_else(|elapsed| Err(StoreError::Unavailable(Box::new(elapsed)).into()));
        self.note(saved.as_ref().err());
        match saved.map_err(NotStored::Failed)? {
            Insert::Done => Ok(()),
            Insert::Full => Err(NotStored::Full),
            Insert::StoreFull => Err(NotStored::StoreFull),
        }
    }

    async fn write(
        &self,
        caller: &Caller,
        access: &Access<'_>,
        completed: CompletedResponse,
        now: Timestamp,
        memory: &dyn ContentMemory,
    ) -> Result<Insert, CommandError> {
        let _turn = self.writing.turn(caller).await?;
        let (keys, workspace) = (access.keys.clone(), caller.workspace.clone());
        let bytes = completed.bytes() as u64;
        let seal = move || seal(&keys, &workspace, completed, now);
        let new = memory::work(memory, bytes, seal).await?;
        let mut tx = self.store.begin().await?;
        let Bounds { workspace_bytes: workspace, organization_bytes: organization, total_bytes: total, .. } =
            self.bounds;
        let max = MaxBytes { workspace, organization, total };
        let inserted = responses::insert(&mut tx, &new, max).await?;
        if inserted == Insert::Done {
            tx.commit().await?;
        }
        Ok(inserted)
    }

    /// The response object, as JSON.
    pub async fn find(
        &self,
        caller: &Caller,
        id: &str,
        now: Timestamp,
        memory: &mut dyn ContentMemory,
    ) -> Result<Option<Vec<u8>>, ConversationError> {
        let Some(access) = self.access(caller).filter(|_| id.len() <= MAX_ID_BYTES) else { return Ok(None) };
        let _turn = self.reading.turn(caller).await?;
        let since = access.retention.kept_from(now);
        let bytes = responses::size(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        let Some(bytes) = bytes else { return Ok(None) };
        memory::reserve(memory, bytes)?;
        let found = responses::find(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        let sealed = access.sealed(caller, found.into_iter().collect());
        Ok(memory::work(memory, bytes, || sealed.open_first()).await?)
    }

    /// The items that a response was generated from: its conversation, as far as it is still stored, and its own input.
    /// `None` if there is no such response.
    pub async fn input_items(
        &self,
        caller: &Caller,
        id: &str,
        query: ItemQuery,
        now: Timestamp,
        memory: &mut dyn ContentMemory,
    ) -> Result<Option<ItemPage>, ConversationError> {
        let Some(access) = self.access(caller).filter(|_| id.len() <= MAX_ID_BYTES) else { return Ok(None) };
        let _turn = self.reading.turn(caller).await?;
        let since = access.retention.kept_from(now);
        let chain = responses::chain(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        // What a response continued was within the bound of a conversation.
        let limit = self.bounds.conversation_bytes + MAX_RESPONSE_BYTES as u64;
        let bytes = conversation::bounded_size(&chain, limit)?;
        memory::reserve(memory, bytes)?;
        let content = responses::chain_content(&self.store, &caller.workspace, id, since).await;
        let sealed = access.sealed(caller, content.map_err(CommandError::from)?);
        let id = id.to_owned();
        Ok(memory::work(memory, bytes, move || sealed.open_page(&id, &query)).await?)
    }

    /// Deletes a response, and returns whether there was one. Deletions by people are recorded in the audit log.
    pub async fn delete(&self, command: Command<'_>, caller: &Caller, id: &str) -> Result<bool, CommandError> {
        let Some(access) = self.access(caller).filter(|_| id.len() <= MAX_ID_BYTES) else { return Ok(false) };
        let since = access.retention.kept_from(command.now);
        let mut tx = command.store.begin().await?;
        let is_deleted = responses::delete(&mut tx, &caller.workspace, id, since).await?;
        if is_deleted {
            let change = AuditedChange::new("response.delete", Some(&caller.organization), id)
                .before(json!({ "workspaceId": caller.workspace }));
            command.record_of_user(&mut tx, change).await?;
        }
        tx.commit().await?;
        Ok(is_deleted)
    }

    /// Logs the first failure and the first success after it.
    fn note(&self, failure: Option<&CommandError>) {
        let was_failing = self.failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(error) if !was_failing => tracing::warn!(?error, "responses cannot be stored; calls are served"),
            Some(error) => tracing::debug!(?error, "a response could not be stored"),
            None if was_failing => tracing::info!("responses are stored again"),
            None => {}
        }
    }
}

/// Encrypts a response, and reads the ids of its output items.
fn seal(
    keys: &ContentKeys,
    workspace: &WorkspaceId,
    completed: CompletedResponse,
    created_at: Timestamp,
) -> Result<NewResponse, CommandError> {
    let CompletedResponse { id, previous, input, response } = completed;
    Ok(NewResponse {
        items: items::output_ids(&response).map_err(internal)?,
        input: keys.seal(Scope::ResponseInput { workspace, response: &id }, &input),
        response: keys.seal(Scope::Response { workspace, response: &id }, &response),
        content_key: keys.sealing_key().as_str().to_owned(),
        workspace: workspace.clone(),
        id,
        previous,
        created_at,
    })
}

fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> CommandError {
    CommandError::Internal { cause: Box::new(cause) }
}
