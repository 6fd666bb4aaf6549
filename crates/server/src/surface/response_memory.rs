//! The edge's memory budget, for the responses of models and for stored content.

use control::responses::{ContentMemory, NoContentMemory};
use dataplane::response_memory::{BodyGrant, BodyMemory, NoBodyMemory};
use domain::OrganizationId;
use edge::memory_budget::{Holder, MemoryBudget, MemoryGrant, NoMemoryError};
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

pub(crate) struct ContentGrant<'a>(pub(crate) &'a mut MemoryGrant);

impl ContentMemory for ContentGrant<'_> {
    fn grow_to(&mut self, bytes: u64) -> Result<(), NoContentMemory> {
        self.0.grow_to(bytes).map_err(|error| match error {
            NoMemoryError::Process => NoContentMemory::Process,
            NoMemoryError::Organization => NoContentMemory::Organization,
        })
    }
}
