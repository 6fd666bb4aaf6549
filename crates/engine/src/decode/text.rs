//! Converts token bytes to text that may be sent: complete characters only, and nothing of a stop string.
//!
//! A token may end within a character, and a stop string may span tokens. Undecided bytes are buffered: with the stop
//! string `END`, the token `the E` yields `the ` and buffers `E`. `finish` returns the rest.

/// Incremental text of one generation.
#[derive(Debug, Default)]
pub(super) struct Text {
    stops: Vec<String>,
    /// Bytes of an incomplete character; at most three.
    incomplete: Vec<u8>,
    /// Complete characters that may begin a stop string.
    buffered: String,
    stopped: bool,
}

impl Text {
    /// `stops` are the strings that end the generation; empty ones are ignored.
    pub(super) fn new(stops: Vec<String>) -> Self {
        let stops = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
        Self { stops, ..Self::default() }
    }

    /// Whether a stop string was found; the text before it has been returned.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Consumes the bytes of one token and returns the text that may be sent.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        if self.stopped {
            return String::new();
        }
        self.incomplete.extend_from_slice(bytes);
        let whole = drain_characters(&mut self.incomplete);
        self.buffered.push_str(&whole);
        if let Some(at) = self.first_stop() {
            self.stopped = true;
            self.buffered.truncate(at);
            return std::mem::take(&mut self.buffered);
        }
        let keep_from = self.buffered.len() - self.longest_stop_prefix();
        let rest = self.buffered.split_off(keep_from);
        std::mem::replace(&mut self.buffered, rest)
    }

    /// Returns the buffered text; an incomplete character becomes U+FFFD.
    pub(super) fn finish(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.buffered);
        if !self.stopped && !self.incomplete.is_empty() {
            rest.push(char::REPLACEMENT_CHARACTER);
        }
        self.incomplete.clear();
        rest
    }

    fn first_stop(&self) -> Option<usize> {
        self.stops.iter().filter_map(|stop| self.buffered.find(stop.as_str())).min()
    }

    /// Length of the longest suffix of `buffered` that is a prefix of a stop string.
    fn longest_stop_prefix(&self) -> usize {
        let prefixes = self.stops.iter().flat_map(|stop| stop.char_indices().skip(1).map(|(at, _)| &stop[..at]));
        prefixes.filter(|prefix| self.buffered.ends_with(prefix)).map(str::len).max().unwrap_or(0)
    }
}

/// Drains the complete characters from `bytes`, leaving an incomplete one.
fn drain_characters(bytes: &mut Vec<u8>) -> String {
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
            Some(invalid) => {
                text.push(char::REPLACEMENT_CHARACTER);
                bytes.drain(..valid + invalid);
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
    fn a_character_split_across_tokens_is_joined() {
        let mut text = with_stops(&[]);
        let wave = "👋".as_bytes();
        assert_eq!(text.push(b"hi "), "hi ");
        assert_eq!(text.push(&wave[..1]), "");
        assert_eq!(text.push(&wave[1..3]), "");
        assert_eq!(text.push(&wave[3..]), "👋");
        assert_eq!(text.finish(), "");
    }

    #[test]
    fn an_incomplete_character_is_replaced_once() {
        let mut text = with_stops(&[]);
        assert_eq!(text.push(&[b'a', 0xf0, 0x9f]), "a");
        assert_eq!(text.finish(), "\u{fffd}");
    }

    #[test]
    fn invalid_bytes_do_not_stop_the_text() {
        let mut text = with_stops(&[]);
        assert_eq!(text.push(&[b'a', 0xff, b'b']), "a\u{fffd}b");
    }

    #[test]
    fn a_stop_string_across_tokens_is_never_shown() {
        let mut text = with_stops(&["END"]);
        assert_eq!(text.push(b"the E"), "the ");
        assert_eq!(text.push(b"N"), "");
        assert!(!text.stopped());
        assert_eq!(text.push(b"D of it"), "");
        assert!(text.stopped());
        assert_eq!((text.push(b"more"), text.finish()), (String::new(), String::new()));
    }

    #[test]
    fn a_false_stop_prefix_is_returned_later() {
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
