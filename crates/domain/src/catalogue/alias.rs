//! Aliases: further names of models, exact or by prefix.

use super::model::{ModelId, endpoint_part};
use crate::shown_as_text;
use std::collections::HashMap;

const MAX_LEN: usize = 128;
const WILDCARD: char = '*';

/// The name of an alias: a name that clients send, or a pattern, which is a prefix of such names followed by `*`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AliasName(Box<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AliasNameError {
    #[error("must have 1 to {MAX_LEN} letters, digits and ._:/-, with at most one * at the end")]
    Spelling,
    #[error("is under dedicated/, which is reserved for dedicated endpoints")]
    Dedicated,
}

impl AliasName {
    pub fn parse(text: &str) -> Result<Self, AliasNameError> {
        let prefix = text.strip_suffix(WILDCARD).unwrap_or(text);
        if !is_spelled(prefix) {
            return Err(AliasNameError::Spelling);
        }
        match endpoint_part(text) {
            Some(_) => Err(AliasNameError::Dedicated),
            None => Ok(Self(text.into())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The prefix of a pattern; `None` for an exact name.
    pub fn prefix(&self) -> Option<&str> {
        self.0.strip_suffix(WILDCARD)
    }
}

shown_as_text!(AliasName);

fn is_spelled(name: &str) -> bool {
    (1..=MAX_LEN).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte))
}

/// An alias of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    pub name: AliasName,
    pub model: ModelId,
}

/// Aliases with their targets, for lookups by the name that a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasTable<T> {
    all: Vec<(AliasName, T)>,
    /// Positions in `all`.
    exact: HashMap<Box<str>, usize>,
    /// The longest prefix first.
    patterns: Vec<usize>,
}

impl<T> Default for AliasTable<T> {
    fn default() -> Self {
        Self { all: Vec::new(), exact: HashMap::new(), patterns: Vec::new() }
    }
}

impl<T> FromIterator<(AliasName, T)> for AliasTable<T> {
    /// Names must be distinct.
    fn from_iter<I: IntoIterator<Item = (AliasName, T)>>(aliases: I) -> Self {
        let all: Vec<(AliasName, T)> = aliases.into_iter().collect();
        let mut exact = HashMap::new();
        let mut patterns = Vec::new();
        for (position, (name, _)) in all.iter().enumerate() {
            match name.prefix() {
                Some(_) => patterns.push(position),
                None => {
                    exact.insert(name.as_str().into(), position);
                }
            }
        }
        patterns.sort_by_key(|position| std::cmp::Reverse(all[*position].0.as_str().len()));
        Self { all, exact, patterns }
    }
}

impl<T> AliasTable<T> {
    /// The target of the exact alias of this name, else of the longest pattern. Patterns match only names that an alias
    /// could have, so that such a name can be logged.
    pub fn get(&self, name: &str) -> Option<&T> {
        if self.all.is_empty() || !is_spelled(name) || endpoint_part(name).is_some() {
            return None;
        }
        let matches = |position: &&usize| {
            let (pattern, _) = &self.all[**position];
            pattern.prefix().is_some_and(|prefix| name.starts_with(prefix))
        };
        let found = self.exact.get(name).or_else(|| self.patterns.iter().find(matches));
        found.map(|position| &self.all[*position].1)
    }

    /// Whether this table has an alias for every name that `other` stands for, so that an `other` in a table that is asked
    /// later is never found.
    pub fn hides(&self, other: &AliasName) -> bool {
        match other.prefix() {
            Some(prefix) => self
                .patterns
                .iter()
                .any(|position| self.all[*position].0.prefix().is_some_and(|own| prefix.starts_with(own))),
            None => self.get(other.as_str()).is_some(),
        }
    }

    /// All aliases in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&AliasName, &T)> {
        self.all.iter().map(|(name, target)| (name, target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_or_end_with_one_wildcard() {
        let longest = "a".repeat(MAX_LEN);
        for good in
            ["claude-sonnet-4-5", "gpt-5.5", "openai/gpt:x_1", "claude-*", "a*", "/", &longest, &format!("{longest}*")]
        {
            assert_eq!(AliasName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "*", "a**", "a*b", "a b", "é", "a@b", &format!("{longest}a"), &format!("{longest}a*")] {
            assert_eq!(AliasName::parse(bad), Err(AliasNameError::Spelling), "{bad}");
        }
        for bad in ["dedicated/", "dedicated/x", "dedicated/*", "dedicated/x*"] {
            assert_eq!(AliasName::parse(bad), Err(AliasNameError::Dedicated), "{bad}");
        }
    }

    #[test]
    fn an_exact_name_wins_over_the_longest_pattern() {
        let too_long = format!("claude-{}", "x".repeat(MAX_LEN));
        let names = ["claude-*", "claude-opus-*", "claude-opus-4", "d*", "gpt"];
        let table: AliasTable<&str> = names.map(|name| (AliasName::parse(name).unwrap(), name)).into_iter().collect();
        for (name, target) in [
            ("claude-opus-4", Some("claude-opus-4")),
            ("claude-opus-4-1", Some("claude-opus-*")),
            ("claude-opus-", Some("claude-opus-*")),
            ("claude-sonnet", Some("claude-*")),
            ("gpt", Some("gpt")),
            ("gpt-5", None),
            ("claude", None),
            ("d/x", Some("d*")),
            ("dedicated/x", None),
            ("", None),
            ("claude-\n", None),
            (&too_long[..], None),
        ] {
            assert_eq!(table.get(name).copied(), target, "{name}");
        }
        assert_eq!(table.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_table_hides_the_names_that_it_has_an_alias_for() {
        let name = |text: &str| AliasName::parse(text).unwrap();
        let table: AliasTable<()> = ["gpt-*", "claude"].map(|text| (name(text), ())).into_iter().collect();
        for hidden in ["gpt-6", "gpt-*", "gpt-6-*", "claude"] {
            assert!(table.hides(&name(hidden)), "{hidden}");
        }
        for found in ["gpt", "gp*", "claude*", "claude-4", "other"] {
            assert!(!table.hides(&name(found)), "{found}");
        }
    }
}
