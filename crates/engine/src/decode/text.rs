//! From the bytes of tokens to text that may be sent: whole characters only, and nothing of a stop string.
//!
//! A token may end in the middle of a character, and a stop string may begin in one token and end in another. What is
//! not decided yet is kept back; `finish` gives it out when nothing more will come.

/// The text of one answer as it grows.
#[derive(Debug, Default)]
pub(super) struct Text {
    stops: Vec<String>,
    /// Bytes of a character whose end has not come yet; three at most.
    cut: Vec<u8>,
    /// Whole characters that may be the beginning of a stop string.
    kept: String,
    stopped: bool,
}

impl Text {
    /// `stops` are the strings that end the answer; empty ones never match.
    pub(super) fn new(stops: Vec<String>) -> Self {
        let stops = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
        Self { stops, ..Self::default() }
    }

    /// Whether a stop string was found; the text before it has been given out.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Takes the bytes of one token and gives what may be sent now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        if self.stopped {
            return String::new();
        }
        self.cut.extend_from_slice(bytes);
        let whole = whole_characters(&mut self.cut);
        self.kept.push_str(&whole);
        if let Some(at) = self.first_stop() {
            self.stopped = true;
            self.kept.truncate(at);
            return std::mem::take(&mut self.kept);
        }
        let keep_from = self.kept.len() - self.longest_beginning_of_a_stop();
        let rest = self.kept.split_off(keep_from);
        std::mem::replace(&mut self.kept, rest)
    }

    /// Gives out what was kept back; a character whose end never came becomes U+FFFD.
    pub(super) fn finish(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.kept);
        if !self.stopped && !self.cut.is_empty() {
            rest.push(char::REPLACEMENT_CHARACTER);
        }
        self.cut.clear();
        rest
    }

    fn first_stop(&self) -> Option<usize> {
        self.stops.iter().filter_map(|stop| self.kept.find(stop.as_str())).min()
    }

    /// How many bytes at the end of `kept` could be the beginning of a stop string.
    fn longest_beginning_of_a_stop(&self) -> usize {
        let beginnings = self.stops.iter().flat_map(|stop| stop.char_indices().skip(1).map(|(at, _)| &stop[..at]));
        beginnings.filter(|beginning| self.kept.ends_with(beginning)).map(str::len).max().unwrap_or(0)
    }
}

/// Takes the whole characters out of `bytes`, leaving the beginning of one that is not complete.
fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let mut text = String::with_capacity(bytes.len());
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(whole) => {
                text.push_str(whole);
                bytes.clear();
                return text;
            }
            Err(error) => error,
        };
        let valid = error.valid_up_to();
        text.push_str(&String::from_utf8_lossy(&bytes[..valid]));
        match error.error_len() {
            Some(wrong) => {
                text.push(char::REPLACEMENT_CHARACTER);
                bytes.drain(..valid + wrong);
            }
            None => {
                bytes.drain(..valid);
                return text;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    fn with_stops(stops: &[&str]) -> Text {
        Text::new(stops.iter().map(|stop| (*stop).to_owned()).collect())
    }

    #[test]
    fn a_character_cut_by_tokens_comes_out_whole() {
        let mut text = with_stops(&[]);
        let wave = "👋".as_bytes();
        assert_eq!(text.push(b"hi "), "hi ");
        assert_eq!(text.push(&wave[..1]), "");
        assert_eq!(text.push(&wave[1..3]), "");
        assert_eq!(text.push(&wave[3..]), "👋");
        assert_eq!(text.finish(), "");
    }

    #[test]
    fn a_character_that_never_ends_is_replaced_once() {
        let mut text = with_stops(&[]);
        assert_eq!(text.push(&[b'a', 0xf0, 0x9f]), "a");
        assert_eq!(text.finish(), "\u{fffd}");
    }

    #[test]
    fn wrong_bytes_in_the_middle_do_not_stop_the_text() {
        let mut text = with_stops(&[]);
        assert_eq!(text.push(&[b'a', 0xff, b'b']), "a\u{fffd}b");
    }

    #[test]
    fn a_stop_string_over_three_tokens_is_never_shown() {
        let mut text = with_stops(&["END"]);
        assert_eq!(text.push(b"the E"), "the ");
        assert_eq!(text.push(b"N"), "");
        assert!(!text.stopped());
        assert_eq!(text.push(b"D of it"), "");
        assert!(text.stopped());
        assert_eq!((text.push(b"more"), text.finish()), (String::new(), String::new()));
    }

    #[test]
    fn what_looked_like_a_stop_string_comes_out_when_it_was_none() {
        let mut text = with_stops(&["END", "\n\n"]);
        assert_eq!(text.push(b"EN"), "");
        assert_eq!(text.push(b"TER\n"), "ENTER");
        assert_eq!(text.finish(), "\n");
    }

    #[test]
    fn the_earliest_of_several_stop_strings_wins() {
        let mut text = with_stops(&["c", "b"]);
        assert_eq!(text.push(b"abc"), "a");
        assert!(text.stopped());
    }
}
