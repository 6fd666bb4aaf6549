//! Where the long strings of a text end, so that a second reader of the text need not search for their ends.

use super::Reader;
use std::ops::Range;

/// The end of a shorter string is found faster than it is looked up.
const LONG: usize = 1 << 10;
/// The most strings that are remembered; the ends of others are searched.
const MOST: usize = 256;

/// The long strings of a text in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LongStrings(Vec<Range<usize>>);

impl LongStrings {
    /// Walks over a part of the text again.
    pub fn again<'a>(&'a self, text: &'a [u8], part: Range<usize>) -> Reader<'a> {
        Reader { known_strings: Some((self, part.start)), ..Reader::again(&text[part]) }
    }

    /// Remembers a string by the positions of its content.
    #[inline]
    pub(super) fn note(&mut self, string: Range<usize>) {
        if string.len() >= LONG {
            self.push(string);
        }
    }

    #[cold]
    fn push(&mut self, string: Range<usize>) {
        if self.0.len() < MOST {
            self.0.push(string);
        }
    }

    /// The end of the string whose content starts at this position.
    pub(super) fn end_of(&self, start: usize) -> Option<usize> {
        let found = self.0.binary_search_by_key(&start, |string| string.start).ok()?;
        Some(self.0[found].end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_again_as_before() {
        let long = |letter: &str| format!("{}\\\"{letter}\\\\", letter.repeat(LONG));
        let strings: Vec<_> =
            (0..MOST + 2).map(|index| if index % 3 == 0 { "short".into() } else { long("é") }).collect();
        let part = format!("[\"{}\"]", strings.join("\", \""));
        let text = format!("{{\"a\": \"{}\", \"b\": {part}}}", long("b"));
        let mut reader = Reader::new(text.as_bytes());
        reader.skip().unwrap();
        let known = reader.into_long_strings();
        assert_eq!(known.0.len(), 1 + strings.iter().filter(|text| text.len() > LONG).count());

        let start = text.find('[').unwrap();
        let mut again = known.again(text.as_bytes(), start..start + part.len());
        let mut read = Vec::new();
        again
            .array(|reader, _| {
                read.push(String::from_utf8(reader.string()?.raw().to_vec()).unwrap());
                Ok::<(), crate::JsonError>(())
            })
            .unwrap();
        assert_eq!(read, strings);
        assert_eq!(again.position(), part.len());
    }

    #[test]
    fn the_number_of_remembered_strings_is_bounded() {
        let text = format!("[{}0]", format!("\"{}\",", "a".repeat(LONG)).repeat(MOST + 9));
        let mut reader = Reader::new(text.as_bytes());
        reader.skip().unwrap();
        let known = reader.into_long_strings();
        assert_eq!(known.0.len(), MOST);
        known.again(text.as_bytes(), 0..text.len()).skip().unwrap();
    }
}
