//! Streamed chat responses: a list of steps with one flushed write per event.

use std::time::Duration;

use bytes::Bytes;

use super::body::Step;
use super::chat::{CREATED, RESPONSE_ID, choice_chunks, choice_tokens, chunk_count, completion_tokens};
use super::errors;
use super::personality::{Personality, Place, running_usage, timings, usage};
use super::request::ChatRequest;
use super::script::Script;

/// Delay before the connection is cut, so that sent bytes can leave.
pub(super) const CUT_DELAY: Duration = Duration::from_millis(5);

/// Renders the steps of a stream.
pub(super) fn render(script: &Script, request: &ChatRequest) -> Vec<Step> {
    let mut stream = Stream::new(script, request);
    if stream.play().is_ok() && !script.no_done {
        stream.event("[DONE]");
    }
    match script.split {
        Some(size) => in_pieces(stream.steps, size.max(1), script.chunk_delay_ms),
        None => stream.steps,
    }
}

/// The script ended the stream early.
struct Ended;

struct Stream<'a> {
    script: &'a Script,
    request: &'a ChatRequest,
    steps: Vec<Step>,
    /// Model name as JSON.
    model: String,
    /// Number of chunks so far, for `created_per_chunk`.
    chunks: u64,
    events: u64,
}

impl<'a> Stream<'a> {
    fn new(script: &'a Script, request: &'a ChatRequest) -> Self {
        let steps = Vec::with_capacity(2 * chunk_count(script, request) + 12);
        Self { script, request, steps, model: json_text(&script.model), chunks: 0, events: 0 }
    }

    fn play(&mut self) -> Result<(), Ended> {
        let script = self.script;
        if let Some(payloads) = &script.raw_events {
            payloads.iter().for_each(|payload| self.event(payload));
            return Ok(());
        }
        if script.engine.sends_roles_first() {
            (0..self.request.choices).for_each(|index| self.role(index));
        }
        self.content()?;
        let apart = script.engine.ends_choices_apart();
        let says_nothing = chunk_count(script, self.request) == 0;
        if apart && says_nothing {
            (0..self.request.choices).for_each(|index| self.role(index));
        }
        if !apart || says_nothing {
            for index in 0..self.request.choices {
                if !self.ends_with_text(index) {
                    self.finish(index);
                }
            }
        }
        let requested = self.request.include_usage && !script.usage_on_last_content_chunk && !apart;
        if !script.no_usage && (requested || script.usage_every_chunk) {
            let usage = usage(script, completion_tokens(script, self.request)).to_string();
            self.chunk("", &usage);
        }
        Ok(())
    }

    fn content(&mut self) -> Result<(), Ended> {
        let script = self.script;
        let count = chunk_count(script, self.request);
        for sent in 0..=count {
            self.fail_after(sent)?;
            if sent == 1 && script.wrong_json {
                self.event(r#"{"id":"chatcmpl-fake","choices":[{"#);
            }
            if sent == count {
                break;
            }
            if sent > 0 && script.chunk_delay_ms > 0 {
                self.steps.push(Step::Wait(Duration::from_millis(script.chunk_delay_ms)));
            }
            for index in 0..self.request.choices {
                self.content_chunk(index, sent);
            }
        }
        if script.huge_bytes > 0 {
            let delta = format!(r#""content":"{}""#, "x".repeat(script.huge_bytes));
            for index in 0..self.request.choices {
                let tokens = choice_tokens(script, self.request, index);
                self.choice_chunk(index, &delta, "null", Place::Content, tokens);
            }
        }
        Ok(())
    }

    fn content_chunk(&mut self, index: usize, sent: usize) {
        let script = self.script;
        let count = choice_chunks(script, self.request, index);
        if sent == 0 && !script.engine.sends_roles_first() {
            self.role(index);
        }
        if sent < count {
            let delta = format!(r#""content":{}"#, json_text(script.content(sent)));
            let is_end = sent + 1 == count;
            if script.usage_on_last_content_chunk && is_end && index + 1 == self.request.choices {
                let usage = usage(script, completion_tokens(script, self.request)).to_string();
                self.chunk(&self.choice(index, &delta, "null"), &usage);
            } else if is_end && self.ends_with_text(index) {
                let finish_reason = json_text(&script.finish_reason);
                self.choice_chunk(index, &delta, &finish_reason, Place::Finish, self.tokens_at_end(index));
            } else {
                self.choice_chunk(index, &delta, "null", Place::Content, sent as u64 + 1);
            }
        }
        if script.engine.ends_choices_apart() && sent + 1 == count.max(1) {
            self.finish(index);
        }
    }

    fn role(&mut self, index: usize) {
        if !self.script.no_role {
            let delta = format!(r#""role":"assistant","content":{}"#, self.script.engine.first_content());
            self.choice_chunk(index, &delta, "null", Place::Role, 0);
        }
    }

    fn finish(&mut self, index: usize) {
        let script = self.script;
        let tokens = self.tokens_at_end(index);
        let finish_reason = json_text(&script.finish_reason);
        self.choice_chunk(index, "", &finish_reason, Place::Finish, tokens);
        if script.engine.ends_choices_apart() && self.request.include_usage && !script.no_usage {
            let usage = format!("{},\"timings\":{}", usage(script, tokens), timings(script, tokens));
            self.chunk("", &usage);
        }
    }

    /// Whether the chunk with the last text of a choice also ends it.
    fn ends_with_text(&self, index: usize) -> bool {
        let script = self.script;
        let has_more = script.huge_bytes > 0 || script.usage_on_last_content_chunk;
        script.engine.ends_with_text(&script.finish_reason)
            && !has_more
            && choice_chunks(script, self.request, index) > 0
    }

    fn tokens_at_end(&self, index: usize) -> u64 {
        match self.request.choices {
            1 => completion_tokens(self.script, self.request),
            _ => choice_tokens(self.script, self.request, index),
        }
    }

    fn fail_after(&mut self, sent: usize) -> Result<(), Ended> {
        let script = self.script;
        if script.error_event_after == Some(sent) {
            self.event(&errors::event(script));
            self.event("[DONE]");
            return Err(Ended);
        }
        if script.cut_after == Some(sent) {
            self.steps.extend([Step::Wait(CUT_DELAY), Step::Cut]);
            return Err(Ended);
        }
        if script.stall_after == Some(sent) {
            self.steps.push(Step::Stall);
            return Err(Ended);
        }
        Ok(())
    }

    /// A chunk of one choice, with the usage that belongs there if the choice has this many tokens so far.
    fn choice_chunk(&mut self, index: usize, delta: &str, finish_reason: &str, place: Place, tokens: u64) {
        let (script, request) = (self.script, self.request);
        let requested = request.continuous_usage && script.engine.has_running_usage(place);
        let null = request.include_usage && (script.usage_null || script.engine.sends_null());
        let usage = match ((requested || script.usage_every_chunk) && !script.no_usage, null) {
            (true, _) => running_usage(script, tokens).to_string(),
            (false, true) => "null".to_owned(),
            (false, false) => String::new(),
        };
        self.chunk(&self.choice(index, delta, finish_reason), &usage);
    }

    fn choice(&self, index: usize, delta: &str, finish_reason: &str) -> String {
        match self.script.engine {
            Personality::LlamaServer => {
                format!(r#"{{"finish_reason":{finish_reason},"index":{index},"delta":{{{delta}}}}}"#)
            }
            Personality::Vllm | Personality::Sglang | Personality::ForebayEngine => {
                format!(r#"{{"index":{index},"delta":{{{delta}}},"logprobs":null,"finish_reason":{finish_reason}}}"#)
            }
        }
    }

    fn chunk(&mut self, choices: &str, usage: &str) {
        let created = CREATED + if self.script.created_per_chunk { self.chunks } else { 0 };
        self.chunks += 1;
        let model = &self.model;
        let usage = if usage.is_empty() { String::new() } else { format!(r#","usage":{usage}"#) };
        let event = match self.script.engine {
            Personality::LlamaServer => format!(
                r#"{{"choices":[{choices}],"created":{created},"id":"{RESPONSE_ID}","model":{model},"object":"chat.completion.chunk"{usage}}}"#
            ),
            Personality::Vllm | Personality::Sglang | Personality::ForebayEngine => format!(
                r#"{{"id":"{RESPONSE_ID}","object":"chat.completion.chunk","created":{created},"model":{model},"choices":[{choices}]{usage}}}"#
            ),
        };
        self.event(&event);
    }

    fn event(&mut self, payload: &str) {
        let script = self.script;
        let end = if script.crlf { "\r\n" } else { "\n" };
        let mut text = String::with_capacity(payload.len() + 10);
        if script.comments {
            text.push_str(&format!(": ping{end}{end}"));
        }
        if script.event_lines {
            let data = if self.events.is_multiple_of(2) { String::new() } else { format!("data: {{}}{end}") };
            text.push_str(&format!("event: ping{end}{data}{end}"));
        }
        if script.id_lines {
            text.push_str(&format!("id: {}{end}", self.events));
        }
        text.push_str("data: ");
        text.push_str(payload);
        text.push_str(end);
        text.push_str(end);
        self.events += 1;
        if matches!(self.steps.last(), Some(Step::Send(_))) {
            self.steps.push(Step::Flush);
        }
        self.steps.push(Step::Send(Bytes::from(text)));
    }
}

/// Splits the bytes into pieces regardless of events; keeps how the stream ends.
pub(super) fn in_pieces(steps: Vec<Step>, size: usize, delay_ms: u64) -> Vec<Step> {
    let mut bytes = Vec::new();
    let mut ending = Vec::new();
    for step in steps {
        match step {
            Step::Send(part) => bytes.extend_from_slice(&part),
            Step::Stall => ending.push(Step::Stall),
            Step::Cut => ending.extend([Step::Wait(CUT_DELAY), Step::Cut]),
            Step::Flush | Step::Wait(_) => {}
        }
    }
    let bytes = Bytes::from(bytes);
    let pause = if delay_ms > 0 { Step::Wait(Duration::from_millis(delay_ms)) } else { Step::Flush };
    let mut pieces = Vec::new();
    for start in (0..bytes.len()).step_by(size) {
        if start > 0 {
            pieces.push(pause.clone());
        }
        pieces.push(Step::Send(bytes.slice(start..bytes.len().min(start + size))));
    }
    pieces.extend(ending);
    pieces
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
