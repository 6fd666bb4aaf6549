//! Reads the members of a body, which must be an object with few and unambiguous names.

use crate::checks::{ParseError, shorten};
use crate::{JsonError, LongStrings, Reader, ValueKind};
use bytes::Bytes;
use foldhash::quality::RandomState;
use std::hash::BuildHasher;

/// The most members that a body may have. Every documented request has a fraction of that.
const MAX_MEMBERS: usize = 256;
/// The members of nearly every body; more take memory of their own.
const FEW_MEMBERS: usize = 32;

/// Some editors and shells write a byte order mark first.
pub fn without_bom(body: Bytes) -> Bytes {
    if body.starts_with(b"\xEF\xBB\xBF") { body.slice(3..) } else { body }
}

/// Calls `member` at each value with its name. `known` are the names that the gateway reads: another spelling of one is
/// rejected, because some model servers ignore case and would read the other member. Returns the long strings of the body.
pub fn read_members(
    body: &Bytes,
    known: &[&str],
    mut member: impl FnMut(&mut Reader<'_>, &[u8]) -> Result<(), JsonError>,
) -> Result<LongStrings, ParseError> {
    let mut reader = Reader::new(body);
    if reader.kind()? != ValueKind::Object {
        return Err(ParseError::Unreadable("the body is not a JSON object".into()));
    }
    let mut names = Names::default();
    let mut duplicate = None;
    reader.object(|reader, name, _| {
        let decoded = name.decoded();
        let name = &*decoded;
        match names.add(name) {
            Added::New => {}
            Added::Duplicate => {
                duplicate.get_or_insert_with(|| shorten(name).to_owned());
            }
            Added::TooMany => {
                return Err(ParseError::Unreadable(format!("the body has more than {MAX_MEMBERS} members")));
            }
        }
        if let Some(known) = other_spelling(name, known) {
            return Err(ParseError::BadName {
                param: shorten(name).to_owned(),
                why: format!("must be written `{known}`"),
            });
        }
        member(reader, name).map_err(ParseError::from)
    })?;
    reader.end()?;
    if !reader.is_ascii() && simdutf8::basic::from_utf8(body).is_err() {
        return Err(ParseError::Unreadable("the body is not UTF-8".into()));
    }
    match duplicate {
        Some(name) => Err(ParseError::Unreadable(format!("duplicate member `{name}`"))),
        None => Ok(reader.into_long_strings()),
    }
}

/// The hashes of the names seen so far. They are seeded, so that a client cannot choose names with equal hashes, and
/// two different names have equal ones by accident about once in 10^15 bodies.
struct Names {
    state: RandomState,
    first: [u64; FEW_MEMBERS],
    count: usize,
    more: Vec<u64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Added {
    New,
    Duplicate,
    TooMany,
}

impl Default for Names {
    fn default() -> Self {
        Self { state: RandomState::default(), first: [0; FEW_MEMBERS], count: 0, more: Vec::new() }
    }
}

impl Names {
    fn add(&mut self, name: &[u8]) -> Added {
        let hash = self.state.hash_one(name);
        let (seen, free) = self.first.split_at_mut(self.count);
        if self.more.len() == MAX_MEMBERS - FEW_MEMBERS {
            return Added::TooMany;
        }
        if seen.contains(&hash) || self.more.contains(&hash) {
            return Added::Duplicate;
        }
        match free.first_mut() {
            Some(place) => {
                *place = hash;
                self.count += 1;
            }
            None => self.more.push(hash),
        }
        Added::New
    }
}

/// The known name that `name` equals after Unicode simple case folding, but not byte for byte.
pub fn other_spelling<'a>(name: &[u8], known: &[&'a str]) -> Option<&'a str> {
    // A fold over all bytes is vectorized by the compiler; a search for the first match is not.
    let may_fold = name.iter().fold(false, |found, byte| found | byte.is_ascii_uppercase() | !byte.is_ascii());
    if !may_fold {
        return None;
    }
    known.iter().copied().find(|known| folds_to(name, known))
}

/// Whether `name` equals `known`, which is in lower-case ASCII, after Unicode simple case folding. Beside the capital
/// letters, only the long s and the Kelvin sign fold to ASCII.
pub fn folds_to(name: &[u8], known: &str) -> bool {
    let mut rest = name;
    for wanted in known.bytes() {
        let (folded, length) = match rest {
            [0xC5, 0xBF, ..] => (b's', 2),
            [0xE2, 0x84, 0xAA, ..] => (b'k', 3),
            [byte, ..] => (byte.to_ascii_lowercase(), 1),
            [] => return false,
        };
        if folded != wanted {
            return false;
        }
        rest = &rest[length..];
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWN: [&str; 3] = ["model", "messages", "max_tokens"];

    fn read(body: &str) -> Result<Vec<String>, ParseError> {
        let mut names = Vec::new();
        read_members(&Bytes::copy_from_slice(body.as_bytes()), &KNOWN, |reader, name| {
            names.push(String::from_utf8_lossy(name).into_owned());
            reader.skip()
        })?;
        Ok(names)
    }

    fn object(names: &[String]) -> String {
        let members: Vec<_> = names.iter().map(|name| format!("{}:1", serde_json::json!(name))).collect();
        format!("{{{}}}", members.join(","))
    }

    #[test]
    fn more_than_256_members_are_rejected() {
        let names: Vec<_> = (0..MAX_MEMBERS + 1).map(|index| format!("m{index}")).collect();
        assert_eq!(read(&object(&names[..MAX_MEMBERS])).unwrap(), names[..MAX_MEMBERS]);
        let error = ParseError::Unreadable("the body has more than 256 members".into());
        assert_eq!(read(&object(&names)), Err(error));
    }

    #[test]
    fn a_duplicate_is_found_among_many_members() {
        let names: Vec<_> = (0..100).map(|index| format!("m{index}")).collect();
        assert_eq!(read(&object(&names)).unwrap(), names);
        for duplicate in ["m0", "m31", "m32", "m99"] {
            let error = ParseError::Unreadable(format!("duplicate member `{duplicate}`"));
            assert_eq!(read(&object(&[&names[..], &[duplicate.to_owned()]].concat())), Err(error));
        }
    }

    #[test]
    fn another_spelling_of_a_known_name_is_rejected() {
        for (name, known) in [
            ("Model", "model"),
            ("MODEL", "model"),
            ("Max_Tokens", "max_tokens"),
            ("me\u{17f}\u{17f}ages", "messages"),
            ("max_to\u{212a}ens", "max_tokens"),
            ("MAX_TO\u{212a}EN\u{17f}", "max_tokens"),
        ] {
            let error = ParseError::BadName { param: name.into(), why: format!("must be written `{known}`") };
            assert_eq!(read(&object(&[known.into(), name.into()])), Err(error.clone()));
            assert_eq!(read(&object(&[name.into()])), Err(error), "also if it stands alone");
        }
        let escaped = r#"{"\u004dodel":1}"#;
        assert!(matches!(read(escaped), Err(ParseError::BadName { param, .. }) if param == "Model"));
        for other in ["Modell", "mode", "m\u{f6}del", "Temperature", "", "\u{17f}", "model\u{212a}"] {
            assert_eq!(read(&object(&[other.into()])).unwrap(), [other]);
        }
    }

    /// The characters whose upper and lower case lead to an ASCII letter, without the dotted and dotless i, which
    /// simple case folding leaves alone.
    #[test]
    fn every_character_folds_as_unicode_says() {
        let known: Vec<String> = ('a'..='z').map(String::from).collect();
        let mut buffer = [0; 4];
        for letter in char::MIN..=char::MAX {
            let bytes = letter.encode_utf8(&mut buffer).as_bytes();
            let upper = letter.to_uppercase().to_string();
            let lower = upper.to_lowercase();
            let is_letter = lower.len() == 1 && lower.bytes().all(|byte| byte.is_ascii_lowercase());
            if is_letter && letter != '\u{131}' {
                assert!(folds_to(bytes, &lower), "{letter:?}");
            } else if is_letter || !letter.is_ascii() {
                assert!(!known.iter().any(|known| folds_to(bytes, known)), "{letter:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn names_are_read_and_duplicates_found_as_by_serde_json(names in prop::collection::vec("[a-c\\\\\"\u{e9}]{0,2}", 0..40)) {
            let body = object(&names);
            let distinct: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&body).unwrap();
            match read(&body) {
                Ok(read) => {
                    prop_assert_eq!(distinct.len(), names.len());
                    prop_assert_eq!(read, names);
                }
                Err(error) => {
                    prop_assert!(distinct.len() < names.len(), "{:?}", error);
                }
            }
        }

        #[test]
        fn every_mix_of_cases_is_another_spelling(capitals in prop::collection::vec(any::<bool>(), 10)) {
            let known = "max_tokens";
            let letter = |(letter, capital): (char, &bool)| if *capital { letter.to_ascii_uppercase() } else { letter };
            let name: String = known.chars().zip(&capitals).map(letter).collect();
            prop_assert_eq!(other_spelling(name.as_bytes(), &KNOWN), (name != known).then_some(known));
        }
    }
}
