//! Anthropic's Messages and OpenAI's Responses, as vLLM speaks them itself: usage arrives at the start of a message, without
//! what was generated, and at the end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::Step;
use super::chat::{CREATED, choice_tokens, chunk_count};
use super::errors;
use super::request::ChatRequest;
use super::script::{ErrorBody, Script};
use super::stream::{CUT_DELAY, in_pieces};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NativeApi {
    Messages,
    Responses,
}

/// Members of a request that affect the response.
#[derive(Deserialize)]
struct Members {
    stream: Option<bool>,
    max_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    messages: Option<Value>,
    input: Option<Value>,
}

pub(super) struct NativeCall {
    api: NativeApi,
    request: ChatRequest,
}

impl NativeCall {
    /// The error is the message of a 400.
    pub(super) fn parse(api: NativeApi, body: &[u8]) -> Result<Self, String> {
        let members: Members = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let (prompt, limit) = match api {
            NativeApi::Messages => (members.messages, Some(members.max_tokens.ok_or("max_tokens: Field required")?)),
            NativeApi::Responses => (members.input, members.max_output_tokens),
        };
        prompt.ok_or("the prompt is missing")?;
        let stream = members.stream.unwrap_or(false);
        Ok(Self { api, request: ChatRequest { stream, limit, choices: 1, ..ChatRequest::default() } })
    }

    pub(super) fn is_stream(&self) -> bool {
        self.request.stream
    }

    pub(super) fn render(&self, script: &Script) -> Bytes {
        if let Some(raw) = &script.raw_body {
            return Bytes::from(raw.clone());
        }
        let mut body = self.resource(script, true).to_string();
        if script.wrong_json {
            body.pop();
        }
        Bytes::from(body)
    }

    pub(super) fn render_stream(&self, script: &Script) -> Vec<Step> {
        let mut stream = Stream { call: self, script, steps: Vec::new(), events: 0 };
        // An error has been sent.
        let _ = stream.play();
        match script.split {
            Some(size) => in_pieces(stream.steps, size.max(1), script.chunk_delay_ms),
            None => stream.steps,
        }
    }

    /// The script with errors in the envelope of the API.
    pub(super) fn in_its_api(&self, script: Arc<Script>) -> Arc<Script> {
        if self.api == NativeApi::Messages && script.error_body == ErrorBody::Vllm {
            return Arc::new(Script { error_body: ErrorBody::Messages, ..(*script).clone() });
        }
        script
    }

    fn chunks(&self, script: &Script) -> usize {
        chunk_count(script, &self.request)
    }

    fn usage(&self, script: &Script, is_end: bool) -> Value {
        let tokens = script.completion_tokens.unwrap_or_else(|| choice_tokens(script, &self.request, 0));
        let (prompt, output) = (script.prompt_tokens, if is_end { tokens } else { 0 });
        match (self.api, script.cached_tokens) {
            (NativeApi::Messages, None) => json!({"input_tokens": prompt, "output_tokens": output}),
            (NativeApi::Messages, Some(cached)) => {
                json!({"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "output_tokens": output})
            }
            (NativeApi::Responses, cached) => json!({
                "input_tokens": prompt,
                "input_tokens_details": {"cached_tokens": cached.unwrap_or(0)},
                "output_tokens": output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": prompt + output,
            }),
        }
    }

    fn text(&self, script: &Script) -> String {
        let mut text: String = (0..self.chunks(script)).map(|chunk| script.content(chunk)).collect();
        text.push_str(&"x".repeat(script.huge_bytes));
        text
    }

    /// The message or the response, at its start or at its end.
    fn resource(&self, script: &Script, is_end: bool) -> Value {
        let mut resource = match self.api {
            NativeApi::Messages => json!({
                "id": "chatcmpl-fake",
                "type": "message",
                "role": "assistant",
                "content": if is_end { json!([{"type": "text", "text": self.text(script)}]) } else { json!([]) },
                "model": script.model,
                "stop_reason": if is_end { stop_reason(script) } else { Value::Null },
                "stop_sequence": null,
            }),
            NativeApi::Responses => json!({
                "id": "resp_fake",
                "object": "response",
                "created_at": CREATED,
                "model": script.model,
                "status": if is_end { status(script) } else { "in_progress" },
                "output": if is_end { json!([self.item(script)]) } else { json!([]) },
                "store": false,
                "usage": null,
            }),
        };
        if !script.no_usage && (is_end || self.api == NativeApi::Messages) {
            resource["usage"] = self.usage(script, is_end);
        }
        resource
    }

    fn item(&self, script: &Script) -> Value {
        let part = json!({"type": "output_text", "text": self.text(script), "annotations": []});
        json!({"id": "msg_fake", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    }
}

/// The last event is `response.completed` in any case.
fn status(script: &Script) -> &'static str {
    if script.finish_reason == "length" { "incomplete" } else { "completed" }
}

fn stop_reason(script: &Script) -> Value {
    match script.finish_reason.as_str() {
        "stop" => "end_turn".into(),
        "length" => "max_tokens".into(),
        other => other.into(),
    }
}

/// The script ended the stream early.
struct Ended;

struct Stream<'a> {
    call: &'a NativeCall,
    script: &'a Script,
    steps: Vec<Step>,
    events: u64,
}

impl Stream<'_> {
    fn play(&mut self) -> Result<(), Ended> {
        let script = self.script;
        if let Some(payloads) = &script.raw_events {
            payloads.iter().for_each(|payload| self.send("", payload));
            return Ok(());
        }
        match self.call.api {
            NativeApi::Messages => self.play_message(),
            NativeApi::Responses => self.play_response(),
        }
    }

    fn play_message(&mut self) -> Result<(), Ended> {
        let (call, script) = (self.call, self.script);
        self.event("message_start", json!({"message": call.resource(script, false)}));
        let block = json!({"type": "text", "text": ""});
        self.deltas(|stream, index, text| {
            if index == 0 {
                stream.event("content_block_start", json!({"index": 0, "content_block": block}));
            }
            let delta = json!({"type": "text_delta", "text": text});
            stream.event("content_block_delta", json!({"index": 0, "delta": delta}));
        })?;
        self.event("content_block_stop", json!({"index": 0}));
        let mut end = json!({"delta": {"stop_reason": stop_reason(script)}});
        if !script.no_usage {
            end["usage"] = call.usage(script, true);
        }
        self.event("message_delta", end);
        self.event("message_stop", json!({}));
        Ok(())
    }

    fn play_response(&mut self) -> Result<(), Ended> {
        let (call, script) = (self.call, self.script);
        for kind in ["response.created", "response.in_progress"] {
            self.event(kind, json!({"response": call.resource(script, false)}));
        }
        self.deltas(|stream, index, text| {
            if index == 0 {
                let item = json!({"id": "msg_fake", "type": "message", "role": "assistant", "content": []});
                stream.event("response.output_item.added", json!({"output_index": 0, "item": item}));
            }
            let place = json!({"item_id": "msg_fake", "output_index": 0, "content_index": 0, "delta": text});
            stream.event("response.output_text.delta", place);
        })?;
        self.event("response.output_item.done", json!({"output_index": 0, "item": call.item(script)}));
        self.event("response.completed", json!({"response": call.resource(script, true)}));
        Ok(())
    }

    /// Calls `write` for each chunk, and fails where the script says so.
    fn deltas(&mut self, write: impl Fn(&mut Self, usize, &str)) -> Result<(), Ended> {
        let (script, count) = (self.script, self.call.chunks(self.script));
        for sent in 0..=count {
            self.fail_after(sent)?;
            if sent == 1 && script.wrong_json {
                self.send("", r#"{"type":"#);
            }
            if sent == count {
                break;
            }
            if sent > 0 && script.chunk_delay_ms > 0 {
                self.steps.push(Step::Wait(Duration::from_millis(script.chunk_delay_ms)));
            }
            write(self, sent, script.content(sent));
        }
        if script.huge_bytes > 0 {
            write(self, count, &"x".repeat(script.huge_bytes));
        }
        Ok(())
    }

    fn fail_after(&mut self, sent: usize) -> Result<(), Ended> {
        let script = self.script;
        if script.error_event_after == Some(sent) {
            let message = errors::message(script, script.status.unwrap_or(500));
            match self.call.api {
                NativeApi::Messages => {
                    self.event("error", json!({"error": {"type": "internal_error", "message": message}}));
                }
                NativeApi::Responses => self.event("error", json!({"code": "server_error", "message": message})),
            }
            self.send("", "[DONE]");
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

    fn event(&mut self, kind: &str, members: Value) {
        let mut payload = json!({"type": kind});
        if self.call.api == NativeApi::Responses {
            payload["sequence_number"] = self.events.into();
        }
        if let (Value::Object(payload), Value::Object(members)) = (&mut payload, members) {
            payload.extend(members);
        }
        self.events += 1;
        self.send(kind, &payload.to_string());
    }

    fn send(&mut self, kind: &str, payload: &str) {
        let end = if self.script.crlf { "\r\n" } else { "\n" };
        let mut text = String::with_capacity(payload.len() + 64);
        if self.script.comments {
            text.push_str(&format!(": ping{end}{end}"));
        }
        if !kind.is_empty() {
            text.push_str(&format!("event: {kind}{end}"));
        }
        text.push_str(&format!("data: {payload}{end}{end}"));
        if matches!(self.steps.last(), Some(Step::Send(_))) {
            self.steps.push(Step::Flush);
        }
        self.steps.push(Step::Send(Bytes::from(text)));
    }
}
