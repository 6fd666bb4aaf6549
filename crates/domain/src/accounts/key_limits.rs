//! Limits per minute of a key by model, beside those of the key as a whole.

use crate::key_restrictions::ModelPattern;
use crate::limits::OwnPerMinute;
use crate::model::ModelId;
use crate::model_ref::DEDICATED;
use crate::restriction_error::RestrictionError;
use serde::{Deserialize, Serialize};

/// The most limits by model of a key.
pub const MAX_PER_MODEL: usize = 50;
/// Larger than any real limit, and small enough that no database or browser rounds it.
const MAX_LIMIT: u64 = 1_000_000_000_000_000;
const FIELD: &str = "limits.perModel";

/// What the calls of a key to some models may use in a minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelLimit {
    pub model: ModelPattern,
    /// `None` follows the workspace.
    #[serde(default)]
    pub requests_per_minute: Option<u64>,
    #[serde(default)]
    pub tokens_per_minute: Option<u64>,
}

impl ModelLimit {
    pub fn new(model: &str, requests: Option<u64>, tokens: Option<u64>) -> Result<Self, RestrictionError> {
        let invalid = |why: &str| {
            let shown: String = model.chars().take(64).collect();
            RestrictionError { field: FIELD, why: format!("`{shown}`: {why}") }
        };
        let model = ModelPattern::parse(model)
            .ok_or_else(|| invalid("a model is an id, or the beginning of one with a * at its end"))?;
        if model.as_str().strip_prefix(DEDICATED).is_some_and(|rest| rest.starts_with('/')) {
            return Err(invalid("calls to dedicated endpoints have no limits per minute"));
        }
        if requests.is_none() && tokens.is_none() {
            return Err(invalid("requestsPerMinute, tokensPerMinute or both are required"));
        }
        if [requests, tokens].into_iter().flatten().any(|limit| !(1..=MAX_LIMIT).contains(&limit)) {
            return Err(invalid("a limit must be at least 1 and at most 1000000000000000"));
        }
        Ok(Self { model, requests_per_minute: requests, tokens_per_minute: tokens })
    }

    pub fn per_minute(&self) -> OwnPerMinute {
        OwnPerMinute { requests: self.requests_per_minute, tokens: self.tokens_per_minute }
    }
}

/// The limits of a key by model: at most one per id or prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct KeyLimits {
    per_model: Vec<ModelLimit>,
}

impl KeyLimits {
    pub const fn none() -> Self {
        Self { per_model: Vec::new() }
    }

    pub fn new(mut per_model: Vec<ModelLimit>) -> Result<Self, RestrictionError> {
        if per_model.len() > MAX_PER_MODEL {
            return Err(RestrictionError { field: FIELD, why: format!("a key has at most {MAX_PER_MODEL} entries") });
        }
        per_model.sort_by(|one, other| one.model.as_str().cmp(other.model.as_str()));
        if let Some(pair) = per_model.windows(2).find(|pair| pair[0].model == pair[1].model) {
            return Err(RestrictionError { field: FIELD, why: format!("`{}` has two entries", pair[0].model) });
        }
        Ok(Self { per_model })
    }

    pub fn per_model(&self) -> &[ModelLimit] {
        &self.per_model
    }

    /// The entry that counts calls to a model: its id, or else the longest prefix of it. Models of one prefix share it.
    pub fn of_model(&self, model: &ModelId) -> Option<&ModelLimit> {
        let matching = self.per_model.iter().filter(|limit| limit.model.matches(model.as_str()));
        matching.max_by_key(|limit| (limit.model.prefix().is_none(), limit.model.as_str().len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(model: &str) -> ModelLimit {
        ModelLimit::new(model, Some(5), None).unwrap()
    }

    #[test]
    fn the_id_of_a_model_comes_before_the_longest_prefix() {
        let limits =
            KeyLimits::new(["acme/*", "acme/big*", "acme/big-2", "*"].map(limit).into_iter().collect()).unwrap();
        for (model, expected) in
            [("acme/big-2", "acme/big-2"), ("acme/big-3", "acme/big*"), ("acme/tiny", "acme/*"), ("other/tiny", "*")]
        {
            let found = limits.of_model(&ModelId::parse(model).unwrap()).unwrap();
            assert_eq!(found.model.as_str(), expected, "{model}");
        }
        let one = KeyLimits::new(vec![limit("acme/tiny")]).unwrap();
        assert_eq!(one.of_model(&ModelId::parse("acme/tiny-2").unwrap()), None);
    }

    #[test]
    fn errors_name_the_member_and_the_entry() {
        for (model, requests, tokens) in [
            ("a b", Some(1), None),
            ("acme/tiny", None, None),
            ("acme/tiny", Some(0), None),
            ("acme/tiny", None, Some(MAX_LIMIT + 1)),
            ("dedicated/chat", Some(1), None),
            ("dedicated/*", Some(1), None),
        ] {
            let error = ModelLimit::new(model, requests, tokens).unwrap_err();
            assert!(error.field == FIELD && error.to_string().contains(model), "{error}");
        }
        assert!(KeyLimits::new(vec![limit("a/b"), limit("a/c"), limit("a/b")]).is_err(), "twice");
        let many = |count: usize| KeyLimits::new((0..count).map(|number| limit(&format!("a/{number}"))).collect());
        assert!(many(MAX_PER_MODEL).is_ok());
        assert_eq!(many(MAX_PER_MODEL + 1).unwrap_err().field, FIELD);
    }

    #[test]
    fn limits_are_read_back_as_they_were_stored() {
        let limits = KeyLimits::new(vec![ModelLimit::new("acme/*", None, Some(7)).unwrap()]).unwrap();
        let text = serde_json::to_string(&limits).unwrap();
        assert_eq!(text, r#"{"perModel":[{"model":"acme/*","requestsPerMinute":null,"tokensPerMinute":7}]}"#);
        assert_eq!(serde_json::from_str::<KeyLimits>(&text).unwrap(), limits);
        assert!(serde_json::from_str::<KeyLimits>(r#"{"perHour":[]}"#).is_err(), "not silently unlimited");
    }
}
