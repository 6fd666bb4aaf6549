//! Continues stored conversations: the items before a call's own input, and references to items.

use super::items::{self, Item, StoredTurn};
use super::{Access, MAX_ID_BYTES, ResponseStorage, open_input, open_response};
use crate::command_error::CommandError;
use domain::{Caller, Timestamp};
use std::collections::HashMap;
use store::responses::{self, MAX_CHAIN, MAX_ITEMS, SealedResponse};

/// What a call reads.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The items of the responses that the call continues, the oldest first.
    pub history: Vec<Item>,
    /// The call's own input, with referenced items in the place of references.
    pub input: Vec<Item>,
}

/// Why a conversation cannot be continued.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    #[error("there is no stored response `{id}`")]
    PreviousNotFound { id: String },
    #[error("there is no stored item `{id}`")]
    ItemNotFound { index: usize, id: String },
    #[error("`input` is neither text nor a list of items")]
    BadInput,
    #[error("the stored conversation has {bytes} bytes, more than the {limit} of a request")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("the stored conversation has more than {MAX_CHAIN} responses")]
    TooLong,
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl ResponseStorage {
    /// Reads the conversation that a call continues, and replaces references in its input, which is JSON.
    pub async fn conversation(
        &self,
        caller: &Caller,
        previous: Option<&str>,
        input: &[u8],
        now: Timestamp,
    ) -> Result<Conversation, ConversationError> {
        let mut input = items::parse_input(input).map_err(|_| ConversationError::BadInput)?;
        let references = items::references(&input);
        let access = self.access(caller);
        let history = match previous {
            None => Vec::new(),
            Some(id) => {
                let access = access.as_ref().filter(|_| id.len() <= MAX_ID_BYTES).ok_or_else(|| not_found(id))?;
                let _turn = self.turn().await?;
                let length = self.check_chain(caller, access, id, now).await?;
                let turns = self.read_turns(caller, access, id, now).await?;
                if turns.len() != length {
                    return Err(not_found(id));
                }
                turns.into_iter().flat_map(|turn| turn.input.into_iter().chain(turn.output)).collect()
            }
        };
        if let Some((index, id)) = references.first() {
            let not_found = || ConversationError::ItemNotFound { index: *index, id: shortened(id) };
            let access = access.as_ref().ok_or_else(not_found)?;
            let found = self.read_items(caller, access, &references, now).await?;
            for (index, id) in &references {
                let item = found.get(id.as_str());
                let item = item.ok_or_else(|| ConversationError::ItemNotFound { index: *index, id: shortened(id) })?;
                input[*index].clone_from(item);
            }
        }
        Ok(Conversation { history, input })
    }

    /// Checks that a conversation is whole and not too large, and returns the number of its responses.
    async fn check_chain(
        &self,
        caller: &Caller,
        access: &Access<'_>,
        id: &str,
        now: Timestamp,
    ) -> Result<usize, ConversationError> {
        let since = access.retention.kept_from(now);
        let chain = responses::chain(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        let oldest = chain.last().ok_or_else(|| not_found(id))?;
        if chain.len() > MAX_CHAIN {
            return Err(ConversationError::TooLong);
        }
        if let Some(missing) = &oldest.previous {
            return Err(not_found(missing));
        }
        let bytes: u64 = chain.iter().map(|link| link.bytes).sum();
        let limit = self.bounds.conversation_bytes;
        if bytes > limit {
            return Err(ConversationError::TooLarge { bytes, limit });
        }
        Ok(chain.len())
    }

    /// The readable turns of a conversation, the oldest first.
    pub(super) async fn read_turns(
        &self,
        caller: &Caller,
        access: &Access<'_>,
        id: &str,
        now: Timestamp,
    ) -> Result<Vec<StoredTurn>, CommandError> {
        let since = access.retention.kept_from(now);
        let content = responses::chain_content(&self.store, &caller.workspace, id, since).await?;
        content.iter().filter_map(|sealed| open_turn(access, caller, sealed).transpose()).collect()
    }

    /// The referenced items, by id.
    async fn read_items(
        &self,
        caller: &Caller,
        access: &Access<'_>,
        references: &[(usize, String)],
        now: Timestamp,
    ) -> Result<HashMap<String, Item>, ConversationError> {
        let _turn = self.turn().await?;
        let since = access.retention.kept_from(now);
        let limit = self.bounds.conversation_bytes;
        let mut found = HashMap::new();
        let mut bytes: u64 = 0;
        let ids: Vec<&str> =
            references.iter().map(|(_, id)| id.as_str()).filter(|id| id.len() <= MAX_ID_BYTES).collect();
        for ids in ids.chunks(MAX_ITEMS) {
            let owners = responses::of_items(&self.store, &caller.workspace, ids, since);
            for owner in owners.await.map_err(CommandError::from)? {
                bytes += owner.bytes;
                if bytes > limit {
                    return Err(ConversationError::TooLarge { bytes, limit });
                }
                let sealed = responses::find(&self.store, &caller.workspace, &owner.id, since);
                let Some(sealed) = sealed.await.map_err(CommandError::from)? else { continue };
                let Some(response) = open_response(access, caller, &sealed)? else { continue };
                found.extend(items::output_by_id(&response).map_err(super::internal)?);
            }
        }
        Ok(found)
    }
}

/// `None` if its key was removed.
fn open_turn(
    access: &Access<'_>,
    caller: &Caller,
    sealed: &SealedResponse,
) -> Result<Option<StoredTurn>, CommandError> {
    let Some(input) = open_input(access, caller, sealed)? else { return Ok(None) };
    let Some(response) = open_response(access, caller, sealed)? else { return Ok(None) };
    let turn = StoredTurn::parse(&sealed.id, &input, &response).map_err(super::internal)?;
    Ok(Some(turn))
}

fn not_found(id: &str) -> ConversationError {
    ConversationError::PreviousNotFound { id: shortened(id) }
}

/// An id as an error repeats it.
fn shortened(id: &str) -> String {
    id.chars().take(MAX_ID_BYTES).collect()
}
