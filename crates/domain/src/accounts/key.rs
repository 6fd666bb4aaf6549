//! API keys: `sk-<segment>-<secret>`.
//!
//! The segment is public and identifies the key. Of the secret, only the SHA-256 is stored.

use super::key_limits::KeyLimits;
use super::key_restrictions::KeyRestrictions;
use crate::budget::Budgets;
use crate::endpoint::labels::Labels;
use crate::ids::{KeyId, OrganizationId, UserId, WorkspaceId};
use crate::time::Timestamp;
use crate::workspace::Workspace;
use crate::{named_enum, shown_as_text};
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

const SEGMENT_LEN: usize = 12;
const SECRET_LEN: usize = 40;
const MIN_SECRET_LEN: usize = 32;
const MAX_SECRET_LEN: usize = 128;
const SEGMENT_ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const SECRET_ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The public part of a key: 12 lower-case letters or digits, unique, used for look-up and display.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Segment([u8; SEGMENT_LEN]);

impl Segment {
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; SEGMENT_LEN] = text.as_bytes().try_into().ok()?;
        bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z')).then_some(Self(bytes))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a segment is made of ASCII letters and digits")
    }
}

shown_as_text!(Segment);

/// The SHA-256 of a secret.
#[derive(Clone, Copy, Eq)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Hashes a secret.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(hash))
    }
}

/// Constant time, so that timing reveals nothing about a guess.
impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::hash::Hash for SecretHash {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

/// A well-formed key as sent by a client; not yet authenticated.
#[derive(Clone, Copy)]
pub struct KeyText<'a> {
    pub segment: Segment,
    secret: &'a str,
}

impl<'a> KeyText<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let (segment, secret) = text.strip_prefix("sk-")?.split_once('-')?;
        let good_secret = (MIN_SECRET_LEN..=MAX_SECRET_LEN).contains(&secret.len())
            && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        good_secret.then_some(Self { segment: Segment::parse(segment)?, secret })
    }

    pub fn hash(&self) -> SecretHash {
        SecretHash::of(self.secret)
    }
}

/// The full text of a new key, which is shown once. `Debug` prints only its prefix.
pub struct NewKey {
    pub segment: Segment,
    pub hash: SecretHash,
    text: String,
}

impl NewKey {
    /// Random bytes needed by [`NewKey::from_entropy`].
    pub const ENTROPY: usize = (SEGMENT_LEN + SECRET_LEN) * 2;

    /// Two random bytes per character keep the modulo bias below one part in a thousand.
    pub fn from_entropy(entropy: &[u8; Self::ENTROPY]) -> Self {
        let mut pairs = entropy.chunks_exact(2).map(|pair| usize::from(u16::from_le_bytes([pair[0], pair[1]])));
        let mut draw = |alphabet: &[u8]| alphabet[pairs.next().expect("enough entropy") % alphabet.len()];
        let segment = Segment(std::array::from_fn(|_| draw(SEGMENT_ALPHABET)));
        let secret: String = (0..SECRET_LEN).map(|_| char::from(draw(SECRET_ALPHABET))).collect();
        Self { segment, hash: SecretHash::of(&secret), text: format!("sk-{segment}-{secret}") }
    }

    /// The secret, to show it to the user. The only way to read it.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sk-{}-…", self.segment)
    }
}

named_enum! {
    /// The state of a key at a moment.
    #[derive(serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum KeyState {
        Active = "active",
        Revoked = "revoked",
        Disabled = "disabled",
        Expired = "expired",
    }
}

/// A stored key.
#[derive(Debug, Clone)]
pub struct ApiKey {
    pub id: KeyId,
    pub workspace: WorkspaceId,
    pub organization: OrganizationId,
    pub name: String,
    pub segment: Segment,
    pub hash: SecretHash,
    /// Until when this secret is valid after a rotation; `None` if it was not rotated.
    pub dies_at: Option<Timestamp>,
    /// Until when an earlier secret works beside the current one, if one does.
    pub overlap_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub created_by: Option<UserId>,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub disabled_at: Option<Timestamp>,
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    pub limits: KeyLimits,
    /// Whether its calls name the people behind it.
    pub trusts_end_user: bool,
    pub restrictions: KeyRestrictions,
    pub labels: Labels,
    pub budgets: Budgets,
}

impl ApiKey {
    /// A key without an end, limits and restrictions.
    pub fn new(id: KeyId, workspace: &Workspace, name: &str, text: &NewKey, created_at: Timestamp) -> Self {
        Self {
            id,
            workspace: workspace.id.clone(),
            organization: workspace.organization.clone(),
            name: name.to_owned(),
            segment: text.segment,
            hash: text.hash,
            dies_at: None,
            overlap_until: None,
            created_at,
            created_by: None,
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
            disabled_at: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            limits: KeyLimits::none(),
            trusts_end_user: false,
            restrictions: KeyRestrictions::default(),
            labels: Labels::new(),
            budgets: Budgets::default(),
        }
    }

    /// The state at `now`. Revoked takes precedence over disabled, disabled over expired.
    pub fn state(&self, now: Timestamp) -> KeyState {
        if self.revoked_at.is_some() {
            return KeyState::Revoked;
        }
        if self.disabled_at.is_some() {
            return KeyState::Disabled;
        }
        match self.expires_at {
            Some(end) if end <= now => KeyState::Expired,
            _ => KeyState::Active,
        }
    }

    /// Until when this secret is valid, unless the key is changed before; `None` if unlimited.
    pub fn good_until(&self) -> Option<Timestamp> {
        [self.expires_at, self.dies_at].into_iter().flatten().min()
    }

    /// The key as displayed after its creation: `sk-3f9k2m7q1x8a-…`.
    pub fn masked(&self) -> String {
        format!("sk-{}-…", self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_parses_and_matches_its_hash() {
        let entropy: [u8; NewKey::ENTROPY] = std::array::from_fn(|i| (i * 37) as u8);
        let key = NewKey::from_entropy(&entropy);
        let text = KeyText::parse(key.reveal()).unwrap();
        assert_eq!(text.segment, key.segment);
        assert_eq!(text.hash(), key.hash);
        assert_eq!(SecretHash::from_hex(&key.hash.to_hex()), Some(key.hash));
        assert!(!format!("{key:?}").contains(&key.reveal()[16..]));
    }

    #[test]
    fn malformed_keys_are_rejected() {
        let secret = "a".repeat(32);
        for bad in [
            String::new(),
            "sk-".into(),
            format!("sk-abcdefghijk-{secret}"),
            format!("sk-abcdefghijkL-{secret}"),
            format!("pk-abcdefghijkl-{secret}"),
            format!("sk-abcdefghijkl-{}", "a".repeat(31)),
            format!("sk-abcdefghijkl-{}", "a".repeat(129)),
            format!("sk-abcdefghijkl-{}é", "a".repeat(31)),
        ] {
            assert!(KeyText::parse(&bad).is_none(), "{bad}");
        }
        assert!(KeyText::parse(&format!("sk-abcdefghijkl-{secret}")).is_some());
    }

    #[test]
    fn revoked_wins_over_disabled_and_disabled_over_expired() {
        let now = Timestamp::from_millis(1_000);
        let workspace = Workspace::new(WorkspaceId::new(now, 1), OrganizationId::new(now, 1), "test", now);
        let text = NewKey::from_entropy(&[0; NewKey::ENTROPY]);
        let mut key = ApiKey::new(KeyId::new(now, 1), &workspace, "test", &text, now);
        key.expires_at = Some(now);
        assert_eq!(key.state(Timestamp::from_millis(999)), KeyState::Active);
        assert_eq!(key.state(now), KeyState::Expired);
        key.disabled_at = Some(now);
        assert_eq!(key.state(now), KeyState::Disabled);
        key.revoked_at = Some(now);
        assert_eq!(key.state(now), KeyState::Revoked);
        key.dies_at = Some(Timestamp::from_millis(7));
        assert_eq!(key.good_until(), key.dies_at, "the sooner of the two ends");
    }
}
