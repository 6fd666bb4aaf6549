//! What every command gets, and the audit entry that it writes.

use domain::endpoint::event::Actor;
use domain::{KeyId, OrganizationId, Timestamp, UserId};
use serde_json::Value;
use std::fmt;
use store::audit::{self, AuditEntry};
use store::{Store, StoreError, Tx};

/// Who makes a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// A signed-in user, with the IP address of the request.
    User { id: UserId, address: String },
    /// A program with an API key, with the IP address of the request.
    Key { id: KeyId, address: String },
    /// The operator, running `forebay admin`.
    CommandLine,
    /// The service itself, on its first start.
    FirstStart,
    /// The service itself, which has probed an engine for what it can do.
    Probe,
    /// The service itself, because a monthly budget is spent.
    Budget,
}

/// A change that is to be made: the store that it changes, its author and its time.
#[derive(Debug, Clone, Copy)]
pub struct Command<'a> {
    pub store: &'a Store,
    pub author: &'a Author,
    pub now: Timestamp,
}

impl Command<'_> {
    /// Like [`Self::record`], but only changes of users: programs make too many.
    pub(crate) async fn record_of_user(&self, tx: &mut Tx, change: AuditedChange<'_>) -> Result<(), StoreError> {
        if self.author.user().is_none() { Ok(()) } else { self.record(tx, change).await }
    }

    /// Appends to the audit log, in the transaction of the change.
    pub(crate) async fn record(&self, tx: &mut Tx, change: AuditedChange<'_>) -> Result<(), StoreError> {
        let written = |value: Value| (!value.is_null()).then(|| value.to_string());
        let entry = AuditEntry {
            at: self.now,
            organization: change.organization.cloned(),
            actor: self.author.to_string(),
            address: self.author.address().map(ToOwned::to_owned),
            action: change.action.to_owned(),
            subject: change.subject.to_owned(),
            detail: change.detail,
            before: written(change.before),
            after: written(change.after),
        };
        audit::append(tx, &entry).await
    }
}

/// A change for the audit log. A creation has no state before it, a deletion none after it. Never contains secrets.
pub(crate) struct AuditedChange<'a> {
    action: &'a str,
    organization: Option<&'a OrganizationId>,
    subject: &'a str,
    detail: String,
    before: Value,
    after: Value,
}

impl<'a> AuditedChange<'a> {
    pub(crate) const fn new(action: &'a str, organization: Option<&'a OrganizationId>, subject: &'a str) -> Self {
        Self { action, organization, subject, detail: String::new(), before: Value::Null, after: Value::Null }
    }

    pub(crate) fn detail(self, detail: String) -> Self {
        Self { detail, ..self }
    }

    pub(crate) fn before(self, before: Value) -> Self {
        Self { before, ..self }
    }

    pub(crate) fn after(self, after: Value) -> Self {
        Self { after, ..self }
    }
}

impl Author {
    /// The user, if the author is one.
    pub const fn user(&self) -> Option<&UserId> {
        match self {
            Self::User { id, .. } => Some(id),
            Self::Key { .. } | Self::CommandLine | Self::FirstStart | Self::Probe | Self::Budget => None,
        }
    }

    /// The actor in the events of an endpoint.
    pub fn actor(&self) -> Actor {
        match self {
            Self::User { id, .. } => Actor::User(id.clone()),
            Self::Key { id, .. } => Actor::ApiKey(id.clone()),
            Self::CommandLine | Self::FirstStart | Self::Probe | Self::Budget => Actor::system(&self.to_string()),
        }
    }

    fn address(&self) -> Option<&str> {
        match self {
            Self::User { address, .. } | Self::Key { address, .. } => Some(address),
            Self::CommandLine => Some("command line"),
            Self::FirstStart | Self::Probe | Self::Budget => None,
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { id, .. } => f.write_str(id.as_str()),
            Self::Key { id, .. } => f.write_str(id.as_str()),
            Self::CommandLine => f.write_str("forebay admin"),
            Self::FirstStart => f.write_str("first start"),
            Self::Probe => f.write_str("probe"),
            Self::Budget => f.write_str("budget"),
        }
    }
}
