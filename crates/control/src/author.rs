//! Who asked for a change, as the audit log tells it.

use domain::endpoint::event::Actor;
use domain::{KeyId, OrganizationId, Timestamp, UserId};
use std::fmt;
use store::audit::{self, Entry};
use store::{StoreError, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// A signed-in user.
    User(UserId),
    /// A program with an API key.
    Key(KeyId),
    /// Whoever runs `forebay admin` on the machine.
    CommandLine,
    /// The service itself, on an empty store.
    FirstStart,
}

impl Author {
    pub const fn user(&self) -> Option<&UserId> {
        match self {
            Self::User(id) => Some(id),
            Self::Key(_) | Self::CommandLine | Self::FirstStart => None,
        }
    }

    /// As the events of an endpoint tell it.
    pub fn actor(&self) -> Actor {
        match self {
            Self::User(id) => Actor::User(id.clone()),
            Self::Key(id) => Actor::ApiKey(id.clone()),
            Self::CommandLine | Self::FirstStart => Actor::system(&self.to_string()),
        }
    }

    pub(crate) async fn did(
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
            action: action.to_owned(),
            subject: subject.to_owned(),
            detail: detail.into(),
        };
        audit::append(tx, &entry).await
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(id) => f.write_str(id.as_str()),
            Self::Key(id) => f.write_str(id.as_str()),
            Self::CommandLine => f.write_str("forebay admin"),
            Self::FirstStart => f.write_str("first start"),
        }
    }
}
