//! Normalizes one chunk of a chat stream.

mod usage;

use super::delta::{Delta, normalize_role};
use super::finish_reason::{FinishReason, read_finish_reason};
use super::reasoning::RepeatBudget;
use super::service_tier::{FLEX, FLEX_MEMBER};
use super::tokens::TokenMeter;
use super::tool_calls::ToolCalls;
use super::usage::ReportedUsage;
use super::{BadUpstreamResponse, note_once, upstream_error};
use crate::failover::{Transcript, skip_gap};
use bytes::{Bytes, BytesMut};
use dialects::MAX_TOOL_CALLS;
use domain::model::ReasoningNames;
use json::edits::Edits;
use json::members::is_empty_object;
use json::{Reader, ValueKind, quote};
use std::ops::Range;

/// The maximum of `n`, and so of choices in a chunk.
const MAX_CHOICES: usize = 128;
const MAX_INDEX: u32 = MAX_CHOICES as u32 - 1;
/// The most bytes of a value that every chunk repeats. Ids of engines have some dozens.
const MAX_KEPT_BYTES: usize = 4 << 10;

const EMPTY_TEXT: &[u8] = b"\"\"";

/// The state that must be consistent from the first chunk to the last.
#[derive(Debug)]
pub(super) struct ChunkNormalizer {
    /// The Model ID that the client sent, in quotes.
    model: Vec<u8>,
    /// `id` and `created` of the first chunk, as JSON.
    id: Option<Vec<u8>>,
    created: Option<Vec<u8>>,
    /// One bit per choice: its role was sent, or, if choices are texts, its first text.
    roles: u128,
    /// One bit per choice: it has begun, and it has ended.
    started: u128,
    finished: u128,
    last_finished: Option<u32>,
    /// One bit per choice: it has a tool call.
    called: u128,
    /// Parts of tool calls in the current chunk, over all choices.
    tool_parts: usize,
    /// The budget of reasoning in the current chunk.
    repeat_budget: RepeatBudget,
    tool_calls: ToolCalls,
    /// The choice of the current chunk; the last one if there are several.
    current: u32,
    /// The number of choices that the client requested.
    choices: u64,
    wants_usage: bool,
    wants_running_usage: bool,
    reasoning_names: ReasoningNames,
    /// Every chunk names the tier.
    is_flex: bool,
    /// Choices have a text instead of a delta.
    has_texts: bool,
    /// The first text of each choice is its prompt.
    repeats_prompts: bool,
    usage_sent: bool,
    /// The text so far, if the stream may continue at another replica.
    transcript: Option<Transcript>,
    /// Text of the current chunk, which joins the transcript once the chunk is known to be whole.
    new_text: Vec<u8>,
    /// The stream went on at another replica, whose first chunks may repeat what was sent.
    is_resumed: bool,
    gap: String,
    /// The current chunk has something for the client.
    has_news: bool,
}

#[derive(Default)]
struct ChunkChoice {
    index: u32,
    delta: Option<Delta>,
    /// Whether the choice of a completion has text.
    has_text: bool,
    finish: Option<(Range<usize>, FinishReason)>,
    finished: bool,
}

impl ChunkNormalizer {
    pub(super) fn new(model: &str, choices: u64, wants_usage: bool, wants_running_usage: bool) -> Self {
        Self {
            model: quote(model),
            id: None,
            created: None,
            roles: 0,
            started: 0,
            finished: 0,
            last_finished: None,
            called: 0,
            tool_parts: 0,
            repeat_budget: RepeatBudget::new(ReasoningNames::default()),
            tool_calls: ToolCalls::default(),
            current: 0,
            choices,
            wants_usage,
            wants_running_usage,
            reasoning_names: ReasoningNames::default(),
            is_flex: false,
            has_texts: false,
            repeats_prompts: false,
            usage_sent: false,
            transcript: None,
            new_text: Vec::new(),
            is_resumed: false,
            gap: String::new(),
            has_news: false,
        }
    }

    pub(super) fn name_reasoning(&mut self, names: ReasoningNames) {
        self.reasoning_names = names;
    }

    pub(super) fn name_flex(&mut self) {
        self.is_flex = true;
    }

    pub(super) fn expect_texts(&mut self, repeats_prompts: bool) {
        self.has_texts = true;
        self.repeats_prompts = repeats_prompts;
    }

    /// Normalizes a response that is not streamed and counts its tokens. It gets its model when it passes.
    pub(super) fn normalize_whole(
        &self,
        response: &Bytes,
        meter: &mut TokenMeter,
    ) -> Result<Bytes, BadUpstreamResponse> {
        super::chat::normalize(response, "", self.choices, self.reasoning_names, meter)
    }

    /// Keeps the text from now on, because the stream may continue at another replica.
    pub(super) fn keep_text(&mut self) {
        self.transcript = Some(Transcript::default());
    }

    pub(super) fn transcript(&self) -> Option<&Transcript> {
        self.transcript.as_ref()
    }

    pub(super) fn forget_text(&mut self) {
        self.transcript = None;
    }

    /// The stream continues at another replica, after `gap`, which was sent already.
    pub(super) fn resume(&mut self, gap: String) {
        // Without a chunk so far, the role is still to be sent.
        (self.is_resumed, self.gap) = (self.started != 0, gap);
    }

    /// A chunk, as an engine writes it, that ends the response at its token limit.
    pub(super) fn length_chunk(&self) -> Vec<u8> {
        let (id, created) = (self.id.as_deref().unwrap_or(b"\"\""), self.created.as_deref().unwrap_or(b"0"));
        [
            b"{\"id\":",
            id,
            b",\"object\":\"chat.completion.chunk\",\"created\":",
            created,
            b",\"model\":",
            &self.model[..],
            b",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}",
        ]
        .concat()
    }

    /// Whether a chunk with a choice has passed.
    pub(super) fn has_begun(&self) -> bool {
        self.started != 0
    }

    /// Whether every choice that has begun has ended.
    pub(super) fn all_finished(&self) -> bool {
        self.started != 0 && self.started == self.finished
    }

    /// Writes the normalized chunk, or nothing if the client must not see it.
    pub(super) fn pass(
        &mut self,
        chunk: &[u8],
        meter: &mut TokenMeter,
        out: &mut BytesMut,
    ) -> Result<(), BadUpstreamResponse> {
        let mut reader = Reader::new(chunk);
        let mut edits = Edits::default();
        let mut usage = None;
        let mut choices = 0;
        let (mut has_id, mut has_created, mut has_model, mut has_tier) = (false, false, false, false);
        self.has_news = !self.is_resumed;
        self.new_text.clear();
        (self.tool_parts, self.repeat_budget) = (0, RepeatBudget::new(self.reasoning_names));
        reader.object(|reader, name, name_at| {
            match name.raw() {
                b"id" => {
                    note_once(&mut has_id)?;
                    keep_first(&mut self.id, reader.span()?, chunk, &mut edits)?;
                }
                b"created" => {
                    note_once(&mut has_created)?;
                    keep_first(&mut self.created, reader.span()?, chunk, &mut edits)?;
                }
                b"model" => {
                    note_once(&mut has_model)?;
                    let span = reader.span()?;
                    if chunk[span.clone()] != *self.model {
                        edits.replace(span, self.model.clone());
                    }
                }
                b"service_tier" if self.is_flex => {
                    note_once(&mut has_tier)?;
                    edits.replace(reader.span()?, FLEX);
                }
                b"choices" if reader.kind()? == ValueKind::Array => reader.array(|reader, position| {
                    choices += 1;
                    if choices > MAX_CHOICES {
                        return Err(BadUpstreamResponse::Unexpected("a chunk has more than 128 choices"));
                    }
                    self.choice(reader, position, chunk, meter, &mut edits)
                })?,
                b"usage" => {
                    let reported = ReportedUsage::read(reader)?;
                    usage = Some((name_at..reader.position(), reported));
                }
                b"error" if reader.kind()? != ValueKind::Null => {
                    let span = reader.span()?;
                    return Err(BadUpstreamResponse::Reported(upstream_error::reported(&chunk[span])));
                }
                b"object" => {
                    let span = reader.span()?;
                    if chunk[span] == *b"\"error\"" {
                        return Err(BadUpstreamResponse::Reported(upstream_error::reported(chunk)));
                    }
                }
                _ => reader.skip()?,
            }
            Ok::<(), BadUpstreamResponse>(())
        })?;
        reader.end()?;
        if let Some(transcript) = &mut self.transcript {
            transcript.add(&self.new_text);
        }
        let was_sent = self.usage_sent;
        self.settle_usage(chunk, usage, choices, meter, &mut edits);
        // A chunk without choices is forwarded only if it is the first one with the usage.
        if choices == 0 && (was_sent || !self.usage_sent) {
            return Ok(());
        }
        // The role was sent by the first replica, and so was white space.
        if choices > 0 && !self.has_news {
            return Ok(());
        }
        let open = || chunk.iter().position(|byte| *byte == b'{').unwrap_or(0);
        if !has_model {
            let member = [b"\"model\":", &self.model[..], b","].concat();
            edits.insert(open() + 1, member);
        }
        if self.is_flex && !has_tier {
            edits.insert(open() + 1, FLEX_MEMBER);
        }
        out.extend_from_slice(b"data: ");
        edits.write_to(chunk, out);
        out.extend_from_slice(b"\n\n");
        Ok(())
    }

    fn choice(
        &mut self,
        reader: &mut Reader<'_>,
        position: usize,
        chunk: &[u8],
        meter: &mut TokenMeter,
        edits: &mut Edits<'_>,
    ) -> Result<(), BadUpstreamResponse> {
        reader.kind()?;
        let open = reader.position();
        if is_empty_object(chunk, open) {
            return Err(BadUpstreamResponse::Unexpected("a choice is empty"));
        }
        let (mut has_delta, mut has_finish) = (false, false);
        let mut choice = ChunkChoice { index: u32::try_from(position).unwrap_or(MAX_INDEX), ..ChunkChoice::default() };
        reader.object(|reader, name, _| {
            match name.raw() {
                b"index" if reader.kind()? == ValueKind::Number => {
                    let digits = reader.number()?;
                    choice.index = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
                }
                b"delta" if !self.has_texts => {
                    note_once(&mut has_delta)?;
                    choice.delta = Some(Delta::read(reader, chunk, &mut self.repeat_budget, edits)?);
                }
                b"text" if self.has_texts => {
                    note_once(&mut has_delta)?;
                    let is_string = reader.kind()? == ValueKind::String;
                    let span = reader.span()?;
                    choice.has_text = is_string && span.len() > EMPTY_TEXT.len();
                    if !is_string {
                        edits.replace(span, EMPTY_TEXT);
                    }
                }
                b"finish_reason" => {
                    note_once(&mut has_finish)?;
                    let kind = reader.kind()?;
                    let start = reader.position();
                    choice.finished = kind != ValueKind::Null;
                    let reason = if kind == ValueKind::String {
                        read_finish_reason(reader.string()?)
                    } else {
                        reader.skip()?;
                        FinishReason::Known
                    };
                    if reason == FinishReason::Failure {
                        return Err(BadUpstreamResponse::Unexpected("the engine gave up on a choice"));
                    }
                    choice.finish = Some((start..reader.position(), reason));
                }
                _ => reader.skip()?,
            }
            Ok::<(), BadUpstreamResponse>(())
        })?;
        if choice.index > MAX_INDEX {
            return Err(BadUpstreamResponse::Unexpected("a choice has an index above 127"));
        }
        let bit = 1_u128 << choice.index;
        let is_prompt = self.repeats_prompts && self.roles & bit == 0;
        let has_text = choice.has_text && !is_prompt || choice.delta.as_ref().is_some_and(|delta| delta.has_text);
        // Another replica can complete it. Without any text, the client would take it for a response.
        if let Some((_, FinishReason::Aborted)) = choice.finish
            && (self.transcript.is_some() || meter.completion() == 0 && !has_text)
        {
            return Err(BadUpstreamResponse::Cut("the engine aborted the response"));
        }
        if let Some(delta) = choice.delta.as_ref().filter(|delta| !delta.tool_calls.is_empty()) {
            self.called |= bit;
            self.tool_parts += delta.tool_calls.len();
            if self.tool_parts > MAX_TOOL_CALLS {
                return Err(BadUpstreamResponse::Unexpected("there are too many tool calls"));
            }
            for part in &delta.tool_calls {
                self.tool_calls.normalize(part, choice.index, chunk, edits)?;
            }
        }
        match &choice.finish {
            None => edits.insert(open + 1, &b"\"finish_reason\":null,"[..]),
            Some((span, reason)) => {
                if let Some(word) = reason.correction(self.called & bit != 0) {
                    edits.replace(span.clone(), word.as_bytes());
                }
            }
        }
        self.started |= bit;
        self.current = choice.index;
        if choice.finished {
            self.finished |= bit;
            self.last_finished = Some(choice.index);
            meter.note_response();
            self.has_news = true;
        }
        if self.has_texts {
            if !has_delta {
                edits.insert(open + 1, &b"\"text\":\"\","[..]);
            }
            if choice.has_text {
                self.roles |= bit;
            }
            if has_text {
                meter.piece(choice.index);
            }
            return Ok(());
        }
        if let Some(delta) = choice.delta.as_ref().filter(|delta| delta.has_text) {
            meter.piece(choice.index);
            self.note_text(delta, chunk, meter, edits);
        }
        let is_first = self.roles & bit == 0;
        self.roles |= bit;
        normalize_role(choice.delta, is_first, open, chunk, edits);
        Ok(())
    }

    /// Keeps the text for another replica, and drops the part of it that the client has from an earlier one.
    fn note_text(&mut self, delta: &Delta, chunk: &[u8], meter: &mut TokenMeter, edits: &mut Edits<'_>) {
        if delta.has_other_text {
            self.has_news = true;
            self.gap.clear();
            if let Some(transcript) = &mut self.transcript {
                transcript.obstruct();
            }
        }
        let Some(content) = delta.content.clone() else { return };
        if self.gap.is_empty() {
            self.has_news = true;
            if self.transcript.is_some() {
                self.new_text.extend_from_slice(&chunk[content]);
            }
            return;
        }
        let quoted = content.start - 1..content.end + 1;
        let decoded = Reader::new(&chunk[quoted.clone()]).string().map(|text| text.decoded().into_owned());
        let text = String::from_utf8_lossy(&decoded.unwrap_or_default()).into_owned();
        let rest = quote(skip_gap(&mut self.gap, &text));
        let is_repeated = rest.len() == 2;
        if is_repeated {
            meter.piece_is_repeated();
        }
        self.has_news |= !is_repeated;
        self.new_text.extend_from_slice(&rest[1..rest.len() - 1]);
        edits.replace(quoted, rest);
    }
}

/// Replaces a value with that of the first chunk, which every chunk repeats.
fn keep_first(
    first: &mut Option<Vec<u8>>,
    span: Range<usize>,
    chunk: &[u8],
    edits: &mut Edits<'_>,
) -> Result<(), BadUpstreamResponse> {
    match first {
        None if span.len() > MAX_KEPT_BYTES => {
            return Err(BadUpstreamResponse::Unexpected("a member that all chunks share is too long"));
        }
        None => *first = Some(chunk[span].to_vec()),
        Some(first) if chunk[span.clone()] != **first => edits.replace(span, first.clone()),
        Some(_) => {}
    }
    Ok(())
}
