//! The people behind one key: callers whom a trusted client names in its calls.
//!
//! A name is kept as an HMAC, which differs between workspaces, and as text only if the workspace wants that.

use crate::budget::Budgets;
use crate::ids::WorkspaceId;
use crate::limits::OwnPerMinute;
use crate::mac::hmac_hex;
use crate::shown_as_text;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The longest `safety_identifier`, in characters.
pub const MAX_SAFETY_IDENTIFIER: usize = 64;
/// The characters of a name that are kept as text.
const MAX_TEXT_CHARS: usize = 64;
/// The most end users of a workspace: anyone who has a trusted key can make up names.
pub const MAX_END_USERS: u64 = 100_000;
/// The most end users of a workspace with limits or budgets of their own.
pub const MAX_WITH_OWN_LIMITS: u64 = 1_000;
const PREFIX: &str = "eu_";
const DIGITS: usize = 32;

/// Identifies an end user of a workspace: `eu_` and 32 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndUserId([u8; PREFIX.len() + DIGITS]);

impl EndUserId {
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == DIGITS && digits.bytes().all(is_hex)).then(|| Self::with_digits(digits.as_bytes()))
    }

    fn with_digits(digits: &[u8]) -> Self {
        let mut text = [0; PREFIX.len() + DIGITS];
        text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        text[PREFIX.len()..].copy_from_slice(&digits[..DIGITS]);
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("letters and digits")
    }
}

shown_as_text!(EndUserId);

/// The secret that ids are derived from, the same on all nodes of an installation.
#[derive(Clone)]
pub struct EndUserSecret(Arc<str>);

impl EndUserSecret {
    pub fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    /// The id of a name in a workspace; `None` if it is empty. A name of any length has one, so that none escapes the limits.
    pub fn id(&self, workspace: &WorkspaceId, name: &str) -> Option<EndUserId> {
        (!name.is_empty())
            .then(|| EndUserId::with_digits(hmac_hex(&self.0, &format!("{workspace}\n{name}")).as_bytes()))
    }
}

impl fmt::Debug for EndUserSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndUserSecret")
    }
}

/// The end user of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndUser {
    pub id: EndUserId,
    /// The beginning of the name, if the workspace keeps it.
    pub text: Option<Box<str>>,
}

impl EndUser {
    /// The text that is kept of a name. Control characters are left out.
    pub fn text_of(name: &str) -> Box<str> {
        name.chars().filter(|char| !char.is_control()).take(MAX_TEXT_CHARS).collect::<String>().into()
    }
}

/// What applies to the end users of a workspace that have no limits of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EndUserSettings {
    /// Whether names are kept as text.
    pub keep_text: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    pub budgets: Budgets,
}

/// The limits of one end user; `None` follows the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnEndUserLimits {
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    pub budgets: Option<Budgets>,
}

/// How the calls of a key that names end users are limited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndUserPolicy {
    pub settings: EndUserSettings,
    pub own: HashMap<EndUserId, OwnEndUserLimits>,
}

impl EndUserPolicy {
    pub fn per_minute(&self, id: &EndUserId) -> OwnPerMinute {
        let own = self.own.get(id);
        OwnPerMinute {
            requests: own.and_then(|own| own.requests_per_minute).or(self.settings.requests_per_minute),
            tokens: own.and_then(|own| own.tokens_per_minute).or(self.settings.tokens_per_minute),
        }
    }

    pub fn budgets(&self, id: &EndUserId) -> &Budgets {
        self.own.get(id).and_then(|own| own.budgets.as_ref()).unwrap_or(&self.settings.budgets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::budget::{Budget, BudgetWindow};
    use crate::money::NanoUsd;

    #[test]
    fn an_id_does_not_tell_the_name_and_differs_between_workspaces() {
        let workspace = |number| WorkspaceId::new(Timestamp::from_millis(1), number);
        let id = |secret: &str, number, name: &str| EndUserSecret::new(secret).id(&workspace(number), name);
        let one = id("a", 1, "ada@example.com").unwrap();
        assert_eq!(id("a", 1, "ada@example.com"), Some(one.clone()), "nodes agree");
        for other in [id("a", 1, "bob@example.com"), id("a", 2, "ada@example.com"), id("b", 1, "ada@example.com")] {
            assert_ne!(other.as_ref(), Some(&one));
        }
        assert_eq!(EndUserId::parse(one.as_str()), Some(one));
        assert_eq!(id("a", 1, ""), None);
        let [long, longer] = [10_000, 10_001].map(|length| id("a", 1, &"x".repeat(length)).unwrap());
        assert_ne!(long, longer);
        for bad in ["", "eu_", "eu_00", &format!("eu_{}", "G".repeat(32)), &format!("xx_{}", "0".repeat(32))] {
            assert_eq!(EndUserId::parse(bad), None, "{bad}");
        }
        assert_eq!(&*EndUser::text_of(&format!("a\n{}", "é".repeat(100))), format!("a{}", "é".repeat(63)));
    }

    #[test]
    fn limits_of_their_own_come_before_those_of_the_workspace() {
        let id = |digit: &str| EndUserId::parse(&format!("eu_{}", digit.repeat(32))).unwrap();
        let budgets = |nanos| {
            let usd = NanoUsd::from_nanos(nanos);
            Budgets::new(vec![Budget { window: BudgetWindow::Day, usd, soft: false, raise: None }]).unwrap()
        };
        let own = OwnEndUserLimits { requests_per_minute: Some(1), tokens_per_minute: None, budgets: Some(budgets(7)) };
        let settings = EndUserSettings {
            requests_per_minute: Some(10),
            tokens_per_minute: Some(100),
            budgets: budgets(5),
            ..EndUserSettings::default()
        };
        let policy = EndUserPolicy { settings, own: [(id("1"), own)].into() };
        assert_eq!(policy.per_minute(&id("1")), OwnPerMinute { requests: Some(1), tokens: Some(100) });
        assert_eq!(policy.per_minute(&id("2")), OwnPerMinute { requests: Some(10), tokens: Some(100) });
        assert_eq!((policy.budgets(&id("1")), policy.budgets(&id("2"))), (&budgets(7), &budgets(5)));
        let text = serde_json::to_string(&policy.settings).unwrap();
        assert_eq!(serde_json::from_str::<EndUserSettings>(&text).unwrap(), policy.settings);
    }
}
