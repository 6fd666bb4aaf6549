//! Estimates the tokens that a call may use, for rate limits and quota.

use super::checks::Checks;
use crate::json::edits::Edits;
use crate::json::{JsonError, Reader};
use domain::quota::TokenBound;
use std::ops::Range;

/// The most tokens that a chat template adds to a message.
const PER_MESSAGE: u64 = 64;
const BYTES_PER_TOKEN: u64 = 4;
/// The expected completion of a call without a token limit.
const EXPECTED_COMPLETION: u64 = 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TokenEstimate {
    /// Bytes of the members that become the prompt.
    pub(super) prompt_bytes: u64,
    /// Messages, or inputs of an embedding.
    pub(super) messages: u64,
    /// The prompt has a part other than text, whose tokens cannot be estimated.
    pub(super) opaque: bool,
    pub(super) choices: u64,
    /// False for embeddings.
    generates: bool,
    max_tokens: Option<LimitMember>,
    max_completion_tokens: Option<LimitMember>,
}

/// A member with a token limit per choice, and its range. A null has a range, but no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LimitMember {
    tokens: Option<u64>,
    span: Range<usize>,
}

impl TokenEstimate {
    pub(super) fn chat() -> Self {
        Self { choices: 1, generates: true, ..Self::default() }
    }

    pub(super) fn embeddings(prompt_bytes: usize, inputs: usize) -> Self {
        Self { prompt_bytes: prompt_bytes as u64, messages: inputs as u64, choices: 1, ..Self::default() }
    }

    pub(super) fn read_max_tokens(&mut self, reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), JsonError> {
        self.max_tokens = read_limit(reader, checks, "max_tokens")?;
        Ok(())
    }

    pub(super) fn read_max_completion_tokens(
        &mut self,
        reader: &mut Reader<'_>,
        checks: &mut Checks,
    ) -> Result<(), JsonError> {
        self.max_completion_tokens = read_limit(reader, checks, "max_completion_tokens")?;
        Ok(())
    }

    /// The token limit per choice. If there are two, engines differ in which one they apply, so the larger counts.
    fn limit(&self) -> Option<u64> {
        self.limit_members().filter_map(|limit| limit.tokens).max()
    }

    /// The most tokens that the call can use at a model with this context length.
    pub(crate) fn bound(&self, context_length: u64) -> TokenBound {
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
            // An engine cannot exceed its context, which includes the prompt.
            None => {
                let whole = context_length.saturating_mul(self.choices);
                let completion = whole.saturating_sub(prompt).div_ceil(self.choices.max(1));
                TokenBound { prompt, completion, choices: self.choices }
            }
        }
    }

    /// The tokens that the call is expected to use, and how many of them it generates. Limits above the context length
    /// are cut to it; otherwise one call with a huge limit could use up the rate limit of its workspace.
    pub(crate) fn expected(&self, context_length: u64, tokens_per_minute: u64) -> (u64, u64) {
        let completion = match self.limit() {
            _ if !self.generates => 0,
            Some(limit) => limit.min(context_length),
            None => EXPECTED_COMPLETION.min(tokens_per_minute / 4),
        };
        let completion = completion.saturating_mul(self.choices.max(1));
        ((self.prompt_bytes / BYTES_PER_TOKEN).saturating_add(completion), completion)
    }

    /// Sets the token limit per choice, in the member that the client used if there is one.
    pub(super) fn clamp(&self, limit: u64, model_end: usize, edits: &mut Edits<'static>) {
        let text = limit.to_string();
        if self.limit_members().next().is_none() {
            return edits.insert(model_end, format!(",\"max_tokens\":{text}").into_bytes());
        }
        let are_null = self.limit().is_none();
        for member in self.limit_members().filter(|member| are_null || member.tokens.is_some()) {
            edits.replace(member.span.clone(), text.clone().into_bytes());
        }
    }

    fn limit_members(&self) -> impl Iterator<Item = &LimitMember> {
        [&self.max_tokens, &self.max_completion_tokens].into_iter().flatten()
    }
}

fn read_limit(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    name: &'static str,
) -> Result<Option<LimitMember>, JsonError> {
    reader.kind()?;
    let start = reader.position();
    let tokens = checks.integer(reader, &name, 1..=i64::MAX)?.map(i64::unsigned_abs);
    Ok(Some(LimitMember { tokens, span: start..reader.position() }))
}

#[cfg(test)]
mod tests {
    use crate::request::{ParsedRequest, chat, embeddings};
    use domain::quota::TokenBound;

    const CONTEXT: u64 = 8_192;

    fn parse(rest: &str) -> ParsedRequest {
        let body = format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"hi"}}]{rest}}}"#);
        chat::parse(body.into()).unwrap()
    }

    fn bound(rest: &str) -> TokenBound {
        parse(rest).estimate.bound(CONTEXT)
    }

    fn clamped(rest: &str) -> String {
        let request = parse(rest);
        String::from_utf8(request.upstream_edits("b", false, Some(7)).apply(&request.body).to_vec()).unwrap()
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
        assert_eq!(chat::parse(image.into()).unwrap().estimate.bound(CONTEXT).total(), CONTEXT + 5);
        let text = r#"{"model":"a/b","max_tokens":5,"messages":[{"role":"user","content":[
            {"type":"text","text":"hi"}]}]}"#;
        assert!(chat::parse(text.into()).unwrap().estimate.bound(CONTEXT).total() < 250);
    }

    #[test]
    fn inputs_are_bounded_by_their_bytes_and_generate_nothing() {
        let request = embeddings::parse(r#"{"model":"a/b","input":["one","three"]}"#.into()).unwrap();
        assert_eq!(request.estimate.bound(CONTEXT), TokenBound { prompt: 15 + 128, completion: 0, choices: 1 });
        assert_eq!(request.estimate.expected(CONTEXT, 1_000), (3, 0));
    }

    #[test]
    fn expected_tokens_follow_the_limit_or_a_default() {
        let bytes = r#"[{"role":"user","content":"hi"}]"#.len() as u64;
        assert_eq!(parse(r#","max_tokens":100,"n":2"#).estimate.expected(CONTEXT, 60_000), (bytes / 4 + 200, 200));
        assert_eq!(parse("").estimate.expected(CONTEXT, 60_000), (bytes / 4 + 1_024, 1_024));
        assert_eq!(parse("").estimate.expected(CONTEXT, 400), (bytes / 4 + 100, 100));
    }

    #[test]
    fn a_limit_beyond_the_context_reserves_no_more_than_the_context() {
        let absurd = parse(r#","max_tokens":9223372036854775807,"n":2"#).estimate;
        assert_eq!(absurd.bound(CONTEXT).completion, CONTEXT);
        assert_eq!(absurd.expected(CONTEXT, 60_000).1, 2 * CONTEXT);
    }

    #[test]
    fn a_clamp_uses_the_members_of_the_client() {
        assert!(clamped(r#","max_tokens": 100"#).contains(r#","max_tokens": 7"#));
        assert!(clamped(r#","max_completion_tokens":100"#).contains(r#","max_completion_tokens":7"#));
        let both = clamped(r#","max_tokens":100,"max_completion_tokens":90"#);
        assert!(both.contains(r#""max_tokens":7,"max_completion_tokens":7"#), "{both}");
        assert!(clamped("").starts_with(r#"{"model":"b","max_tokens":7,"#));
        assert!(clamped(r#","max_tokens":null"#).contains(r#""max_tokens":7"#));
    }
}
