//! The operator's keys that content is encrypted with: stored responses, and reasoning that clients keep for us.
//!
//! A sealed value is `version | key id | salt | AES-256-GCM ciphertext and tag`. Its own key and nonce are derived from the
//! content key and the random salt (HKDF-SHA256), so no number of values makes a nonce repeat. The [`Scope`] is associated
//! data: a value that is moved to another row or to another workspace does not open.
//!
//! Rotation: the first key seals, all of them open.

use super::secrets;
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::{BatchId, FileId, ModelId, WorkspaceId};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::{digest, hkdf};
use std::fmt;
use std::sync::Arc;

/// The length of a content key.
pub const KEY_BYTES: usize = 32;
/// Keys that are kept while rows are rotated.
const MAX_KEYS: usize = 16;
const KEY_ID_BYTES: usize = 8;
const SALT_BYTES: usize = 32;
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 1 + KEY_ID_BYTES + SALT_BYTES;
/// Marks sealed reasoning as ours, in its first version.
const TEXT_PREFIX: &str = "fbr1_";
/// Padding is optional: tools differ in it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Names a key without revealing it: the start of a hash of the key, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentKeyId(String);

impl ContentKeyId {
    fn new(bytes: [u8; KEY_ID_BYTES]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a sealed value belongs. It opens only in the same scope.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// The input of a stored response.
    ResponseInput { workspace: &'a WorkspaceId, response: &'a str },
    /// A stored response.
    Response { workspace: &'a WorkspaceId, response: &'a str },
    /// Reasoning that a client of the workspace keeps for us.
    Reasoning { workspace: &'a WorkspaceId },
    /// A chunk of a file.
    FileChunk { file: &'a FileId, chunk: &'a str },
    /// The request of a line of a batch.
    BatchLine { batch: &'a BatchId, line: &'a str },
    /// Its response.
    BatchResult { batch: &'a BatchId, line: &'a str },
    /// The key of the upstreams of a model at one address.
    UpstreamKey { model: &'a ModelId, url: &'a str },
    /// A part of the log of an engine that another node has asked for.
    EngineLog { name: &'a str },
}

impl Scope<'_> {
    /// Each part with its length, so that no two scopes are equal as bytes.
    fn associated_data(self) -> Vec<u8> {
        let parts = match self {
            Self::ResponseInput { workspace, response } => ["response input", workspace.as_str(), response],
            Self::Response { workspace, response } => ["response", workspace.as_str(), response],
            Self::Reasoning { workspace } => ["reasoning", workspace.as_str(), ""],
            Self::FileChunk { file, chunk } => ["file chunk", file.as_str(), chunk],
            Self::BatchLine { batch, line } => ["batch line", batch.as_str(), line],
            Self::BatchResult { batch, line } => ["batch result", batch.as_str(), line],
            Self::UpstreamKey { model, url } => ["upstream key", model.as_str(), url],
            Self::EngineLog { name } => ["engine log", name, ""],
        };
        let length = |part: &str| u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes();
        parts.iter().flat_map(|part| length(part).into_iter().chain(part.bytes())).collect()
    }
}

/// A list of content keys is malformed. `Display` names the key by its position and never shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentKeyError {
    #[error("key {position} is not base64")]
    Encoding { position: usize },
    #[error("key {position} has {bytes} bytes; a content key has {KEY_BYTES}, such as from `openssl rand -base64 32`")]
    Length { position: usize, bytes: usize },
    #[error("key {position} is the same as one before it")]
    Repeated { position: usize },
    #[error("has more than {MAX_KEYS} keys")]
    TooMany,
}

/// A sealed value cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("sealed with the key {key}, which is not among the content keys")]
    UnknownKey { key: ContentKeyId },
    #[error("not a sealed value of this scope, or damaged")]
    Invalid,
}

/// The keys that seal and open content. `Debug` shows only their ids.
#[derive(Clone, PartialEq, Eq)]
pub struct ContentKeys {
    sealing: ContentKey,
    /// Earlier keys, which only open.
    earlier: Arc<[ContentKey]>,
}

#[derive(Clone, PartialEq, Eq)]
struct ContentKey {
    id: [u8; KEY_ID_BYTES],
    secret: [u8; KEY_BYTES],
}

impl ContentKey {
    fn new(secret: [u8; KEY_BYTES]) -> Self {
        let mut hashed = digest::Context::new(&digest::SHA256);
        hashed.update(b"forebay content key id");
        hashed.update(&secret);
        let id = hashed.finish().as_ref()[..KEY_ID_BYTES].try_into().expect("a SHA-256 is longer");
        Self { id, secret }
    }

    fn parse(text: &str, position: usize) -> Result<Self, ContentKeyError> {
        let bytes = BASE64.decode(text).map_err(|_| ContentKeyError::Encoding { position })?;
        let length = bytes.len();
        let secret = bytes.try_into().map_err(|_| ContentKeyError::Length { position, bytes: length })?;
        Ok(Self::new(secret))
    }

    /// The key and the nonce of one value.
    fn derive(&self, salt: &[u8]) -> (LessSafeKey, Nonce) {
        let mut derived = [0; KEY_BYTES + NONCE_LEN];
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&self.secret);
        let expanded = extracted.expand(&[b"forebay content"], DerivedLength).and_then(|okm| okm.fill(&mut derived));
        expanded.expect("the length is far below the maximum of HKDF");
        let (key, nonce) = derived.split_at(KEY_BYTES);
        let key = UnboundKey::new(&AES_256_GCM, key).expect("the key has the length of AES-256");
        let nonce = Nonce::try_assume_unique_for_key(nonce).expect("the nonce has the length of GCM's");
        (LessSafeKey::new(key), nonce)
    }
}

struct DerivedLength;

impl hkdf::KeyType for DerivedLength {
    fn len(&self) -> usize {
        KEY_BYTES + NONCE_LEN
    }
}

impl ContentKeys {
    /// Parses keys of 32 bytes in base64, separated by commas; the first one seals.
    pub fn parse(text: &str) -> Result<Self, ContentKeyError> {
        let mut keys: Vec<ContentKey> = Vec::new();
        for (index, text) in text.split(',').enumerate() {
            let position = index + 1;
            if index == MAX_KEYS {
                return Err(ContentKeyError::TooMany);
            }
            let key = ContentKey::parse(text.trim(), position)?;
            if keys.contains(&key) {
                return Err(ContentKeyError::Repeated { position });
            }
            keys.push(key);
        }
        let sealing = keys.remove(0);
        Ok(Self { sealing, earlier: keys.into() })
    }

    /// A single key.
    pub fn single(secret: [u8; KEY_BYTES]) -> Self {
        Self { sealing: ContentKey::new(secret), earlier: Arc::default() }
    }

    /// The text of a new key.
    pub fn generate() -> String {
        let mut fresh = [0; KEY_BYTES];
        getrandom::fill(&mut fresh).expect("the system's random source never fails once the system is up");
        BASE64.encode(fresh)
    }

    /// A key that all nodes share, created by the first one that needs it.
    pub async fn shared(store: &Store, name: &str) -> Result<Self, StoreError> {
        let shared = secrets::share(store, name, &Self::generate()).await?;
        Self::parse(&shared).map_err(|_| row::corrupt("value"))
    }

    /// The key that seals.
    pub fn sealing_key(&self) -> ContentKeyId {
        ContentKeyId::new(self.sealing.id)
    }

    /// The same keys, and those of `others` to open with.
    #[must_use]
    pub fn also_opening(&self, others: &Self) -> Self {
        let earlier = self.earlier.iter().chain([&others.sealing]).chain(others.earlier.iter()).cloned().collect();
        Self { sealing: self.sealing.clone(), earlier }
    }

    pub fn seal(&self, scope: Scope<'_>, content: &[u8]) -> Vec<u8> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).expect("the system's random source never fails once the system is up");
        let (key, nonce) = self.sealing.derive(&salt);
        let mut encrypted = content.to_vec();
        let sealed = key.seal_in_place_append_tag(nonce, Aad::from(scope.associated_data()), &mut encrypted);
        sealed.expect("content is far shorter than the maximum of GCM");
        [&[VERSION], &self.sealing.id[..], &salt, &encrypted].concat()
    }

    pub fn open(&self, scope: Scope<'_>, sealed: &[u8]) -> Result<Vec<u8>, OpenError> {
        let (header, encrypted) = sealed.split_at_checked(HEADER_BYTES).ok_or(OpenError::Invalid)?;
        let (version, rest) = header.split_at(1);
        let (id, salt) = rest.split_at(KEY_ID_BYTES);
        if version != [VERSION] {
            return Err(OpenError::Invalid);
        }
        let mut keys = [&self.sealing].into_iter().chain(self.earlier.iter());
        let Some(key) = keys.find(|key| key.id == id) else {
            let id = id.try_into().map_err(|_| OpenError::Invalid)?;
            return Err(OpenError::UnknownKey { key: ContentKeyId::new(id) });
        };
        let (key, nonce) = key.derive(salt);
        let mut content = encrypted.to_vec();
        let opened = key.open_in_place(nonce, Aad::from(scope.associated_data()), &mut content);
        let length = opened.map_err(|_| OpenError::Invalid)?.len();
        content.truncate(length);
        Ok(content)
    }

    /// Seals a text as a text.
    pub fn seal_text(&self, scope: Scope<'_>, text: &str) -> String {
        let mut sealed = String::from(TEXT_PREFIX);
        BASE64_URL_SAFE_NO_PAD.encode_string(self.seal(scope, text.as_bytes()), &mut sealed);
        sealed
    }

    /// The text that [`Self::seal_text`] sealed in the same scope; `None` for every other text.
    pub fn open_text(&self, scope: Scope<'_>, sealed: &str) -> Option<String> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(sealed.strip_prefix(TEXT_PREFIX)?).ok()?;
        String::from_utf8(self.open(scope, &sealed).ok()?).ok()
    }

    /// Whether a text looks as if some [`Self::seal_text`] had sealed it.
    pub fn is_sealed_text(text: &str) -> bool {
        text.strip_prefix(TEXT_PREFIX).is_some_and(|sealed| BASE64_URL_SAFE_NO_PAD.decode(sealed).is_ok())
    }

    /// Seals reasoning as a text that the client sends back with its next call.
    pub fn seal_reasoning(&self, workspace: &WorkspaceId, reasoning: &str) -> String {
        self.seal_text(Scope::Reasoning { workspace }, reasoning)
    }

    /// The reasoning that [`Self::seal_reasoning`] sealed for the same workspace; `None` for every other text.
    pub fn open_reasoning(&self, workspace: &WorkspaceId, text: &str) -> Option<String> {
        self.open_text(Scope::Reasoning { workspace }, text)
    }
}

impl ContentKeys {
    /// Seals the key of the upstreams of a model at one address.
    pub fn seal_upstream_key(&self, model: &ModelId, url: &str, key: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.seal(Scope::UpstreamKey { model, url }, key.as_bytes()))
    }

    /// Whether the key of an upstream was sealed with the key that seals now, and not with an earlier one.
    pub fn is_sealed_now(&self, sealed: &str) -> bool {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(sealed).unwrap_or_default();
        sealed.get(1..=KEY_ID_BYTES) == Some(&self.sealing.id[..])
    }

    /// The key that [`Self::seal_upstream_key`] sealed for the same model and address.
    pub fn open_upstream_key(&self, model: &ModelId, url: &str, sealed: &str) -> Result<String, OpenError> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(sealed).map_err(|_| OpenError::Invalid)?;
        let key = self.open(Scope::UpstreamKey { model, url }, &sealed)?;
        String::from_utf8(key).map_err(|_| OpenError::Invalid)
    }
}

impl fmt::Debug for ContentKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = [&self.sealing].into_iter().chain(self.earlier.iter()).map(|key| ContentKeyId::new(key.id).0);
        f.debug_tuple("ContentKeys").field(&ids.collect::<Vec<_>>()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    const OLD: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const NEW: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

    fn keys(text: &str) -> ContentKeys {
        ContentKeys::parse(text).unwrap()
    }

    fn workspace(number: u128) -> WorkspaceId {
        WorkspaceId::new(Timestamp::from_millis(1_000), number)
    }

    #[test]
    fn a_sealed_value_opens_in_its_scope_only() {
        let (keys, own, other) = (keys(OLD), workspace(1), workspace(2));
        let scope = Scope::Response { workspace: &own, response: "resp_1" };
        let sealed = keys.seal(scope, b"secret text");
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        assert_eq!(keys.open(scope, &sealed).as_deref(), Ok(&b"secret text"[..]));
        assert_ne!(sealed, keys.seal(scope, b"secret text"), "each value has a salt of its own");
        for moved in [
            Scope::Response { workspace: &own, response: "resp_2" },
            Scope::Response { workspace: &other, response: "resp_1" },
            Scope::ResponseInput { workspace: &own, response: "resp_1" },
            Scope::Reasoning { workspace: &own },
        ] {
            assert_eq!(keys.open(moved, &sealed), Err(OpenError::Invalid), "{moved:?}");
        }
    }

    #[test]
    fn a_damaged_value_does_not_open() {
        let (keys, workspace) = (keys(OLD), workspace(1));
        let scope = Scope::Response { workspace: &workspace, response: "resp_1" };
        let sealed = keys.seal(scope, b"text");
        for position in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[position] ^= 1;
            assert!(keys.open(scope, &damaged).is_err(), "byte {position}");
            assert!(keys.open(scope, &sealed[..position]).is_err(), "cut at {position}");
        }
    }

    #[test]
    fn after_a_rotation_old_values_open_until_the_old_key_is_removed() {
        let workspace = workspace(1);
        let scope = Scope::Response { workspace: &workspace, response: "resp_1" };
        let old = keys(OLD);
        let sealed = old.seal(scope, b"text");
        let both = keys(&format!(" {NEW} , {OLD}"));
        assert_eq!(both.open(scope, &sealed).as_deref(), Ok(&b"text"[..]));
        assert_eq!(both.sealing_key(), keys(NEW).sealing_key());
        let fresh = both.seal(scope, b"text");
        assert_eq!(keys(NEW).open(scope, &fresh).as_deref(), Ok(&b"text"[..]));
        let unknown = OpenError::UnknownKey { key: old.sealing_key() };
        assert_eq!(keys(NEW).open(scope, &sealed), Err(unknown));
        assert_eq!(keys(NEW).also_opening(&old).open(scope, &sealed).as_deref(), Ok(&b"text"[..]));
    }

    #[test]
    fn malformed_keys_are_rejected_by_position_and_not_shown() {
        for (text, expected) in [
            ("", ContentKeyError::Length { position: 1, bytes: 0 }),
            ("c2hvcnQ=", ContentKeyError::Length { position: 1, bytes: 5 }),
            ("not base64!", ContentKeyError::Encoding { position: 1 }),
            (format!("{OLD},").as_str(), ContentKeyError::Length { position: 2, bytes: 0 }),
            (format!("{OLD},{OLD}").as_str(), ContentKeyError::Repeated { position: 2 }),
        ] {
            assert_eq!(ContentKeys::parse(text), Err(expected), "{text}");
        }
        let many: Vec<String> =
            (0..=MAX_KEYS).map(|number| BASE64.encode([u8::try_from(number).unwrap(); 32])).collect();
        assert_eq!(ContentKeys::parse(&many.join(",")), Err(ContentKeyError::TooMany));
        assert_eq!(keys(OLD.trim_end_matches('=')), keys(OLD));
        let shown = format!("{:?}", keys(OLD));
        assert_eq!(shown, format!("ContentKeys([\"{}\"])", keys(OLD).sealing_key()));
    }

    #[test]
    fn the_key_of_an_upstream_opens_for_its_model_and_address() {
        let keys = keys(OLD);
        let model = |id: &str| ModelId::parse(id).unwrap();
        let sealed = keys.seal_upstream_key(&model("acme/x"), "http://a/v1", "secret");
        assert!(!sealed.contains("secret"));
        let open = |id: &str, url: &str| keys.open_upstream_key(&model(id), url, &sealed);
        assert_eq!(open("acme/x", "http://a/v1").as_deref(), Ok("secret"));
        assert!(keys.is_sealed_now(&sealed) && !self::keys(NEW).is_sealed_now(&sealed) && !keys.is_sealed_now(""));
        assert_eq!(open("acme/y", "http://a/v1"), Err(OpenError::Invalid));
        assert_eq!(open("acme/x", "http://b/v1"), Err(OpenError::Invalid));
        assert_eq!(keys.open_upstream_key(&model("acme/x"), "http://a/v1", "%"), Err(OpenError::Invalid));
    }

    #[test]
    fn sealed_reasoning_opens_for_its_workspace_and_foreign_texts_do_not() {
        let keys = keys(OLD);
        let sealed = keys.seal_reasoning(&workspace(1), "thinking …");
        assert!(sealed.starts_with(TEXT_PREFIX) && sealed.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(keys.open_reasoning(&workspace(1), &sealed).as_deref(), Some("thinking …"));
        assert_eq!(keys.open_reasoning(&workspace(2), &sealed), None);
        for foreign in ["", "gAAAAABo", "fbr1_", "fbr1_%%%", "fbr1_AAAA", "fbr2_AAAA"] {
            assert_eq!(keys.open_reasoning(&workspace(1), foreign), None, "{foreign}");
        }
    }
}
