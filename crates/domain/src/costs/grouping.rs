//! Dimensions by which usage is grouped: model, caller, day, surface, end user.

use super::parse_list;
use crate::caller::Actor;
use crate::end_user::EndUserId;
use crate::endpoint::labels;
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
        /// The person behind the key, of whole days.
        EndUser = "endUser",
    }
}

/// A list of dimensions is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupingError {
    #[error("`{0}` is not one of model, key, day, surface, endUser and label:<name>")]
    Unknown(String),
    #[error("`{0}` is named twice")]
    Twice(&'static str),
    #[error("usage is grouped by one label at a time")]
    TwoLabels,
    #[error("usage is grouped either by surface or by endUser")]
    SurfaceOfEndUser,
}

/// Any number of dimensions, in the requested order, and after them at most one label of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grouping {
    dimensions: Vec<Dimension>,
    label: Option<String>,
}

const LABEL: &str = "label:";

impl Grouping {
    /// Parses a comma-separated list of dimensions, in any order. A label is written as `label:<name>`.
    pub fn parse(text: &str) -> Result<Self, GroupingError> {
        let (labels, others): (Vec<&str>, Vec<&str>) = text.split(',').partition(|part| part.trim().starts_with(LABEL));
        let label = match labels[..] {
            [] => None,
            [label] => Some(label.trim().trim_start_matches(LABEL).to_owned()),
            _ => return Err(GroupingError::TwoLabels),
        };
        if let Some(name) = label.as_ref().filter(|name| !labels::is_name(name)) {
            return Err(GroupingError::Unknown(format!("{LABEL}{}", name.chars().take(64).collect::<String>())));
        }
        let twice = |dimension: Dimension| GroupingError::Twice(dimension.as_str());
        let dimensions = parse_list(&others.join(","), Dimension::parse, GroupingError::Unknown, twice)?;
        if [Dimension::Surface, Dimension::EndUser].iter().all(|one| dimensions.contains(one)) {
            return Err(GroupingError::SurfaceOfEndUser);
        }
        Ok(Self { dimensions, label })
    }

    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The name of the label.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

impl From<&[Dimension]> for Grouping {
    fn from(dimensions: &[Dimension]) -> Self {
        Self { dimensions: dimensions.to_vec(), label: None }
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
    /// The value of a label of the key; `None` if the key does not have it, or a user called.
    Label(Option<String>),
    /// `None` if the calls named no end user.
    EndUser(Option<EndUserId>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_named_once_in_any_order() {
        let read = |text| Grouping::parse(text).map(|grouping| grouping.dimensions);
        assert_eq!(read("day,model"), Ok(vec![Dimension::Day, Dimension::Model]));
        assert_eq!(read("model, key ,day").unwrap().len(), 3);
        assert_eq!(read(""), Ok(Vec::new()));
        assert_eq!(read("model,colour"), Err(GroupingError::Unknown("colour".into())));
        assert_eq!(read("model,"), Err(GroupingError::Unknown(String::new())));
        assert_eq!(read("day,model,day"), Err(GroupingError::Twice("day")));
        assert_eq!(read("endUser,day").unwrap().len(), 2);
        assert_eq!(read("surface,endUser"), Err(GroupingError::SurfaceOfEndUser));
    }

    #[test]
    fn a_label_is_named_once_beside_any_dimensions() {
        let read = |text| Grouping::parse(text).map(|grouping| (grouping.dimensions, grouping.label));
        assert_eq!(read("label:team"), Ok((Vec::new(), Some("team".into()))));
        assert_eq!(read("day, label:a/b.c-1 "), Ok((vec![Dimension::Day], Some("a/b.c-1".into()))));
        assert_eq!(read("label:a,label:b"), Err(GroupingError::TwoLabels));
        for bad in ["label:", "label:a b", "label"] {
            assert_eq!(read(bad), Err(GroupingError::Unknown(bad.into())), "{bad}");
        }
    }
}
