//! Reads what calls refer to: the conversation that they continue, and single items.

use super::items::{FoundItem, Item};
use super::memory::{self, ContentMemory, NoContentMemory};
use super::{Access, MAX_ID_BYTES, ResponseStorage};
use crate::command_error::CommandError;
use domain::{Caller, Timestamp};
use std::collections::{HashMap, HashSet};
use store::responses::{self, Link, MAX_CHAIN, MAX_ITEMS};

/// Why a conversation cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The response, or one that it continues.
    #[error("there is no stored response `{id}`")]
    NotFound { id: String },
    #[error("the stored conversation has {bytes} bytes, more than the {limit} of a request")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("the stored conversation has more than {MAX_CHAIN} responses")]
    TooLong,
    #[error(transparent)]
    NoMemory(#[from] NoContentMemory),
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl ResponseStorage {
    /// The items of the response `previous` and of those that it continues, the oldest first.
    pub async fn history(
        &self,
        caller: &Caller,
        previous: &str,
        now: Timestamp,
        memory: &mut dyn ContentMemory,
    ) -> Result<Vec<Item>, ConversationError> {
        let access = self.access(caller).filter(|_| previous.len() <= MAX_ID_BYTES);
        let access = access.ok_or_else(|| not_found(previous))?;
        let _turn = self.reading.turn(caller).await?;
        let (length, bytes) = self.check_chain(caller, &access, previous, now).await?;
        memory::reserve(memory, bytes)?;
        let since = access.retention.kept_from(now);
        let content = responses::chain_content(&self.store, &caller.workspace, previous, since).await;
        let sealed = access.sealed(caller, content.map_err(CommandError::from)?);
        let turns = memory::work(memory, bytes, || sealed.open_turns()).await?;
        if turns.len() != length {
            return Err(not_found(previous));
        }
        Ok(turns.into_iter().flat_map(|turn| turn.input.into_iter().chain(turn.output)).collect())
    }

    /// The output items with these ids, by id. Those that are not stored are absent.
    pub async fn items(
        &self,
        caller: &Caller,
        ids: &[&str],
        now: Timestamp,
        memory: &mut dyn ContentMemory,
    ) -> Result<HashMap<String, FoundItem>, ConversationError> {
        let Some(access) = self.access(caller) else { return Ok(HashMap::new()) };
        let _turn = self.reading.turn(caller).await?;
        let (since, limit) = (access.retention.kept_from(now), self.bounds.conversation_bytes);
        let (mut content, mut bytes) = (Vec::new(), 0);
        let ids: Vec<&str> = ids.iter().copied().filter(|id| id.len() <= MAX_ID_BYTES).collect();
        for ids in ids.chunks(MAX_ITEMS) {
            let owners = responses::of_items(&self.store, &caller.workspace, ids, since);
            for owner in owners.await.map_err(CommandError::from)? {
                bytes += owner.bytes;
                if bytes > limit {
                    return Err(ConversationError::TooLarge { bytes, limit });
                }
                memory::reserve(memory, bytes)?;
                let found = responses::find(&self.store, &caller.workspace, &owner.id, since);
                content.extend(found.await.map_err(CommandError::from)?);
            }
        }
        let sealed = access.sealed(caller, content);
        let ids: HashSet<String> = ids.into_iter().map(str::to_owned).collect();
        Ok(memory::work(memory, bytes, move || sealed.open_items(&ids)).await?)
    }

    /// Checks that a conversation is whole and not too large, and returns the number of its responses and their size.
    async fn check_chain(
        &self,
        caller: &Caller,
        access: &Access<'_>,
        id: &str,
        now: Timestamp,
    ) -> Result<(usize, u64), ConversationError> {
        let since = access.retention.kept_from(now);
        let chain = responses::chain(&self.store, &caller.workspace, id, since).await.map_err(CommandError::from)?;
        let oldest = chain.last().ok_or_else(|| not_found(id))?;
        if chain.len() > MAX_CHAIN {
            return Err(ConversationError::TooLong);
        }
        if let Some(missing) = &oldest.previous {
            return Err(not_found(missing));
        }
        Ok((chain.len(), bounded_size(&chain, self.bounds.conversation_bytes)?))
    }
}

/// The size of a conversation.
pub(super) fn bounded_size(chain: &[Link], limit: u64) -> Result<u64, ConversationError> {
    let bytes = chain.iter().map(|link| link.bytes).sum();
    if bytes > limit { Err(ConversationError::TooLarge { bytes, limit }) } else { Ok(bytes) }
}

/// The error does not repeat a text that is longer than an id.
fn not_found(id: &str) -> ConversationError {
    ConversationError::NotFound { id: id.chars().take(MAX_ID_BYTES).collect() }
}
