//! The version of an endpoint's record: its ETag, and the header `If-Match`.

use std::fmt;

/// Incremented by every write to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Generation(pub u64);

/// The ETag, with its quotes: `"7"`.
impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// The generations that a header `If-Match` accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    Any,
    OneOf(Vec<Generation>),
}

impl IfMatch {
    /// Malformed and weak tags match nothing.
    pub fn parse(header: &str) -> Self {
        if header.trim() == "*" {
            return Self::Any;
        }
        let number = |tag: &str| tag.trim().strip_prefix('"')?.strip_suffix('"')?.parse().ok().map(Generation);
        Self::OneOf(header.split(',').filter_map(number).collect())
    }

    pub fn accepts(&self, generation: Generation) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(generations) => generations.contains(&generation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_if_match_accepts_the_generations_that_it_names() {
        let seven = Generation(7);
        assert_eq!(seven.to_string(), "\"7\"");
        for (header, accepted) in [
            ("\"7\"", true),
            ("*", true),
            ("\"6\", \"7\"", true),
            ("\"6\"", false),
            ("7", false),
            ("W/\"7\"", false),
            ("", false),
        ] {
            assert_eq!(IfMatch::parse(header).accepts(seven), accepted, "{header}");
        }
    }
}
