//! Estimates the tokens that a call may use, for rate limits and quota.

use super::prompts::Prompts;
use domain::model::ImageTokens;
use domain::quota::TokenBound;
use json::edits::Edits;
use json::{Checks, JsonError, Reader};
use std::ops::Range;

/// The most tokens that a chat template adds to a message.
const PER_MESSAGE: u64 = 64;
/// A rough average for English text.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;
/// The longest tokens, those of blanks, have half as many bytes.
const MOST_BYTES_PER_TOKEN: u64 = 256;
/// Few texts have more tokens than a third of their bytes.
const FEW_BYTES_PER_TOKEN: u64 = 3;
/// The expected completion of the first call of a workspace to a model.
const FIRST_EXPECTED: u64 = 1024;
/// The least bytes of one log-probability in a response: its token, the number and the bytes, with their names.
const LOGPROB_BYTES: u64 = 64;
/// The tokens of a completion that has no limit.
const USUAL_COMPLETION: u64 = 16;
/// Images whose dimensions are kept. Further ones count as most models count them.
const MAX_IMAGES: usize = 1_024;
/// Names of limits as they are written.
const LIMIT: &str = "\"max_tokens\"";
const COMPLETION_LIMIT: &str = "\"max_completion_tokens\"";
/// The least completion that is expected, unless the call has a lower limit.
const LEAST_EXPECTED: u64 = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TokenEstimate {
    /// Bytes of the members that become the prompt, or could: those that the gateway does not know count, too.
    pub(super) prompt_bytes: u64,
    /// The part of `prompt_bytes` that is not in the body, but that engines read: what a translation has omitted, or a text
    /// that is compared with several.
    pub(super) native_only: u64,
    /// Messages, or inputs of an embedding.
    pub(super) messages: u64,
    /// The prompt has a part other than text, of whose tokens there is no bound but the context.
    pub(super) opaque: bool,
    /// The dimensions of images among them, where they can be read.
    images: Vec<Option<(u32, u32)>>,
    /// Bytes of such parts.
    pub(super) opaque_bytes: u64,
    /// Estimated tokens of such parts: images by their dimensions, others by their length.
    pub(super) media_tokens: u64,
    /// Prompts that the engine reads one by one, each within the context.
    prompts: u64,
    /// The fewest tokens that the longest of them can have; `None` for chats, of which only the length is known.
    least_of_longest: Option<u64>,
    pub(super) choices: u64,
    /// Log-probabilities in the response for each generated token.
    pub(super) logprobs: u64,
    /// The number of token ids in the prompt; `None` if it is text.
    pub(super) token_ids: Option<u64>,
    /// The response repeats the prompt, with log-probabilities if it has any.
    pub(super) echoes: bool,
    /// False for embeddings.
    generates: bool,
    max_tokens: Option<LimitMember>,
    max_completion_tokens: Option<LimitMember>,
    /// A limit that is lowered to what the context leaves. It is not a member of the body.
    soft_limit: Option<u64>,
    /// Engines read no limit but `max_tokens`, so the lower one is sent under that name.
    reads_only_max_tokens: bool,
}

/// A member with a token limit per choice, and its range. A null has a range, but no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LimitMember {
    tokens: Option<u64>,
    span: Range<usize>,
}

impl LimitMember {
    /// The range of its name, with quotes; `None` if the name is escaped.
    fn name(&self, body: &[u8], name: &str) -> Option<Range<usize>> {
        let before = body[..self.span.start].trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
        before.ends_with(name.as_bytes()).then(|| before.len() - name.len()..before.len())
    }
}

impl TokenEstimate {
    pub(super) fn chat() -> Self {
        Self { choices: 1, prompts: 1, generates: true, ..Self::default() }
    }

    /// A completion without a limit of its own has few tokens, as in OpenAI's API: engines differ in their default.
    pub(super) fn completions() -> Self {
        Self { soft_limit: Some(USUAL_COMPLETION), reads_only_max_tokens: true, ..Self::chat() }
    }

    /// The prompts of a completion, each with this many choices.
    pub(super) fn with_prompts(self, prompts: &Prompts, choices_of_each: u64) -> Self {
        let (count, least_of_longest) = (prompts.count as u64, Some(prompts.least_tokens));
        let choices = count.saturating_mul(choices_of_each);
        let mut estimate = Self { prompts: count, messages: count, least_of_longest, choices, ..self };
        estimate.add_prompts(prompts);
        estimate
    }

    /// Counts texts by their bytes, and token ids by their number.
    pub(super) fn add_prompts(&mut self, prompts: &Prompts) {
        match prompts.token_ids {
            Some(_) => self.token_ids = prompts.token_ids,
            None => self.prompt_bytes += prompts.span.len() as u64,
        }
    }

    /// Counts an image, as most models do.
    pub(super) fn add_image(&mut self, size: Option<(u32, u32)>) {
        self.media_tokens = self.media_tokens.saturating_add(ImageTokens::default().of(size));
        if self.images.len() < MAX_IMAGES {
            self.images.push(size);
        }
    }

    pub(super) fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Counts the images again, as this model does.
    pub(super) fn count_images(&mut self, tokens: ImageTokens) {
        if tokens == ImageTokens::default() {
            return;
        }
        for size in &self.images {
            let counted = ImageTokens::default().of(*size);
            self.media_tokens = self.media_tokens.saturating_sub(counted).saturating_add(tokens.of(*size));
        }
    }

    pub(super) fn limited_softly(self, tokens: u64) -> Self {
        Self { soft_limit: Some(tokens), ..self }
    }

    /// The request may also be passed through with this much in place of the translation.
    pub(super) fn or_native(self, native_bytes: u64) -> Self {
        let native_only = native_bytes.saturating_sub(self.prompt_bytes);
        Self { prompt_bytes: self.prompt_bytes + native_only, native_only, ..self }
    }

    pub(super) fn embeddings(prompt_bytes: u64, inputs: usize, least_of_longest: u64) -> Self {
        let (prompts, least_of_longest) = (inputs as u64, Some(least_of_longest));
        Self { prompt_bytes, messages: prompts, prompts, least_of_longest, choices: 1, ..Self::default() }
    }

    /// The fewest tokens that the longest prompt can have.
    pub(super) fn least_prompt(&self) -> u64 {
        let least_of_chat = || least_tokens(self.text_bytes().saturating_sub(self.native_only)).max(self.messages);
        self.least_of_longest.unwrap_or_else(least_of_chat)
    }

    /// `least` is 0 if the response may be nothing but the prompt.
    pub(super) fn read_max_tokens(
        &mut self,
        reader: &mut Reader<'_>,
        checks: &mut Checks,
        least: i64,
    ) -> Result<(), JsonError> {
        self.max_tokens = read_limit(reader, checks, "max_tokens", least)?;
        Ok(())
    }

    pub(super) fn read_max_completion_tokens(
        &mut self,
        reader: &mut Reader<'_>,
        checks: &mut Checks,
    ) -> Result<(), JsonError> {
        self.max_completion_tokens = read_limit(reader, checks, "max_completion_tokens", 1)?;
        Ok(())
    }

    /// The token limit per choice. If a chat has two, engines differ in which one they apply, so the larger counts.
    pub(crate) fn limit(&self) -> Option<u64> {
        let limits = self.limit_members().filter_map(|limit| limit.tokens);
        if self.reads_only_max_tokens { limits.min() } else { limits.max() }
    }

    /// The number of choices that the client requested.
    pub(crate) fn choices(&self) -> u64 {
        self.choices
    }

    /// The member because of which a response with as many tokens as the client and the context allow has more than `most`
    /// bytes, if it has log-probabilities: without them, few tokens are that long.
    pub(super) fn oversized(&self, context_length: u64, most: u64) -> Option<&'static str> {
        let bytes_of = |tokens: u64| tokens.saturating_mul(self.logprobs).saturating_mul(LOGPROB_BYTES);
        let limit = self.limit();
        let generated = bytes_of(limit.map_or(0, |limit| limit.min(context_length)));
        if generated > most {
            return self.limit_names().find(|(_, member)| member.tokens == limit).map(|(name, _)| name);
        }
        let echoed = if self.echoes { bytes_of(self.likely_prompt()) } else { 0 };
        let of_one_choice_each = generated.saturating_mul(self.prompts).saturating_add(echoed);
        let of_all = of_one_choice_each.saturating_mul(self.choices / self.prompts.max(1));
        (of_all > most).then_some(if of_one_choice_each > most { "prompt" } else { "n" })
    }

    /// Whether the client limits the tokens itself.
    pub(crate) fn has_limit(&self) -> bool {
        self.limit().is_some()
    }

    /// The most tokens that the call can use at a model with this context length, if its engine gets the limit that
    /// [`Self::limit_to_send`] returns.
    pub(crate) fn bound(&self, context_length: u64) -> TokenBound {
        let most = context_length.saturating_mul(self.prompts);
        let prompt = if self.opaque { most } else { self.text_bound().min(most) };
        if !self.generates {
            return TokenBound { prompt, completion: 0, choices: 1 };
        }
        let completion = match self.limit() {
            // Engines may generate a token to get the log-probabilities of a prompt that is all of the response.
            Some(limit) => limit.max(u64::from(self.echoes)).min(context_length),
            None => {
                self.room_after(prompt.min(context_length), context_length).min(self.soft_limit.unwrap_or(u64::MAX))
            }
        };
        TokenBound { prompt, completion, choices: self.choices }
    }

    /// The most tokens of a prompt of text or token ids.
    fn text_bound(&self) -> u64 {
        let added = self.messages.saturating_mul(PER_MESSAGE);
        self.prompt_bytes.saturating_add(self.token_ids.unwrap_or(0)).saturating_add(added)
    }

    /// The token limit per choice of a call that has none. Engines reject a limit that does not fit next to the prompt,
    /// so a short prompt counts with its bound. A long one has far fewer tokens than its bound, which would leave too
    /// little or nothing: it leaves half of the context, or a quarter if it is likely to fill half of it.
    ///
    /// With a context of 8,000, prompts of at most 1,000, 6,000, 18,000 and 30,000 tokens leave 7,000, 4,000, 2,000 and
    /// 2,000.
    fn room_after(&self, prompt: u64, context_length: u64) -> u64 {
        let half = context_length / 2;
        let likely =
            if self.opaque { half } else { context_length.saturating_sub(self.text_bound() / FEW_BYTES_PER_TOKEN) };
        (context_length - prompt).max(likely.min(half)).max(context_length / 4).max(1)
    }

    /// The token limit per choice that the engine must get for a call that may generate `completion` tokens per choice;
    /// `None` if the client's own limit is enough.
    pub(crate) fn limit_to_send(&self, completion: u64) -> Option<u64> {
        let other = self.max_completion_tokens.as_ref().and_then(|member| member.tokens);
        let is_renamed = self.reads_only_max_tokens && other.is_some();
        match self.limit() {
            _ if !self.generates => None,
            Some(own) if own <= completion => is_renamed.then_some(own),
            Some(_) | None => Some(completion),
        }
    }

    /// The tokens of everything that becomes the prompt, estimated from the length of its text and the dimensions of images.
    /// The tokens of prompts that are token ids are known.
    pub(crate) fn likely_prompt(&self) -> u64 {
        let counted = self.media_tokens.saturating_add(self.token_ids.unwrap_or(0));
        self.text_bytes().div_ceil(BYTES_PER_TOKEN).saturating_add(counted)
    }

    /// [`Self::likely_prompt`] at a model with this context length.
    pub(crate) fn likely_prompt_within(&self, context_length: u64) -> u64 {
        self.media_within(context_length, self.likely_prompt())
    }

    /// No engine reads more media than its context has room for.
    fn media_within(&self, context_length: u64, prompt: u64) -> u64 {
        if self.opaque { prompt.min(context_length) } else { prompt }
    }

    fn text_bytes(&self) -> u64 {
        self.prompt_bytes.saturating_sub(self.opaque_bytes)
    }

    /// The token limit of a call that is not metered, in place of the client's soft one.
    pub(crate) fn unmetered_limit(&self, context_length: u64) -> Option<u64> {
        self.soft_limit.map(|_| self.bound(context_length).completion)
    }

    /// The tokens that the call is expected to use, and how many of them it generates: what the model usually writes, not
    /// the token limit, of which agents send far more than they need. One call with a huge limit would use up the rate
    /// limit of its workspace.
    pub(crate) fn expected(&self, context_length: u64, tokens_per_minute: u64, usual: Option<u64>) -> (u64, u64) {
        let per_choice = if self.generates {
            let usual = usual.unwrap_or(FIRST_EXPECTED.min(tokens_per_minute / 4)).max(LEAST_EXPECTED);
            let most = self.limit().or(self.soft_limit).unwrap_or(u64::MAX).min(context_length);
            usual.min(most)
        } else {
            0
        };
        let completion = per_choice.saturating_mul(self.choices.max(1));
        let counted = self.media_tokens.saturating_add(self.token_ids.unwrap_or(0));
        let prompt = (self.text_bytes() / BYTES_PER_TOKEN).saturating_add(counted);
        let prompt = self.media_within(context_length, prompt);
        (prompt.saturating_add(completion), completion)
    }

    /// Sets the token limit per choice, in the member that the client used if there is one.
    pub(super) fn clamp(&self, limit: u64, model_end: usize, edits: &mut Edits<'static>) {
        if self.reads_only_max_tokens {
            return self.write_max_tokens(limit, model_end, edits);
        }
        let text = limit.to_string();
        if self.limit_members().next().is_none() {
            return edits.insert(model_end, format!(",\"max_tokens\":{text}").into_bytes());
        }
        let are_null = self.limit().is_none();
        for member in self.limit_members().filter(|member| member.tokens.map_or(are_null, |tokens| tokens > limit)) {
            edits.replace(member.span.clone(), text.clone().into_bytes());
        }
    }

    /// Sets the lower one of `limit` and the client's own as the only limit.
    fn write_max_tokens(&self, limit: u64, model_end: usize, edits: &mut Edits<'static>) {
        let text = self.limit().map_or(limit, |own| own.min(limit)).to_string();
        match &self.max_tokens {
            Some(member) => edits.replace(member.span.clone(), text.into_bytes()),
            None => edits.insert(model_end, format!(",\"max_tokens\":{text}").into_bytes()),
        }
        if let Some(member) = &self.max_completion_tokens {
            edits.replace(member.span.clone(), &b"null"[..]);
        }
    }

    /// The same for a chat at a server that knows `max_completion_tokens` only: a limit of the client under the other name
    /// is renamed. A call with both names keeps them, and the server rejects it as it does without the gateway.
    pub(super) fn clamp_completion(
        &self,
        limit: Option<u64>,
        model_end: usize,
        body: &[u8],
        edits: &mut Edits<'static>,
    ) {
        match (limit, self.limit_members().next()) {
            (Some(limit), None) => edits.insert(model_end, format!(",{COMPLETION_LIMIT}:{limit}").into_bytes()),
            (Some(limit), Some(_)) => self.clamp(limit, model_end, edits),
            (None, _) => {}
        }
        if let (Some(member), None) = (&self.max_tokens, &self.max_completion_tokens)
            && let Some(name) = member.name(body, LIMIT)
        {
            edits.replace(name, COMPLETION_LIMIT.as_bytes());
        }
    }

    fn limit_members(&self) -> impl Iterator<Item = &LimitMember> {
        self.limit_names().map(|(_, member)| member)
    }

    fn limit_names(&self) -> impl Iterator<Item = (&'static str, &LimitMember)> {
        let own = [("max_tokens", &self.max_tokens), ("max_completion_tokens", &self.max_completion_tokens)];
        own.into_iter().filter_map(|(name, member)| Some((name, member.as_ref()?)))
    }
}

/// The fewest tokens of a text with this many bytes.
pub(super) fn least_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(MOST_BYTES_PER_TOKEN)
}

fn read_limit(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    name: &'static str,
    least: i64,
) -> Result<Option<LimitMember>, JsonError> {
    reader.kind()?;
    let start = reader.position();
    let tokens = checks.integer(reader, &name, least..=i64::MAX)?.map(i64::unsigned_abs);
    Ok(Some(LimitMember { tokens, span: start..reader.position() }))
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
