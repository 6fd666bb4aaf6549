//! Users and their roles in organizations.

use crate::ids::{OrganizationId, UserId};
use crate::named_enum;
use crate::time::Timestamp;
use std::fmt;

/// A user of the console.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub id: UserId,
    pub email: Email,
    /// Whether the identity provider or the operator vouches that the address belongs to the user. Accepting an
    /// invitation proves nothing: the administrator who created the link can open it.
    pub email_proven: bool,
    /// Operators run the platform: caps, prices and limits above the defaults.
    pub operator: bool,
    pub created_at: Timestamp,
    pub memberships: Vec<Membership>,
}

impl User {
    /// The role of the user's membership; `None` if not a member.
    pub fn role_in(&self, organization: &OrganizationId) -> Option<Role> {
        self.memberships.iter().find(|one| one.organization_id == *organization).map(|one| one.role)
    }

    /// The role that decides what the user may do: operators count as administrators everywhere.
    pub fn effective_role_in(&self, organization: &OrganizationId) -> Option<Role> {
        if self.operator { Some(Role::Admin) } else { self.role_in(organization) }
    }
}

/// The role of a user in an organization.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Membership {
    pub organization_id: OrganizationId,
    pub role: Role,
    /// `false` if it came by an invitation while the account's address was not proven. Such a membership ends when the
    /// owner of the address takes over the account.
    #[serde(skip)]
    pub proven: bool,
}

named_enum! {
    /// The rights of a member.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Role {
        Admin = "admin",
        Member = "member",
    }
}

/// An e-mail address in lower case, so that spellings that differ in case are the same account.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Email(String);

/// A text is not an e-mail address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an e-mail address")]
pub struct EmailError(pub String);

impl Email {
    pub fn parse(text: &str) -> Result<Self, EmailError> {
        let trimmed = text.trim();
        let good = trimmed.len() <= 254
            && !trimmed.chars().any(|letter| letter.is_whitespace() || letter.is_control())
            && trimmed
                .split_once('@')
                .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
        if !good {
            return Err(EmailError(trimmed.chars().take(64).collect()));
        }
        Ok(Self(trimmed.to_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_without_case() {
        assert_eq!(Email::parse(" Ada@Example.com ").unwrap().as_str(), "ada@example.com");
        assert!(Email::parse("admin@localhost").is_ok());
        for bad in ["", "ada", "@x", "ada@", "a@b@c", "a b@c"] {
            assert!(Email::parse(bad).is_err(), "{bad}");
        }
    }
}
