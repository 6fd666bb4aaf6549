//! Limits of keys by model, as they are written and read.

use domain::KeyLimits;
use domain::key_limits::ModelLimit;
use domain::key_restrictions::RestrictionError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The limits of a key beside those of all its calls.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = KeyLimits)]
pub struct KeyLimitsView {
    /// A call counts against the entry of its model's id, or else of the longest prefix.
    #[serde(default)]
    #[schema(max_items = 50)]
    per_model: Vec<ModelLimitView>,
}

/// What the calls of a key to some models may use in a minute, all together.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = ModelLimit)]
struct ModelLimitView {
    /// The id of a model, or the beginning of ids followed by `*`.
    #[schema(min_length = 1, max_length = 200, example = "acme/*")]
    model: String,
    /// Null follows the workspace.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    requests_per_minute: Option<u64>,
    /// Null follows the workspace.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    tokens_per_minute: Option<u64>,
}

impl KeyLimitsView {
    pub fn read(self) -> Result<KeyLimits, RestrictionError> {
        let read = |one: &ModelLimitView| ModelLimit::new(&one.model, one.requests_per_minute, one.tokens_per_minute);
        KeyLimits::new(self.per_model.iter().map(read).collect::<Result<_, _>>()?)
    }
}

impl From<&KeyLimits> for KeyLimitsView {
    fn from(limits: &KeyLimits) -> Self {
        let view = |ModelLimit { model, requests_per_minute, tokens_per_minute }: &ModelLimit| ModelLimitView {
            model: model.to_string(),
            requests_per_minute: *requests_per_minute,
            tokens_per_minute: *tokens_per_minute,
        };
        Self { per_model: limits.per_model().iter().map(view).collect() }
    }
}
