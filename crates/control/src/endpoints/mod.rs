//! Commands and queries on dedicated endpoints.
//!
//! A command is one transaction: claim the idempotency key, find the endpoint, apply the state machine, check the ledger if
//! GPUs are added, write the row, its event and its audit entry. Only commands that add GPUs lock the ledger; suspending,
//! deleting and reading never do.

mod attempt;
mod commitment;
mod create;
mod delete;
mod error;
mod event;
mod query;
mod rescale;
mod response;
mod resume;
mod suspend;
mod transition;
mod wake;

#[cfg(test)]
pub(crate) use attempt::stepped;
pub use create::create;
pub use delete::delete;
pub use error::{AllotmentExceeded, EndpointError, EndpointErrorKind};
pub use event::new_event;
pub use query::{
    Difference, FlavorLine, UsageReport, count, events, find_differences, flavors, list, list_failed, replicas, show,
    usage,
};
pub use rescale::rescale;
pub use response::{CommandResponse, Outcome};
pub use resume::resume;
pub use suspend::suspend;
pub use transition::{Changed, Gone, Note, Transition, transition};
pub use wake::wake;

use crate::command::Command;
use domain::allotment::Defaults;
use domain::endpoint::EndpointName;
use domain::{Catalogue, Endpoint, EndpointId, OrganizationId, WorkspaceId};

/// What endpoints may be made of, and how many.
#[derive(Debug, Clone, Copy)]
pub struct EndpointRules<'a> {
    pub catalogue: &'a Catalogue,
    /// Caps of organizations without caps of their own.
    pub defaults: &'a Defaults,
    /// Most endpoints of a workspace.
    pub max_endpoints: u64,
}

/// A command on the endpoints of a workspace.
#[derive(Debug, Clone, Copy)]
pub struct EndpointCommand<'a> {
    pub base: Command<'a>,
    pub rules: EndpointRules<'a>,
    pub scope: Scope<'a>,
    pub idempotency: Option<IdempotencyKey<'a>>,
    /// Encodes the record for the response, which is stored with the idempotency key.
    pub encode: fn(&Endpoint) -> String,
}

/// The workspace that a command acts in.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub organization: &'a OrganizationId,
    pub workspace: &'a WorkspaceId,
}

/// The client's key of its request, and a digest of method, path and body.
#[derive(Debug, Clone, Copy)]
pub struct IdempotencyKey<'a> {
    pub key: &'a str,
    pub fingerprint: &'a str,
}

/// The name or the id of an endpoint. They cannot be confused, since names have no underscore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointRef {
    Name(EndpointName),
    Id(EndpointId),
}

impl EndpointRef {
    /// A text that is neither a name nor an id is an unknown endpoint.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let id = EndpointId::parse(text).ok().map(Self::Id);
        let name = || EndpointName::parse(text).ok().map(Self::Name);
        let unknown = || EndpointError::EndpointNotFound { endpoint: text.chars().take(64).collect() };
        id.or_else(name).ok_or_else(unknown)
    }

    fn text(&self) -> &str {
        match self {
            Self::Name(name) => name.as_str(),
            Self::Id(id) => id.as_str(),
        }
    }
}

/// Whether a command is executed or only reports its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    Real,
    Dry,
}
