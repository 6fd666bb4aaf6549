//! The author of a change, as recorded in the audit log.

use domain::endpoint::event::Actor;
use domain::{KeyId, OrganizationId, Timestamp, UserId};
use serde_json::Value;
use std::fmt;
use store::audit::{self, Entry};
use store::{StoreError, Tx};

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
}

/// A change for the audit log. `before` is `Null` for a creation, `after` is `Null` for a deletion. Never contains secrets.
pub(crate) struct AuditedChange<'a> {
    pub(crate) action: &'static str,
    pub(crate) organization: Option<&'a OrganizationId>,
    pub(crate) subject: &'a str,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

impl Author {
    /// The user, if the author is one.
    pub const fn user(&self) -> Option<&UserId> {
        match self {
            Self::User { id, .. } => Some(id),
            Self::Key { .. } | Self::CommandLine | Self::FirstStart => None,
        }
    }

    /// The actor in the events of an endpoint.
    pub fn actor(&self) -> Actor {
        match self {
            Self::User { id, .. } => Actor::User(id.clone()),
            Self::Key { id, .. } => Actor::ApiKey(id.clone()),
            Self::CommandLine | Self::FirstStart => Actor::system(&self.to_string()),
        }
    }

    fn address(&self) -> Option<&str> {
        match self {
            Self::User { address, .. } | Self::Key { address, .. } => Some(address),
            Self::CommandLine => Some("command line"),
            Self::FirstStart => None,
        }
    }

    /// Records a change with the state before and after.
    pub(crate) async fn record_change(
        &self,
        tx: &mut Tx,
        change: AuditedChange<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let written = |value: Value| (!value.is_null()).then(|| value.to_string());
        let entry = Entry {
            at: now,
            organization: change.organization.cloned(),
            actor: self.to_string(),
            address: self.address().map(ToOwned::to_owned),
            action: change.action.to_owned(),
            subject: change.subject.to_owned(),
            detail: String::new(),
            before: written(change.before),
            after: written(change.after),
        };
        audit::append(tx, &entry).await
    }

    /// Records an action that has no state before and after.
    pub(crate) async fn record_action(
        &self,
        tx: &mut Tx,
        action: &str,
        organization: Option<&OrganizationId>,
        subject: &str,
        detail: impl Into<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let entry = Entry {
            at: now,
            organization: organization.cloned(),
            actor: self.to_string(),
            address: self.address().map(ToOwned::to_owned),
            action: action.to_owned(),
            subject: subject.to_owned(),
            detail: detail.into(),
            before: None,
            after: None,
        };
        audit::append(tx, &entry).await
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { id, .. } => f.write_str(id.as_str()),
            Self::Key { id, .. } => f.write_str(id.as_str()),
            Self::CommandLine => f.write_str("forebay admin"),
            Self::FirstStart => f.write_str("first start"),
        }
    }
}
