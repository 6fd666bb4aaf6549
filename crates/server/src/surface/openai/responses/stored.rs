//! What a request refers to, and how its response is stored.
//!
//! Stored items are loaded before the request is translated: those of the previous responses come before its own input,
//! and references are replaced by the items they stand for. The response is stored with the request's own input.

use crate::clock;
use crate::edge::memory_budget::{Holder, NoMemoryError};
use crate::edge::request_body::BodyError;
use crate::surface::Surface;
use crate::surface::error::SurfaceError;
use crate::surface::inference::{InferenceError, PendingSave};
use bytes::Bytes;
use control::CommandError;
use control::responses::{ConversationError, Item};
use dataplane::CallError;
use dataplane::translate::responses::{FinishedResponse, History, ResponsesRequest};
use domain::Caller;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// The most references of an input, so that looking them up takes few queries.
const MAX_REFERENCES: usize = 1024;

/// The stored items that a request refers to.
pub(super) struct LoadedHistory {
    pub(super) history: History,
    /// The items in the places of references; one that is referred to again counts again.
    pub(super) referenced_bytes: usize,
}

/// The stored items that the request refers to.
pub(super) async fn load(
    surface: &Surface,
    caller: &Arc<Caller>,
    request: &ResponsesRequest,
) -> Result<LoadedHistory, InferenceError> {
    let mut history = History::default();
    let context = &surface.context;
    if let Some(id) = request.previous_response_id.clone() {
        let (storage, caller) = (context.responses.clone(), Arc::clone(caller));
        let task = context.background.spawn(async move { storage.history(&caller, &id, clock::now()).await });
        history.previous = finished(task).await?.into_iter().map(into_bytes).collect();
    }
    let references = request.references().map_err(CallError::from)?;
    if references.is_empty() {
        return Ok(LoadedHistory { history, referenced_bytes: 0 });
    }
    if references.len() > MAX_REFERENCES {
        let why = format!("the input has more than {MAX_REFERENCES} references to stored items");
        return Err(SurfaceError::ConversationTooLarge { why }.into());
    }
    let ids: HashSet<String> = references.iter().map(|(_, id)| id.clone()).collect();
    let (storage, caller) = (context.responses.clone(), Arc::clone(caller));
    let task = context.background.spawn(async move {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        storage.items(&caller, &ids, clock::now()).await
    });
    history.referenced = finished(task).await?.into_iter().map(|(id, item)| (id, into_bytes(item))).collect();
    let mut referenced_bytes = 0;
    for (param, id) in references {
        let Some(item) = history.referenced.get(&id) else {
            return Err(SurfaceError::ItemNotFound { id: id.chars().take(100).collect(), param }.into());
        };
        referenced_bytes += item.len();
    }
    let limit = surface.body_bounds.limit;
    if referenced_bytes as u64 > limit {
        let why = format!("the items that the input refers to have more than the {limit} bytes of a request");
        return Err(SurfaceError::ConversationTooLarge { why }.into());
    }
    Ok(LoadedHistory { history, referenced_bytes })
}

/// `None` if the response is not to be stored. `unique` is the part of its id that is its own, `size` the bytes of the
/// request with the items that it refers to.
pub(super) fn pending(
    surface: &Surface,
    caller: &Arc<Caller>,
    request: &ResponsesRequest,
    history: &History,
    unique: &str,
    size: usize,
) -> Result<Option<Box<PendingSave>>, InferenceError> {
    let storage = &surface.context.responses;
    if !request.may_store || !storage.is_on(caller) {
        return Ok(None);
    }
    let mut memory = surface.body_bounds.memory.grant(Holder::Workspace(caller.workspace.clone()));
    let no_memory = |error: NoMemoryError| SurfaceError::from(BodyError::from(error));
    memory.grow_to(size as u64).map_err(no_memory)?;
    let input = own_input(request, history)?;
    // A short text becomes an item that is longer than the request.
    memory.grow_to(input.len() as u64).map_err(no_memory)?;
    memory.shrink_to(input.len() as u64);
    Ok(Some(Box::new(PendingSave {
        storage: storage.clone(),
        background: surface.context.background.clone(),
        caller: Arc::clone(caller),
        id: format!("resp_{unique}"),
        previous: request.previous_response_id.clone(),
        input,
        finished: FinishedResponse::default(),
        memory,
    })))
}

/// The input as a JSON array, with items in the place of references: what they refer to may be deleted first.
fn own_input(request: &ResponsesRequest, history: &History) -> Result<Vec<u8>, InferenceError> {
    let references: HashMap<String, String> = request.references().map_err(CallError::from)?.into_iter().collect();
    let items = request.input_items().map_err(CallError::from)?;
    let mut input = Vec::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 2);
    for (index, item) in items.iter().enumerate() {
        let id = (!references.is_empty()).then(|| references.get(&format!("input[{index}].id"))).flatten();
        input.push(if index == 0 { b'[' } else { b',' });
        input.extend_from_slice(id.and_then(|id| history.referenced.get(id)).unwrap_or(item));
    }
    if items.is_empty() {
        input.push(b'[');
    }
    input.push(b']');
    Ok(input)
}

/// The result of work on the runtime that owns the store's connections.
async fn finished<T>(task: JoinHandle<Result<T, ConversationError>>) -> Result<T, InferenceError> {
    match task.await {
        Ok(result) => result.map_err(conversation_error),
        Err(_panicked) => Err(SurfaceError::Internal.into()),
    }
}

fn conversation_error(error: ConversationError) -> InferenceError {
    match error {
        ConversationError::NotFound { id } => SurfaceError::PreviousResponseNotFound { id }.into(),
        ConversationError::TooLarge { .. } | ConversationError::TooLong => {
            SurfaceError::ConversationTooLarge { why: error.to_string() }.into()
        }
        ConversationError::Command(error) => command_error(error),
    }
}

/// The cause is for the log.
pub(super) fn command_error(error: CommandError) -> InferenceError {
    match error {
        CommandError::StoreUnavailable { cause } => {
            SurfaceError::ResponsesUnavailable { cause: format!("{cause:?}") }.into()
        }
        other => {
            tracing::error!(error = ?other, "a stored response could not be read");
            SurfaceError::Internal.into()
        }
    }
}

fn into_bytes(item: Item) -> Bytes {
    Box::<str>::from(item).into_boxed_bytes().into()
}
