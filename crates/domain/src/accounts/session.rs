//! Sessions of signed-in browsers, identified by a random token of which only a hash is stored.

use crate::ids::{OrganizationId, SessionId, UserId, WorkspaceId};
use crate::key::SecretHash;
use crate::time::Timestamp;
use std::fmt;

/// Maximum lifetimes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// Since its last use.
    pub idle_millis: i64,
    /// Since the sign-in, regardless of use.
    pub absolute_millis: i64,
}

/// A session of a signed-in user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub user: UserId,
    /// The selected organization and workspace.
    pub organization: Option<OrganizationId>,
    pub workspace: Option<WorkspaceId>,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    /// The IP address of the sign-in.
    pub address: String,
    pub user_agent: String,
}

impl Session {
    /// When the session ends without further use.
    pub fn ends_at(&self, lifetimes: &Lifetimes) -> Timestamp {
        let idle = self.seen_at.plus_millis(lifetimes.idle_millis);
        idle.min(self.created_at.plus_millis(lifetimes.absolute_millis))
    }

    pub fn is_alive(&self, lifetimes: &Lifetimes, now: Timestamp) -> bool {
        now < self.ends_at(lifetimes)
    }
}

/// 43 characters of base 62 are 256 bits.
pub const TOKEN_LEN: usize = 43;

fn is_token(text: &str) -> bool {
    text.len() == TOKEN_LEN && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Identifies a browser in which a user has signed in before. It gives no access: it only separates wrong passwords of
/// that browser from those of others. `Debug` does not print it.
#[derive(Clone)]
pub struct BrowserToken(String);

impl BrowserToken {
    pub fn parse(text: &str) -> Option<Self> {
        is_token(text).then(|| Self(text.to_owned()))
    }

    /// The token itself, for the cookie.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BrowserToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserToken(…)")
    }
}

/// The token in the session cookie. `Debug` does not print it.
#[derive(Clone)]
pub struct SessionToken(String);

impl SessionToken {
    pub fn parse(text: &str) -> Option<Self> {
        is_token(text).then(|| Self(text.to_owned()))
    }

    pub fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }

    /// The CSRF token that mutating calls must send. Derived from this token, so it needs no storage.
    pub fn csrf(&self) -> String {
        self.csrf_hash().to_hex()
    }

    /// Compares in constant time.
    pub fn is_csrf(&self, text: &str) -> bool {
        SecretHash::from_hex(text).is_some_and(|shown| shown == self.csrf_hash())
    }

    fn csrf_hash(&self) -> SecretHash {
        SecretHash::of(&format!("csrf:{}", self.0))
    }

    /// Identifies the browser of the session after it has ended. Derived from this token, so it can be sent at any time.
    pub fn browser(&self) -> BrowserToken {
        BrowserToken(SecretHash::of(&format!("browser:{}", self.0)).to_hex()[..TOKEN_LEN].to_owned())
    }

    /// The token itself, for the cookie.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_a_browser_is_valid_and_differs_by_session() {
        let [one, other] = ["a", "b"].map(|letter| SessionToken::parse(&letter.repeat(TOKEN_LEN)).unwrap().browser());
        assert!(BrowserToken::parse(one.reveal()).is_some());
        assert_ne!(one.reveal(), other.reveal());
    }

    #[test]
    fn a_session_ends_when_idle_and_at_its_absolute_lifetime() {
        let at = Timestamp::from_millis;
        let lifetimes = Lifetimes { idle_millis: 10, absolute_millis: 25 };
        let mut session = Session {
            id: SessionId::new(at(100), 1),
            user: UserId::new(at(100), 1),
            organization: None,
            workspace: None,
            created_at: at(100),
            seen_at: at(100),
            address: String::new(),
            user_agent: String::new(),
        };
        for (seen, now, alive) in
            [(100, 109, true), (100, 110, false), (109, 118, true), (120, 124, true), (120, 125, false)]
        {
            session.seen_at = at(seen);
            assert_eq!(session.is_alive(&lifetimes, at(now)), alive, "seen {seen}, now {now}");
        }
    }

    #[test]
    fn the_csrf_token_belongs_to_one_session_and_is_not_its_hash() {
        let (one, other) =
            (SessionToken::parse(&"a".repeat(43)).unwrap(), SessionToken::parse(&"b".repeat(43)).unwrap());
        assert!(one.is_csrf(&one.csrf()));
        for wrong in [other.csrf(), one.hash().to_hex(), String::new(), one.csrf()[..63].to_owned(), one.csrf() + "0"] {
            assert!(!one.is_csrf(&wrong), "{wrong}");
        }
        for bad in ["", "a", &"a".repeat(42), &"a".repeat(44), &format!("{}-", "a".repeat(42))] {
            assert!(SessionToken::parse(bad).is_none(), "{bad}");
        }
        assert!(!format!("{one:?}").contains('a'.to_string().repeat(3).as_str()));
    }
}
