//! Sealed content of a caller, and how it is opened.

use super::internal;
use super::items::{self, FoundItem, ItemPage, ItemQuery, StoredTurn};
use crate::command_error::CommandError;
use domain::WorkspaceId;
use std::collections::{HashMap, HashSet};
use store::content_keys::{ContentKeys, OpenError, Scope};
use store::responses::SealedResponse;

/// Stored responses as the store has them. Opening them takes a core for a while, see [`super::memory::work`].
pub(super) struct SealedContent {
    pub(super) keys: ContentKeys,
    pub(super) workspace: WorkspaceId,
    pub(super) responses: Vec<SealedResponse>,
}

impl SealedContent {
    /// The first response as JSON. `None` if its key was removed: without it the content is gone.
    pub(super) fn open_first(self) -> Result<Option<Vec<u8>>, CommandError> {
        self.responses.first().map_or(Ok(None), |sealed| self.open_response(sealed))
    }

    /// The turns whose key is there, in order.
    pub(super) fn open_turns(self) -> Result<Vec<StoredTurn>, CommandError> {
        self.responses.iter().filter_map(|sealed| self.open_turn(sealed).transpose()).collect()
    }

    /// A page of the items that the response with this id, the last one, was generated from.
    pub(super) fn open_page(self, id: &str, query: &ItemQuery) -> Result<Option<ItemPage>, CommandError> {
        let turns = self.open_turns()?;
        if turns.last().is_none_or(|last| last.id != id) {
            return Ok(None);
        }
        items::input_page(&turns, query).map(Some).map_err(internal)
    }

    /// The output items with these ids.
    pub(super) fn open_items(self, ids: &HashSet<String>) -> Result<HashMap<String, FoundItem>, CommandError> {
        let mut found = HashMap::new();
        for sealed in &self.responses {
            let Some(response) = self.open_response(sealed)? else { continue };
            let items = items::output_by_id(&response).map_err(internal)?;
            found.extend(items.into_iter().filter(|(id, _)| ids.contains(id)));
        }
        Ok(found)
    }

    fn open_turn(&self, sealed: &SealedResponse) -> Result<Option<StoredTurn>, CommandError> {
        let scope = Scope::ResponseInput { workspace: &self.workspace, response: &sealed.id };
        let Some(input) = self.open(scope, &sealed.input)? else { return Ok(None) };
        let Some(response) = self.open_response(sealed)? else { return Ok(None) };
        StoredTurn::parse(&sealed.id, &input, &response).map(Some).map_err(internal)
    }

    fn open_response(&self, sealed: &SealedResponse) -> Result<Option<Vec<u8>>, CommandError> {
        let scope = Scope::Response { workspace: &self.workspace, response: &sealed.id };
        self.open(scope, &sealed.response)
    }

    fn open(&self, scope: Scope<'_>, sealed: &[u8]) -> Result<Option<Vec<u8>>, CommandError> {
        // Threads that serve calls go first: opening a megabyte takes about a millisecond, and reading it another one.
        std::thread::yield_now();
        match self.keys.open(scope, sealed) {
            Ok(content) => Ok(Some(content)),
            Err(error @ OpenError::UnknownKey { .. }) => {
                tracing::warn!(%error, "a stored response cannot be read: FOREBAY_CONTENT_KEY lacks its key");
                Ok(None)
            }
            Err(error @ OpenError::Invalid) => Err(internal(error)),
        }
    }
}
