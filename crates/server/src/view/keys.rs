use control::keys::CreatedKey;
use domain::{ApiKey, KeyId, KeyState, Timestamp, UserId};
use serde::Serialize;
use utoipa::ToSchema;

/// An API key; its text is there once, when it is new.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Key)]
pub(crate) struct KeyView {
    #[schema(value_type = String, example = "key_01k0000000000000000000000")]
    id: KeyId,
    name: String,
    /// What may be shown of the key.
    #[schema(example = "sk-3f9k2m7q1x8a-…")]
    prefix: String,
    #[schema(value_type = KeyStateView)]
    state: KeyState,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The user who created it; null for keys that nobody in particular did.
    #[schema(value_type = Option<String>)]
    created_by: Option<UserId>,
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Some moments late: it is not written while a call waits.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    /// The whole key, in the answer that created or rotated it and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    key: Option<String>,
}

#[derive(ToSchema)]
#[schema(as = KeyState, rename_all = "lowercase")]
#[expect(dead_code, reason = "it only describes the words of the domain's KeyState")]
enum KeyStateView {
    Active,
    Revoked,
    Disabled,
    Expired,
}

impl KeyView {
    pub(crate) fn new(key: ApiKey, now: Timestamp) -> Self {
        Self {
            prefix: key.masked(),
            state: key.state(now),
            id: key.id,
            name: key.name,
            created_at: key.created_at,
            created_by: key.created_by,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            requests_per_minute: key.requests_per_minute,
            tokens_per_minute: key.tokens_per_minute,
            key: None,
        }
    }

    /// With the text of a key that is new or has a new secret.
    pub(crate) fn once(created: CreatedKey, now: Timestamp) -> Self {
        Self { key: Some(created.text.reveal().to_owned()), ..Self::new(created.key, now) }
    }
}
