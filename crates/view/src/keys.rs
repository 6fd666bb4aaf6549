use super::budgets::{BudgetView, SpendingView};
use super::key_limits::KeyLimitsView;
use control::keys::CreatedKey;
use domain::endpoint::labels::Labels;
use domain::{ApiKey, KeyRestrictions, KeyState, Timestamp};
use serde::Serialize;
use store::budgets::Spending;
use store::key_list::{KeyCreator, ListedKey};
use utoipa::ToSchema;

/// An API key. Its text is included only when it is new.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Key)]
pub struct KeyView {
    #[schema(example = "key_01k0000000000000000000000")]
    id: String,
    name: String,
    /// The public part of the key.
    #[schema(example = "sk-3f9k2m7q1x8a-…")]
    prefix: String,
    state: KeyStateView,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The user who created it; null for keys that no user created.
    created_by: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Until when the text before the last rotation works, too; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    overlap_until: Option<Timestamp>,
    /// Updated with a delay, after the call.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    limits: KeyLimitsView,
    /// Whether its calls name the people behind it.
    trusts_end_user: bool,
    /// Null: all.
    #[schema(example = json!(["inference"]))]
    permissions: Option<Vec<&'static str>>,
    /// Null: all.
    #[schema(example = json!(["acme/*"]))]
    allowed_models: Option<Vec<String>>,
    /// Null: all.
    #[schema(example = json!(["10.0.0.0/8"]))]
    allowed_ips: Option<Vec<String>>,
    labels: Labels,
    budgets: Vec<BudgetView>,
    /// The whole key, in the response that created or rotated it only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    key: Option<String>,
}

/// An API key with what was spent of its budgets.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = KeyWithSpending)]
pub struct KeySpendingView {
    #[serde(flatten)]
    key: KeyView,
    /// One per budget, in the same order.
    spending: Vec<SpendingView>,
}

impl KeySpendingView {
    pub fn new(key: ApiKey, spending: &[Spending], now: Timestamp) -> Self {
        Self { key: KeyView::new(key, now), spending: spending.iter().map(SpendingView::from).collect() }
    }
}

/// An API key of any workspace of an organization, with its creator.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrganizationKey)]
pub struct OrganizationKeyView {
    #[serde(flatten)]
    key: KeyView,
    workspace_id: String,
    /// Null for keys that no user created.
    creator: Option<KeyCreatorView>,
}

impl OrganizationKeyView {
    pub fn new(listed: ListedKey, now: Timestamp) -> Self {
        Self {
            workspace_id: listed.key.workspace.to_string(),
            key: KeyView::new(listed.key, now),
            creator: listed.creator.map(KeyCreatorView::from),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = KeyCreator)]
struct KeyCreatorView {
    id: String,
    /// Null if the user was deleted.
    email: Option<String>,
    /// False if the user was removed from the organization.
    has_access: bool,
}

impl From<KeyCreator> for KeyCreatorView {
    fn from(creator: KeyCreator) -> Self {
        let KeyCreator { id, email, has_access } = creator;
        Self { id: id.to_string(), email: email.map(|email| email.to_string()), has_access }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = KeyState)]
enum KeyStateView {
    Active,
    Revoked,
    Disabled,
    Expired,
}

impl From<KeyState> for KeyStateView {
    fn from(state: KeyState) -> Self {
        match state {
            KeyState::Active => Self::Active,
            KeyState::Revoked => Self::Revoked,
            KeyState::Disabled => Self::Disabled,
            KeyState::Expired => Self::Expired,
        }
    }
}

impl KeyView {
    pub fn new(key: ApiKey, now: Timestamp) -> Self {
        let KeyRestrictions { permissions, allowed_models, allowed_ips } = &key.restrictions;
        Self {
            permissions: permissions.as_ref().map(|all| all.iter().map(|one| one.as_str()).collect()),
            allowed_models: allowed_models.as_ref().map(|all| all.iter().map(ToString::to_string).collect()),
            allowed_ips: allowed_ips.as_ref().map(|all| all.iter().map(ToString::to_string).collect()),
            id: key.id.to_string(),
            prefix: key.masked(),
            state: key.state(now).into(),
            name: key.name,
            created_at: key.created_at,
            created_by: key.created_by.map(|id| id.to_string()),
            expires_at: key.expires_at,
            overlap_until: key.overlap_until.filter(|end| *end > now && key.revoked_at.is_none()),
            last_used_at: key.last_used_at,
            requests_per_minute: key.requests_per_minute,
            tokens_per_minute: key.tokens_per_minute,
            limits: KeyLimitsView::from(&key.limits),
            trusts_end_user: key.trusts_end_user,
            labels: key.labels,
            budgets: key.budgets.all().iter().copied().map(BudgetView::from).collect(),
            key: None,
        }
    }

    /// With the text, for a key that is new or has a new secret.
    pub fn once(created: CreatedKey, now: Timestamp) -> Self {
        Self { key: Some(created.text.reveal().to_owned()), ..Self::new(created.key, now) }
    }
}
