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

pub use conversation::ConversationError;
pub use items::{Item, ItemOrder, ItemPage, ItemQuery};
pub use memory::{ContentMemory, NoContentMemory};
pub use retention::{clear_all, clear_if_leading};

use crate::command::{AuditedChange, Author, Command};
use crate::command_error::CommandError;
use domain::{Caller, ResponseRetention, Timestamp};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::content_keys::{ContentKeys, OpenError, Scope};
use store::responses::{self, Insert, NewResponse, SealedResponse};
use store::{Store, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most content of one response, with its input. A larger one is not stored.
pub const MAX_RESPONSE_BYTES: usize = 16 << 20;
/// A client waits for the end of its response until it is stored.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Responses that are read or written at once. Each may be large.
const MAX_AT_ONCE: usize = 4;
const TURN_TIMEOUT: Duration = Duration::from_secs(3);
/// Ids are shorter; a longer text is the id of no response.
const MAX_ID_BYTES: usize = 128;

/// The bounds of stored responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The content of all responses of a workspace.
    pub workspace_bytes: u64,
    /// The content of a conversation that a call continues.
    pub conversation_bytes: u64,
}

/// Stores responses and finds them again. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ResponseStorage {
    store: Store,
    keys: Option<ContentKeys>,
    bounds: Bounds,
    turns: Arc<Semaphore>,
    /// Whether the last save failed, so that an outage is logged once.
    failing: Arc<AtomicBool>,
    not_stored: Arc<NotStoredCounts>,
}

/// Responses of workspaces that store them which were not stored.
#[derive(Debug, Default)]
struct NotStoredCounts {
    too_large: AtomicU64,
    full: AtomicU64,
    failed: AtomicU64,
}

/// A response to be stored.
#[derive(Clone, Copy)]
pub struct CompletedResponse<'a> {
    pub id: &'a str,
    /// The response that it continues.
    pub previous: Option<&'a str>,
    /// Its own input, without references: a JSON array of items.
    pub input: &'a [u8],
    /// The response object as JSON.
    pub response: &'a [u8],
}

/// Why a response was not stored. The call is not affected.
#[derive(Debug, thiserror::Error)]
pub enum NotStored {
    #[error("the workspace does not store responses")]
    Off,
    #[error("a response of {bytes} bytes is too large to be stored")]
    TooLarge { bytes: usize },
    #[error("the workspace has no room for more stored responses")]
    Full,
    #[error("the store failed")]
    Failed(#[source] CommandError),
}

/// What is needed to read or write the responses of a caller.
struct Access<'a> {
    keys: &'a ContentKeys,
    retention: ResponseRetention,
}

impl ResponseStorage {
    pub fn new(store: Store, keys: Option<ContentKeys>, bounds: Bounds) -> Self {
        let turns = Arc::new(Semaphore::new(MAX_AT_ONCE));
        Self { store, keys, bounds, turns, failing: Arc::default(), not_stored: Arc::default() }
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
    pub fn not_stored(&self) -> [(&'static str, u64); 3] {
        let NotStoredCounts { too_large, full, failed } = &*self.not_stored;
        [("too_large", too_large), ("full", full), ("failed", failed)]
            .map(|(reason, count)| (reason, count.load(Ordering::Relaxed)))
    }

    /// Stores a response. On return it can be found on every node.
    pub async fn save(
        &self,
        caller: &Caller,
        completed: CompletedResponse<'_>,
        now: Timestamp,
    ) -> Result<(), NotStored> {
        let saved = self.try_save(caller, completed, now).await;
        let count = match &saved {
            Ok(()) | Err(NotStored::Off) => return saved,
            Err(NotStored::TooLarge { .. }) => &self.not_stored.too_large,
            Err(NotStored::Full) => &self.not_stored.full,
            Err(NotStored::Failed(_)) => &self.not_stored.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        saved
    }

    async fn try_save(
        &self,
        caller: &Caller,
        completed: CompletedResponse<'_>,
        now: Timestamp,
    ) -> Result<(), NotStored> {
        let access = self.access(caller).ok_or(NotStored::Off)?;
        let bytes = completed.input.len() + completed.response.len();
        if bytes > MAX_RESPONSE_BYTES {
            return Err(NotStored::TooLarge { bytes });
        }
        let saved = tokio::time::timeout(SAVE_TIMEOUT, self.write(caller, &access, completed, now)).await;
        let saved = saved.unwrap_or_else(|elapsed| Err(StoreError::Unavailable(Box::new(elapsed)).into()));
        self.note(saved.as_ref().err());
        match saved.map_err(NotStored::Failed)? {
            Insert::Done => Ok(()),
            Insert::Full => Err(NotStored::Full),
        }
    }

    async fn write(
        &self,
        caller: &Caller,
        access: &Access<'_>,
        completed: CompletedResponse<'_>,
        now: Timestamp,
    ) -> Result<Insert, CommandError> {
        let _turn = self.turn().await?;
        let CompletedResponse { id, previous, input, response } = completed;
        let items = items::output_ids(response).map_err(internal)?;
        let workspace = &caller.workspace;
        let content_key = access.keys.sealing_key();
        let new = NewResponse {
            workspace,
            id,
            previous,
            created_at: now,
            content_key: content_key.as_str(),
            input: access.keys.seal(Scope::ResponseInput { workspace, response: id }, input),
            response: access.keys.seal(Scope::Response { workspace, response: id }, response),
            items: &items,
        };
        let mut tx = self.store.begin().await?;
        let inserted = responses::insert(&mut tx, &new, self.bounds.workspace_bytes).await?;
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
        let _turn = self.turn().await?;
        let since = access.retention.kept_from(now);
        let bytes = responses::size(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        let Some(bytes) = bytes else { return Ok(None) };
        memory::reserve(memory, bytes)?;
        let found = responses::find(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        let Some(sealed) = found else { return Ok(None) };
        Ok(open_response(&access, caller, &sealed)?)
    }

    /// The items that a response was generated from: its conversation, as far as it is still stored, and its own input.
    /// `None` if there is no such response.
    pub async fn input_items(
        &self,
        caller: &Caller,
        id: &str,
        query: &ItemQuery,
        now: Timestamp,
        memory: &mut dyn ContentMemory,
    ) -> Result<Option<ItemPage>, ConversationError> {
        let Some(access) = self.access(caller).filter(|_| id.len() <= MAX_ID_BYTES) else { return Ok(None) };
        let _turn = self.turn().await?;
        let since = access.retention.kept_from(now);
        let chain = responses::chain(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        // What a response continued was within the bound of a conversation.
        let limit = self.bounds.conversation_bytes + MAX_RESPONSE_BYTES as u64;
        memory::reserve(memory, conversation::bounded_size(&chain, limit)?)?;
        let turns = self.read_turns(caller, &access, id, now).await?;
        if turns.last().is_none_or(|last| last.id != id) {
            return Ok(None);
        }
        Ok(items::input_page(&turns, query).map(Some).map_err(internal)?)
    }

    /// Deletes a response, and returns whether there was one. Deletions by people are recorded in the audit log.
    pub async fn delete(
        &self,
        caller: &Caller,
        author: &Author,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, CommandError> {
        let Some(access) = self.access(caller).filter(|_| id.len() <= MAX_ID_BYTES) else { return Ok(false) };
        let since = access.retention.kept_from(now);
        let mut tx = self.store.begin().await?;
        let is_deleted = responses::delete(&mut tx, &caller.workspace, id, since).await?;
        if is_deleted && author.user().is_some() {
            let change = AuditedChange::new("response.delete", Some(&caller.organization), id)
                .before(json!({ "workspaceId": caller.workspace }));
            Command { store: &self.store, author, now }.record(&mut tx, change).await?;
        }
        tx.commit().await?;
        Ok(is_deleted)
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, CommandError> {
        match tokio::time::timeout(TURN_TIMEOUT, Arc::clone(&self.turns).acquire_owned()).await {
            Ok(turn) => Ok(turn.expect("the turns are never closed")),
            Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed)).into()),
        }
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

/// `None` if its key was removed: without it the content is gone.
fn open_response(
    access: &Access<'_>,
    caller: &Caller,
    sealed: &SealedResponse,
) -> Result<Option<Vec<u8>>, CommandError> {
    let scope = Scope::Response { workspace: &caller.workspace, response: &sealed.id };
    open(access, scope, &sealed.response)
}

fn open_input(access: &Access<'_>, caller: &Caller, sealed: &SealedResponse) -> Result<Option<Vec<u8>>, CommandError> {
    let scope = Scope::ResponseInput { workspace: &caller.workspace, response: &sealed.id };
    open(access, scope, &sealed.input)
}

fn open(access: &Access<'_>, scope: Scope<'_>, sealed: &[u8]) -> Result<Option<Vec<u8>>, CommandError> {
    match access.keys.open(scope, sealed) {
        Ok(content) => Ok(Some(content)),
        Err(error @ OpenError::UnknownKey { .. }) => {
            tracing::warn!(%error, "a stored response cannot be read: FOREBAY_CONTENT_KEY lacks its key");
            Ok(None)
        }
        Err(error @ OpenError::Invalid) => Err(internal(error)),
    }
}

fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> CommandError {
    CommandError::Internal { cause: Box::new(cause) }
}
