//! How much a call may use, as far as its body tells: what limits and quota decide on.

use super::checks::Checks;
use crate::edits::Edits;
use crate::json::{Malformed, Reader};
use domain::quota::TokenBound;
use std::ops::Range;

/// No template adds more to a message.
const PER_MESSAGE: u64 = 64;
const BYTES_PER_TOKEN: u64 = 4;
/// What a call without a limit of its own is expected to generate, at most.
const EXPECTED_COMPLETION: u64 = 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// Bytes of the members that become the prompt.
    pub prompt_bytes: u64,
    /// Messages, or inputs of an embedding.
    pub messages: u64,
    /// There is a part that is no text, and nobody can tell its size in tokens.
    pub opaque: bool,
    pub choices: u64,
    /// Embeddings generate nothing.
    pub generates: bool,
    max_tokens: Option<Limit>,
    max_completion_tokens: Option<Limit>,
}

/// The call's own limit on every choice and where it stands; a null says nothing, but stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Limit {
    tokens: Option<u64>,
    span: Range<usize>,
}

impl Demand {
    pub(super) fn chat() -> Self {
        Self { choices: 1, generates: true, ..Self::default() }
    }

    pub(super) fn embeddings(prompt_bytes: usize, inputs: usize) -> Self {
        Self { prompt_bytes: prompt_bytes as u64, messages: inputs as u64, choices: 1, ..Self::default() }
    }

    pub(super) fn read_max_tokens(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), Malformed> {
        self.max_tokens = read_limit(reader, checks, "max_tokens")?;
        Ok(())
    }

    pub(super) fn read_max_completion_tokens(
        &mut self,
        reader: &mut Reader<'_>,
        checks: &mut Checks,
    ) -> Result<(), Malformed> {
        self.max_completion_tokens = read_limit(reader, checks, "max_completion_tokens")?;
        Ok(())
    }

    /// The call's own limit on each choice; which of two an engine heeds is not known, so the larger counts.
    pub fn limit(&self) -> Option<u64> {
        self.spelled().filter_map(|limit| limit.tokens).max()
    }

    /// The most that the call can use of a model with such a context.
    pub fn bound(&self, context_length: u64) -> TokenBound {
        if !self.generates {
            let prompt = self.prompt_bytes.saturating_add(self.messages.saturating_mul(PER_MESSAGE));
            return TokenBound {
                prompt: prompt.min(context_length.saturating_mul(self.messages)),
                completion: 0,
                choices: 1,
            };
        }
        let text = self.prompt_bytes.saturating_add(self.messages.saturating_mul(PER_MESSAGE));
        let prompt = if self.opaque { context_length } else { text.min(context_length) };
        match self.limit() {
            Some(limit) => TokenBound { prompt, completion: limit.min(context_length), choices: self.choices },
            // An engine cannot exceed its context, of which the prompt is a part.
            None => {
                let whole = context_length.saturating_mul(self.choices);
                let completion = whole.saturating_sub(prompt).div_ceil(self.choices.max(1));
                TokenBound { prompt, completion, choices: self.choices }
            }
        }
    }

    /// What the call is expected to cost under a limit of so many tokens per minute, and how much of that it generates.
    /// A limit beyond the context is none: taken at its word, one call could shut out the whole workspace.
    pub fn expected(&self, context_length: u64, tokens_per_minute: u64) -> (u64, u64) {
        let completion = match self.limit() {
            _ if !self.generates => 0,
            Some(limit) => limit.min(context_length),
            None => EXPECTED_COMPLETION.min(tokens_per_minute / 4),
        };
        let completion = completion.saturating_mul(self.choices.max(1));
        ((self.prompt_bytes / BYTES_PER_TOKEN).saturating_add(completion), completion)
    }

    /// Sets the limit on each choice, in the client's spelling where there is one.
    pub(super) fn clamp(&self, limit: u64, model_end: usize, edits: &mut Edits<'static>) {
        let text = limit.to_string();
        if self.spelled().next().is_none() {
            return edits.insert(model_end, format!(",\"max_tokens\":{text}").into_bytes());
        }
        let says_nothing = self.limit().is_none();
        for spelled in self.spelled().filter(|spelled| says_nothing || spelled.tokens.is_some()) {
            edits.replace(spelled.span.clone(), text.clone().into_bytes());
        }
    }

    fn spelled(&self) -> impl Iterator<Item = &Limit> {
        [&self.max_tokens, &self.max_completion_tokens].into_iter().flatten()
    }
}

fn read_limit(reader: &mut Reader<'_>, checks: &mut Checks, name: &'static str) -> Result<Option<Limit>, Malformed> {
    reader.kind()?;
    let start = reader.position();
    let tokens = checks.integer(reader, &name, 1..=i64::MAX)?.map(i64::unsigned_abs);
    Ok(Some(Limit { tokens, span: start..reader.position() }))
}

#[cfg(test)]
mod tests {
    use crate::probe::{Probe, chat, embeddings};
    use domain::quota::TokenBound;

    const CONTEXT: u64 = 8_192;

    fn probe(rest: &str) -> Probe {
        let body = format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"hi"}}]{rest}}}"#);
        chat::probe(body.into()).unwrap()
    }

    fn bound(rest: &str) -> TokenBound {
        probe(rest).demand.bound(CONTEXT)
    }

    fn clamped(rest: &str) -> String {
        let probe = probe(rest);
        String::from_utf8(probe.upstream_edits("b", false, Some(7)).apply(&probe.body).to_vec()).unwrap()
    }

    #[test]
    fn a_call_with_a_limit_is_bounded_by_its_prompt_and_its_limit() {
        let messages = r#"[{"role":"user","content":"hi"}]"#.len() as u64;
        let prompt = messages + 64;
        assert_eq!(bound(r#","max_tokens":100"#), TokenBound { prompt, completion: 100, choices: 1 });
        assert_eq!(bound(r#","max_completion_tokens":100,"n":3"#).total(), prompt + 300);
        assert_eq!(bound(r#","max_tokens":100,"max_completion_tokens":50"#).completion, 100);
        assert_eq!(bound(r#","max_tokens":1,"tools":[]"#).prompt, prompt + 2);
        assert_eq!(bound(r#","max_tokens":1,"response_format":{"type":"text"}"#).prompt, prompt + 15);
    }

    #[test]
    fn a_call_without_a_limit_is_bounded_by_the_context() {
        assert_eq!(bound("").total(), CONTEXT);
        assert_eq!(bound(r#","n":2"#).total(), 2 * CONTEXT);
        assert_eq!(bound(r#","max_tokens":null"#).total(), CONTEXT);
        let image = r#"{"model":"a/b","max_tokens":5,"messages":[{"role":"user","content":[
            {"type":"image_url","image_url":{"url":"data:x"}}]}]}"#;
        assert_eq!(chat::probe(image.into()).unwrap().demand.bound(CONTEXT).total(), CONTEXT + 5);
        let text = r#"{"model":"a/b","max_tokens":5,"messages":[{"role":"user","content":[
            {"type":"text","text":"hi"}]}]}"#;
        assert!(chat::probe(text.into()).unwrap().demand.bound(CONTEXT).total() < 250);
    }

    #[test]
    fn inputs_are_bounded_by_their_bytes_and_generate_nothing() {
        let probe = embeddings::probe(r#"{"model":"a/b","input":["one","three"]}"#.into()).unwrap();
        assert_eq!(probe.demand.bound(CONTEXT), TokenBound { prompt: 15 + 128, completion: 0, choices: 1 });
        assert_eq!(probe.demand.expected(CONTEXT, 1_000), (3, 0));
    }

    #[test]
    fn what_is_expected_of_a_minute_is_the_limit_or_a_guess() {
        let bytes = r#"[{"role":"user","content":"hi"}]"#.len() as u64;
        assert_eq!(probe(r#","max_tokens":100,"n":2"#).demand.expected(CONTEXT, 60_000), (bytes / 4 + 200, 200));
        assert_eq!(probe("").demand.expected(CONTEXT, 60_000), (bytes / 4 + 1_024, 1_024));
        assert_eq!(probe("").demand.expected(CONTEXT, 400), (bytes / 4 + 100, 100));
    }

    #[test]
    fn a_limit_beyond_the_context_reserves_no_more_than_the_context() {
        let absurd = probe(r#","max_tokens":9223372036854775807,"n":2"#).demand;
        assert_eq!(absurd.bound(CONTEXT).completion, CONTEXT);
        assert_eq!(absurd.expected(CONTEXT, 60_000).1, 2 * CONTEXT);
    }

    #[test]
    fn a_clamp_keeps_the_clients_spelling() {
        assert!(clamped(r#","max_tokens": 100"#).contains(r#","max_tokens": 7"#));
        assert!(clamped(r#","max_completion_tokens":100"#).contains(r#","max_completion_tokens":7"#));
        let both = clamped(r#","max_tokens":100,"max_completion_tokens":90"#);
        assert!(both.contains(r#""max_tokens":7,"max_completion_tokens":7"#), "{both}");
        assert!(clamped("").starts_with(r#"{"model":"b","max_tokens":7,"#));
        assert!(clamped(r#","max_tokens":null"#).contains(r#""max_tokens":7"#));
    }
}
