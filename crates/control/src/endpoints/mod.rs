//! Commands on dedicated endpoints.
//!
//! Each is one transaction: take the idempotency key, find the endpoint, let the table of states say what follows, ask
//! the ledger if that adds GPUs, write the row, its event and its audit entry. Only what adds GPUs waits for the ledger;
//! suspending, deleting and reading never do.

mod answer;
mod attempt;
mod create;
mod delete;
mod events;
mod flavors;
mod ledger;
mod list;
mod refusal;
mod repair;
mod rescale;
mod resume;
mod show;
mod suspend;
mod transition;
mod usage;
mod wake;

pub use answer::{Answer, Outcome};
pub use attempt::new_event;
pub use create::create;
pub use delete::delete;
pub use events::events;
pub use flavors::{FlavorLine, flavors};
pub use list::list;
pub use refusal::{Exceeding, Extensions, Kind, Refusal};
pub use repair::{Difference, find_differences};
pub use rescale::rescale;
pub use resume::resume;
pub use show::{replicas, show};
pub use suspend::suspend;
pub use transition::{Note, Transition, transition};
pub use usage::{UsageReport, usage};
pub use wake::wake;

use crate::author::Author;
use domain::allotment::Defaults;
use domain::endpoint::EndpointName;
use domain::{Catalogue, EndpointId, OrganizationId, Timestamp, WorkspaceId};
use store::Store;

/// What every command has at hand.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    pub store: &'a Store,
    pub catalogue: &'a Catalogue,
    /// Caps of organizations that have none of their own.
    pub defaults: &'a Defaults,
}

/// Who asks, where, when.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub author: &'a Author,
    pub scope: Scope<'a>,
    pub idempotency: Option<IdempotencyKey<'a>>,
    pub now: Timestamp,
}

/// The one workspace that a call acts in.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub organization: &'a OrganizationId,
    pub workspace: &'a WorkspaceId,
}

/// A client's own name for its request, and a digest of method, path and body.
#[derive(Debug, Clone, Copy)]
pub struct IdempotencyKey<'a> {
    pub key: &'a str,
    pub fingerprint: &'a str,
}

/// Which endpoint: by name or by id. The two cannot be confused, since no name has an underscore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Name(EndpointName),
    Id(EndpointId),
}

impl Choice {
    /// A text that is neither names nothing.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let id = EndpointId::parse(text).ok().map(Self::Id);
        let name = || EndpointName::parse(text).ok().map(Self::Name);
        let unknown = || Refusal::EndpointNotFound { endpoint: text.chars().take(64).collect() };
        id.or_else(name).ok_or_else(unknown)
    }

    fn text(&self) -> &str {
        match self {
            Self::Name(name) => name.as_str(),
            Self::Id(id) => id.as_str(),
        }
    }
}

/// Whether a command only tells what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    Real,
    Dry,
}
