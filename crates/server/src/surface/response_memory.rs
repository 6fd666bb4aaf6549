//! The edge's memory budget, for the responses of models and for stored content.

use control::responses::{ContentMemory, NoContentMemory};
use dataplane::response_memory::{BodyGrant, BodyMemory, NoBodyMemory};
use domain::OrganizationId;
use edge::memory_budget::{Holder, MemoryBudget, MemoryGrant, NoMemoryError};
use edge::request_body::BodyBounds;
use std::pin::Pin;
use std::sync::Arc;

pub(crate) struct ResponseBudget(pub(crate) Arc<MemoryBudget>);

impl BodyMemory for ResponseBudget {
    fn grant(&self, organization: &OrganizationId) -> Box<dyn BodyGrant> {
        Box::new(ResponseGrant(self.0.grant(Holder::Organization(organization.clone()))))
    }
}

pub(crate) struct ResponseGrant(pub(crate) MemoryGrant);

impl BodyGrant for ResponseGrant {
    fn grow_to(&mut self, bytes: u64) -> Result<(), NoBodyMemory> {
        self.0.grow_to(bytes).map_err(|error| match error {
            NoMemoryError::Process => NoBodyMemory::Process,
            NoMemoryError::Organization => NoBodyMemory::Organization,
        })
    }
}

/// The memory of stored content, and the threads that work on it.
pub(crate) struct ContentGrant<'a> {
    pub(crate) memory: &'a mut MemoryGrant,
    pub(crate) bounds: &'a BodyBounds,
}

impl ContentMemory for ContentGrant<'_> {
    fn grow_to(&mut self, bytes: u64) -> Result<(), NoContentMemory> {
        self.memory.grow_to(bytes).map_err(|error| match error {
            NoMemoryError::Process => NoContentMemory::Process,
            NoMemoryError::Organization => NoContentMemory::Organization,
        })
    }

    fn work<'a>(
        &'a self,
        content_bytes: u64,
        work: Box<dyn FnOnce() + Send>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let bytes = usize::try_from(content_bytes).unwrap_or(usize::MAX);
        Box::pin(self.bounds.work(bytes, self.memory, work))
    }
}
