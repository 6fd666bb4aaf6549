//! What the decoding thread tells about an answer.

use super::logprobs::Logprob;

/// News of one choice of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub choice: usize,
    pub progress: Progress,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    /// More text; it may be empty while a character or a stop string is not decided.
    Piece { text: String, logprobs: Vec<Logprob>, tokens: Tokens },
    /// The end, with the text that was kept back.
    Finished { reason: Finish, text: String, logprobs: Vec<Logprob>, tokens: Tokens },
    /// Nothing more will come, and what came is not whole.
    Failed,
}

/// Tokens of one choice so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub prompt: usize,
    /// Part of `prompt` that was still in the cache.
    pub cached: usize,
    pub generated: usize,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model ended it, or a stop string did.
    Stop,
    /// The limit of tokens did.
    Length,
}
