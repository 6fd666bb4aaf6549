//! Dimensions by which usage is grouped: model, caller, day, surface.

use super::parse_list;
use crate::caller::Actor;
use crate::model::ModelId;
use crate::named_enum;
use crate::time::Day;
use crate::usage::CallSurface;

named_enum! {
    /// A dimension of usage.
    pub enum Dimension {
        Model = "model",
        /// The caller: a key, or a user in the Playground.
        Key = "key",
        /// Days in UTC.
        Day = "day",
        /// The API of the call, which is known of single events only.
        Surface = "surface",
    }
}

/// A list of dimensions is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupingError {
    #[error("`{0}` is not one of model, key, day and surface")]
    Unknown(String),
    #[error("`{0}` is named twice")]
    Twice(&'static str),
}

/// Any number of dimensions, in the requested order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grouping(Vec<Dimension>);

impl Grouping {
    /// Parses a comma-separated list of dimensions, in any order.
    pub fn parse(text: &str) -> Result<Self, GroupingError> {
        let twice = |dimension: Dimension| GroupingError::Twice(dimension.as_str());
        parse_list(text, Dimension::parse, GroupingError::Unknown, twice).map(Self)
    }

    pub fn dimensions(&self) -> &[Dimension] {
        &self.0
    }
}

impl From<&[Dimension]> for Grouping {
    fn from(dimensions: &[Dimension]) -> Self {
        Self(dimensions.to_vec())
    }
}

/// One group of one dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    Model(ModelId),
    Actor(Actor),
    Day(Day),
    /// `None` if it was not recorded.
    Surface(Option<CallSurface>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_named_once_in_any_order() {
        let read = |text| Grouping::parse(text).map(|grouping| grouping.0);
        assert_eq!(read("day,model"), Ok(vec![Dimension::Day, Dimension::Model]));
        assert_eq!(read("model, key ,day").unwrap().len(), 3);
        assert_eq!(read(""), Ok(Vec::new()));
        assert_eq!(read("model,colour"), Err(GroupingError::Unknown("colour".into())));
        assert_eq!(read("model,"), Err(GroupingError::Unknown(String::new())));
        assert_eq!(read("day,model,day"), Err(GroupingError::Twice("day")));
    }
}
