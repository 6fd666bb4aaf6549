//! What a request refers to, and how its response is stored.
//!
//! Stored items are loaded before the request is translated: those of the previous responses come before its own input,
//! and references are replaced by their items. The response is stored with the request's own input.

use super::error::StoredResponseError;
use crate::surface::Surface;
use crate::surface::error::SurfaceError;
use crate::surface::inference::{InferenceError, PendingSave, call_error};
use crate::surface::response_memory::ContentGrant;
use bytes::Bytes;
use control::CommandError;
use control::responses::{ConversationError, Item, NoContentMemory};
use dataplane::CallError;
use dataplane::request::ParseError;
use dialects::responses::{FinishedResponse, History, ItemReference, ResponsesRequest};
use domain::Caller;
use edge::memory_budget::{Holder, MemoryGrant, NoMemoryError};
use edge::request_body::BodyError;
use node::clock;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// The most references of an input, so that looking them up takes few queries.
const MAX_REFERENCES: usize = 1024;

/// What is stored of a request has at most as many times the bytes of its chat, and this many more.
const UNREAD_FACTOR: usize = 4;
const UNREAD_BYTES: usize = 64 << 10;

/// A request, and the stored items that it refers to. Both are read from the body at once, which may be large.
pub(super) struct ReferringRequest {
    pub(super) request: ResponsesRequest,
    /// One more than [`MAX_REFERENCES`] if there are too many.
    pub(super) references: Vec<ItemReference>,
}

impl ReferringRequest {
    pub(super) fn parse(body: Bytes) -> Result<Self, ParseError> {
        let request = ResponsesRequest::parse(body)?;
        let references = request.references(MAX_REFERENCES + 1)?;
        Ok(Self { request, references })
    }

    /// Whether stored items must be loaded for it.
    pub(super) fn refers_to_stored(&self) -> bool {
        self.request.previous_response_id.is_some() || !self.references.is_empty()
    }
}

/// The stored items that a request refers to.
#[derive(Default)]
pub(super) struct LoadedHistory {
    pub(super) history: History,
    /// The items in the places of references; one that is referred to again counts again.
    pub(super) referenced_bytes: usize,
    /// The memory of the items; `None` if there are none.
    pub(super) memory: Option<MemoryGrant>,
}

/// The stored items that the request refers to.
pub(super) async fn load(
    surface: &Surface,
    caller: &Arc<Caller>,
    ReferringRequest { request, references }: &ReferringRequest,
) -> Result<LoadedHistory, InferenceError> {
    let mut loaded = LoadedHistory::default();
    if let Some(id) = request.previous_response_id.clone() {
        check_model(surface, caller, &id).await?;
        loaded.load_previous(surface, caller, id).await?;
    }
    if !references.is_empty() {
        loaded.load_referenced(surface, caller, references).await?;
    }
    Ok(loaded)
}

/// A key that may call some models only gets no responses of others.
pub(super) async fn check_model(surface: &Surface, caller: &Arc<Caller>, id: &str) -> Result<(), InferenceError> {
    #[derive(Deserialize)]
    struct OfModel {
        model: String,
    }
    if caller.allowed_models().is_none() {
        return Ok(());
    }
    let (own, wanted) = (Arc::clone(caller), id.to_owned());
    let (context, mut memory) = (&surface.context, memory_of(surface, caller));
    let (storage, bounds) = (context.responses.clone(), surface.body_bounds.clone());
    let task = context.background.spawn(async move {
        let mut content = ContentGrant { memory: &mut memory, bounds: &bounds };
        storage.find(&own, &wanted, clock::now(), &mut content).await
    });
    // Loading it later reports that there is none.
    let Some(json) = finished(task).await? else { return Ok(()) };
    let model = serde_json::from_slice::<OfModel>(&json).map_or_else(|_| String::new(), |response| response.model);
    check_allowed(surface, caller, &model)
}

fn check_allowed(surface: &Surface, caller: &Arc<Caller>, model: &str) -> Result<(), InferenceError> {
    match surface.dataplane.route(caller, model).map_err(|error| call_error(error, caller))? {
        Some(_) => Ok(()),
        None => Err(CallError::UnknownModel { model: model.to_owned() }.into()),
    }
}

impl LoadedHistory {
    async fn load_previous(
        &mut self,
        surface: &Surface,
        caller: &Arc<Caller>,
        id: String,
    ) -> Result<(), InferenceError> {
        let (context, mut memory) = (&surface.context, memory_of(surface, caller));
        let (storage, caller, bounds) = (context.responses.clone(), Arc::clone(caller), surface.body_bounds.clone());
        let task = context.background.spawn(async move {
            let mut content = ContentGrant { memory: &mut memory, bounds: &bounds };
            let items = storage.history(&caller, &id, clock::now(), &mut content).await?;
            Ok::<_, ConversationError>((items, memory))
        });
        let (items, memory) = finished(task).await?;
        self.history.previous = items.into_iter().map(into_bytes).collect();
        self.keep(memory, self.history.previous.iter().map(Bytes::len).sum());
        Ok(())
    }

    async fn load_referenced(
        &mut self,
        surface: &Surface,
        caller: &Arc<Caller>,
        references: &[ItemReference],
    ) -> Result<(), InferenceError> {
        if references.len() > MAX_REFERENCES {
            let why = format!("the input has more than {MAX_REFERENCES} references to stored items");
            return Err(StoredResponseError::ConversationTooLarge { why }.into());
        }
        let ids: HashSet<String> = references.iter().map(|reference| reference.id.clone()).collect();
        let (context, mut memory) = (&surface.context, memory_of(surface, caller));
        let (storage, own, bounds) = (context.responses.clone(), Arc::clone(caller), surface.body_bounds.clone());
        let task = context.background.spawn(async move {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut content = ContentGrant { memory: &mut memory, bounds: &bounds };
            let items = storage.items(&own, &ids, clock::now(), &mut content).await?;
            Ok::<_, ConversationError>((items, memory))
        });
        let (items, memory) = finished(task).await?;
        if caller.allowed_models().is_some() {
            let models: HashSet<&str> = items.values().map(|found| found.model.as_str()).collect();
            models.into_iter().try_for_each(|model| check_allowed(surface, caller, model))?;
        }
        self.history.referenced = items.into_iter().map(|(id, found)| (id, into_bytes(found.item))).collect();
        self.keep(memory, self.history.referenced.values().map(Bytes::len).sum());
        self.check_references(references, surface.body_bounds.limit)
    }

    /// Keeps the memory of what was loaded, without that of the copies while it was read.
    fn keep(&mut self, mut memory: MemoryGrant, bytes: usize) {
        memory.shrink_to(bytes as u64);
        match &mut self.memory {
            Some(kept) => kept.absorb(memory),
            None => self.memory = Some(memory),
        }
    }

    /// Checks that all items were found, and that they are not too large with every repetition.
    fn check_references(&mut self, references: &[ItemReference], limit: u64) -> Result<(), InferenceError> {
        for ItemReference { index, id } in references {
            let Some(item) = self.history.referenced.get(id) else {
                let (id, param) = (id.chars().take(100).collect(), format!("input[{index}].id"));
                return Err(StoredResponseError::ItemNotFound { id, param }.into());
            };
            self.referenced_bytes += item.len();
        }
        if self.referenced_bytes as u64 > limit {
            let why = format!("the items that the input refers to have more than the {limit} bytes of a request");
            return Err(StoredResponseError::ConversationTooLarge { why }.into());
        }
        Ok(())
    }
}

/// Memory of the caller's organization, none of which is taken yet.
pub(super) fn memory_of(surface: &Surface, caller: &Caller) -> MemoryGrant {
    surface.body_bounds.memory.grant(Holder::Organization(caller.organization.clone()))
}

/// `None` if the response is not to be stored. `unique` is the part of its id that is its own, `size` the bytes of the
/// request with the items that it refers to. Its input is still to be [set](set_input).
pub(super) fn pending(
    surface: &Surface,
    caller: &Arc<Caller>,
    request: &ResponsesRequest,
    unique: &str,
    size: usize,
) -> Result<Option<Box<PendingSave>>, InferenceError> {
    let storage = &surface.context.responses;
    if !request.may_store || !storage.is_on(caller) {
        return Ok(None);
    }
    let mut memory = memory_of(surface, caller);
    memory.grow_to(size as u64).map_err(no_memory)?;
    Ok(Some(Box::new(PendingSave {
        storage: storage.clone(),
        background: surface.context.background.clone(),
        caller: Arc::clone(caller),
        id: format!("resp_{unique}"),
        previous: request.previous_response_id.clone(),
        input: Vec::new(),
        finished: FinishedResponse::default(),
        memory,
        bounds: surface.body_bounds.clone(),
    })))
}

/// Sets the input of a response that is to be stored, whose `chat` the engine gets. What is stored and not part of it, such as
/// what the response repeats of its request, would cost nothing.
pub(super) fn set_input(
    save: &mut PendingSave,
    input: Vec<u8>,
    echo_bytes: usize,
    chat_bytes: usize,
) -> Result<(), InferenceError> {
    if input.len() + echo_bytes > UNREAD_FACTOR * chat_bytes + UNREAD_BYTES {
        let why = "has far more than the model reads, so that the response may not be stored; send `store: false`";
        return Err(CallError::Invalid { param: "input".into(), why: why.into() }.into());
    }
    // A short text becomes an item that is longer than the request.
    save.memory.grow_to(input.len() as u64).map_err(no_memory)?;
    save.memory.shrink_to(input.len() as u64);
    save.input = input;
    Ok(())
}

fn no_memory(error: NoMemoryError) -> InferenceError {
    SurfaceError::from(BodyError::from(error)).into()
}

/// The result of work on the runtime that owns the store's connections.
pub(super) async fn finished<T>(task: JoinHandle<Result<T, ConversationError>>) -> Result<T, InferenceError> {
    match task.await {
        Ok(result) => result.map_err(conversation_error),
        Err(_panicked) => Err(SurfaceError::Internal.into()),
    }
}

fn conversation_error(error: ConversationError) -> InferenceError {
    match error {
        ConversationError::NotFound { id } => StoredResponseError::PreviousNotFound { id }.into(),
        ConversationError::TooLarge { .. } | ConversationError::TooLong => {
            StoredResponseError::ConversationTooLarge { why: error.to_string() }.into()
        }
        ConversationError::NoMemory(NoContentMemory::Process) => no_memory(NoMemoryError::Process),
        ConversationError::NoMemory(NoContentMemory::Organization) => no_memory(NoMemoryError::Organization),
        ConversationError::Command(error) => command_error(error),
    }
}

/// The cause is for the log.
fn command_error(error: CommandError) -> InferenceError {
    match error {
        CommandError::StoreUnavailable { cause } => {
            StoredResponseError::Unavailable { cause: format!("{cause:?}") }.into()
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
