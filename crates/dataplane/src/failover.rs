//! Decides whether and how a stream continues at another replica after its own failed.
//!
//! [`Transcript`] keeps the text that the client has got. The next replica gets it as the beginning of the assistant's message
//! and continues it:
//!
//! ```text
//! sent to the client    "One two three\n"
//! next request          messages, {"role":"assistant","content":"One two three"}, with a lower token limit
//! its response          "\nfour"             the line break is dropped, because the client has it
//! ```
//!
//! White space at the end is not sent along: some chat templates trim it, and then the engine generates it a second time.

use crate::record::NotContinued;
use json::Reader;

/// The most attempts to continue a stream.
pub(crate) const MAX_FAILOVERS: u8 = 2;
/// The most text that is kept of a stream. Few models generate as much.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The text of a stream so far, as JSON has escaped it.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    raw: Vec<u8>,
    /// The stream has something that an engine cannot continue.
    is_obstructed: bool,
}

impl Transcript {
    /// Adds text of the assistant, without its quotes.
    pub(crate) fn add(&mut self, raw: &[u8]) {
        if self.raw.len() + raw.len() > MAX_TEXT_BYTES {
            self.obstruct();
        } else if !self.is_obstructed {
            self.raw.extend_from_slice(raw);
        }
    }

    /// The stream has a tool call, reasoning or a refusal, whose rest an engine would not generate.
    pub(crate) fn obstruct(&mut self) {
        *self = Self { raw: Vec::new(), is_obstructed: true };
    }

    pub(crate) fn bytes(&self) -> usize {
        self.raw.len()
    }

    /// `None` if it cannot be continued.
    fn text(&self) -> Option<String> {
        if self.is_obstructed {
            return None;
        }
        let quoted = [b"\"", &self.raw[..], b"\""].concat();
        let text = Reader::new(&quoted).string().ok()?.decoded().into_owned();
        String::from_utf8(text).ok()
    }
}

/// The state of a stream whose replica was lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress<'a> {
    /// `None` if the request rules out a continuation.
    pub(crate) transcript: Option<&'a Transcript>,
    /// The reason why the response ended was sent.
    pub(crate) is_finished: bool,
    /// Tokens generated so far.
    pub(crate) generated: u64,
    /// The token limit of the call.
    pub(crate) limit: Option<u64>,
    /// Attempts to continue it so far.
    pub(crate) failovers: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The response is complete; only the end of the stream is missing.
    End,
    /// The response has reached its token limit; that is still to be said.
    EndAtLimit,
    Continue(Continuation),
    GiveUp(NotContinued),
}

/// What the next replica is to continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Continuation {
    /// The text so far, without white space at its end; empty if nothing else was sent.
    pub(crate) text: String,
    /// The white space after `text`, which is dropped from the response if it begins with it.
    pub(crate) gap: String,
    /// The tokens that are left; `None` if the call has no limit. The gap may be generated again, which takes some of them:
    /// the response may be shorter than its limit, but never longer.
    pub(crate) limit: Option<u64>,
}

pub(crate) fn decide(progress: Progress<'_>) -> Verdict {
    let Progress { transcript, is_finished, generated, limit, failovers } = progress;
    if is_finished {
        return Verdict::End;
    }
    let Some(text) = transcript.and_then(Transcript::text) else {
        return Verdict::GiveUp(NotContinued::NotPossible);
    };
    if limit.is_some_and(|limit| generated >= limit) {
        return Verdict::EndAtLimit;
    }
    if failovers >= MAX_FAILOVERS {
        return Verdict::GiveUp(NotContinued::TooOften);
    }
    let kept = text.trim_end_matches([' ', '\t', '\r', '\n']).len();
    let (text, gap) = text.split_at(kept);
    let limit = limit.map(|limit| limit - generated);
    Verdict::Continue(Continuation { text: text.to_owned(), gap: gap.to_owned(), limit })
}

/// The text after what it has in common with the beginning of `gap`, which is removed from there. Text that differs from the
/// gap ends it.
pub(crate) fn skip_gap<'a>(gap: &mut String, text: &'a str) -> &'a str {
    let common = gap.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
    if common == text.len() {
        gap.replace_range(..common, "");
    } else {
        gap.clear();
    }
    &text[common..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(parts: &[&str]) -> Transcript {
        let mut transcript = Transcript::default();
        parts.iter().for_each(|part| transcript.add(part.as_bytes()));
        transcript
    }

    fn lost(transcript: Option<&Transcript>) -> Progress<'_> {
        Progress { transcript, is_finished: false, generated: 3, limit: Some(10), failovers: 0 }
    }

    #[test]
    fn a_stream_goes_on_after_its_text_with_the_tokens_that_are_left() {
        let said = transcript(&["One \\\"two\\\"", "\\ud83d\\ude42", " \\n\\t"]);
        let expected = Continuation { text: "One \"two\"🙂".into(), gap: " \n\t".into(), limit: Some(7) };
        assert_eq!(decide(lost(Some(&said))), Verdict::Continue(expected));
        let unlimited = Progress { limit: None, ..lost(Some(&said)) };
        assert!(matches!(decide(unlimited), Verdict::Continue(Continuation { limit: None, .. })));
        let nothing = Transcript::default();
        let expected = Continuation { text: String::new(), gap: String::new(), limit: Some(7) };
        assert_eq!(decide(lost(Some(&nothing))), Verdict::Continue(expected), "it begins again");
    }

    #[test]
    fn a_stream_that_lacks_only_its_end_needs_no_replica() {
        let said = transcript(&["One"]);
        assert_eq!(decide(Progress { is_finished: true, ..lost(None) }), Verdict::End);
        assert_eq!(decide(Progress { generated: 10, ..lost(Some(&said)) }), Verdict::EndAtLimit);
    }

    #[test]
    fn some_streams_cannot_go_on() {
        let give_up = |why| Verdict::GiveUp(why);
        assert_eq!(decide(lost(None)), give_up(NotContinued::NotPossible));
        let mut tool = transcript(&["Let me see"]);
        tool.obstruct();
        tool.add(b"more");
        assert_eq!(decide(lost(Some(&tool))), give_up(NotContinued::NotPossible));
        let mut long = transcript(&["x"]);
        long.add(&vec![b'x'; MAX_TEXT_BYTES]);
        assert_eq!((decide(lost(Some(&long))), long.bytes()), (give_up(NotContinued::NotPossible), 0));
        let said = transcript(&["One"]);
        let again = Progress { failovers: MAX_FAILOVERS, ..lost(Some(&said)) };
        assert_eq!(decide(again), give_up(NotContinued::TooOften));
    }

    #[test]
    fn white_space_that_was_sent_is_dropped_once() {
        let skip = |gap: &str, pieces: &[&str]| {
            let mut gap = gap.to_owned();
            pieces.iter().map(|piece| skip_gap(&mut gap, piece)).collect::<String>()
        };
        assert_eq!(skip(" \n", &[" \nfour"]), "four");
        assert_eq!(skip(" \n", &["", " ", "\n", "\nfour"]), "\nfour");
        assert_eq!(skip(" \n", &[" four", " \nfive"]), "four \nfive");
        assert_eq!(skip(" \n", &["four", " \nfive"]), "four \nfive");
        assert_eq!(skip("", &[" four"]), " four");
    }
}
