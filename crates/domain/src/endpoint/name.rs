//! Names of endpoints: the part after `dedicated/` in a Model ID.

use crate::model::{ModelId, dedicated_id};
use crate::shown_as_text;

const MAX_LEN: usize = 63;
/// Reserved, since these are paths of their own below `/v1/endpoints`.
const RESERVED: [&str; 2] = ["flavors", "allotments"];

/// `^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`, and not reserved.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct EndpointName(Box<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndpointNameError {
    #[error("must be 1 to 63 lower-case letters, digits and hyphens, start with a letter and not end with a hyphen")]
    Form,
    #[error("is reserved")]
    Reserved,
}

impl EndpointName {
    pub fn parse(text: &str) -> Result<Self, EndpointNameError> {
        let bytes = text.as_bytes();
        let ends_are_valid = bytes.first().is_some_and(u8::is_ascii_lowercase) && bytes.last() != Some(&b'-');
        let letters = bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-');
        if !ends_are_valid || !letters || bytes.len() > MAX_LEN {
            return Err(EndpointNameError::Form);
        }
        if RESERVED.contains(&text) {
            return Err(EndpointNameError::Reserved);
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The endpoint's Model ID: `dedicated/<name>`.
    pub fn model_id(&self) -> ModelId {
        ModelId::parse(&dedicated_id(&self.0)).expect("names of endpoints are parts of Model IDs")
    }
}

shown_as_text!(EndpointName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_lower_case_and_not_reserved() {
        let long = "a".repeat(63);
        for good in ["a", "a1", "chat-prod", "a--b", long.as_str()] {
            assert_eq!(EndpointName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "1a", "-a", "a-", "A", "a_b", "é", "a b", &"a".repeat(64)] {
            assert_eq!(EndpointName::parse(bad), Err(EndpointNameError::Form), "{bad}");
        }
        for reserved in RESERVED {
            assert_eq!(EndpointName::parse(reserved), Err(EndpointNameError::Reserved));
        }
        assert_eq!(EndpointName::parse("x").unwrap().model_id().as_str(), "dedicated/x");
    }
}
