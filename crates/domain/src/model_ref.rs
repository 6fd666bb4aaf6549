//! Parsed Model IDs: a model of the catalogue, or a dedicated endpoint.

use crate::endpoint::EndpointName;
use crate::model::{ModelId, ModelIdError};
use std::fmt;

pub use crate::model::{DEDICATED, dedicated_id, endpoint_part};

/// A parsed Model ID. Parse it at the border and match on it afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModelRef {
    /// A serverless model, billed per token.
    Catalogue(ModelId),
    /// The endpoint called as `dedicated/<name>`, billed per GPU-hour.
    Dedicated(EndpointName),
}

impl ModelRef {
    /// Parses a Model ID. `dedicated/<name>` with an invalid name is an error.
    pub fn parse(text: &str) -> Result<Self, ModelIdError> {
        match endpoint_part(text) {
            None => ModelId::parse(text).map(Self::Catalogue),
            Some(name) => EndpointName::parse(name).map(Self::Dedicated).map_err(|_| ModelIdError::new(text)),
        }
    }

    /// The id that clients send.
    pub fn id(&self) -> ModelId {
        match self {
            Self::Catalogue(id) => id.clone(),
            Self::Dedicated(name) => name.model_id(),
        }
    }

    /// The endpoint's name; `None` for a model of the catalogue.
    pub fn endpoint(&self) -> Option<&EndpointName> {
        match self {
            Self::Catalogue(_) => None,
            Self::Dedicated(name) => Some(name),
        }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalogue(id) => id.fmt(f),
            Self::Dedicated(name) => write!(f, "{DEDICATED}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_below_dedicated_refer_to_endpoints() {
        let chat = ModelRef::parse("dedicated/chat").unwrap();
        assert_eq!(chat.endpoint().map(EndpointName::as_str), Some("chat"));
        assert_eq!((chat.to_string(), chat.id().as_str()), ("dedicated/chat".into(), "dedicated/chat"));
        assert!(chat.id().is_dedicated());
        let model = ModelRef::parse("dedicated-gpus/chat").unwrap();
        assert_eq!(model, ModelRef::Catalogue(ModelId::parse("dedicated-gpus/chat").unwrap()));
        assert!(!model.id().is_dedicated());
        for bad in ["dedicated/", "dedicated/A", "dedicated/a/b", "dedicated", ""] {
            assert!(ModelRef::parse(bad).is_err(), "{bad}");
        }
    }
}
