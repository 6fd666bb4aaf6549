//! Events sent by the decoding thread.

use super::logprobs::Logprob;

/// Progress of one choice of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub choice: usize,
    pub progress: Progress,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    /// The log probabilities of the prompt, of all tokens but its first, if they were asked for. Precedes all text.
    Scored { logprobs: Vec<Logprob> },
    /// More text; empty while a character or stop string is incomplete.
    Piece { text: String, logprobs: Vec<Logprob>, tokens: Tokens },
    /// The end, with the buffered text.
    Finished { reason: FinishReason, text: String, logprobs: Vec<Logprob>, tokens: Tokens },
    /// The generation failed; its output is incomplete.
    Failed,
}

/// Tokens of one choice so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub prompt: usize,
    /// Part of `prompt` that was found in the cache.
    pub cached: usize,
    pub generated: usize,
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinishReason {
    /// End-of-generation token or stop string.
    Stop,
    /// Token limit.
    Length,
}
