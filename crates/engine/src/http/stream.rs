//! Chat response as server-sent events, in the order that clients rely on: roles, text, finish reasons, usage, `[DONE]`.

use super::choice_parser::{self, ChoiceParser};
use super::chunks::{self, ResponseHead};
use super::error::envelope;
use super::response::EventStream;
use super::usage::Usage;
use crate::chat::StreamOptions;
use crate::decode::{Event, FinishReason, Logprob, Progress};
use crate::error::RequestError;
use crate::model::Model;
use crate::tools::OutputPart;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

/// Converts events of the decoding thread into events for the client. Dropping it cancels the generation.
pub(super) struct ChatStream {
    head: ResponseHead,
    model: Arc<Model>,
    options: StreamOptions,
    with_logprobs: bool,
    events: mpsc::Receiver<Event>,
    usage: Usage,
    choices: Vec<StreamChoice>,
    unfinished: usize,
    ready: VecDeque<Bytes>,
    ended: bool,
}

struct StreamChoice {
    parser: ChoiceParser,
    calls: usize,
    /// Log probabilities that have not been sent yet.
    logprobs: Vec<Logprob>,
}

impl ChatStream {
    /// `first` is the event that showed that generation has started.
    pub(super) fn new(
        head: ResponseHead,
        model: Arc<Model>,
        options: StreamOptions,
        (parsers, with_logprobs): (Vec<ChoiceParser>, bool),
        first: Event,
        events: mpsc::Receiver<Event>,
    ) -> Self {
        let (usage, unfinished) = (Usage::new(parsers.len()), parsers.len());
        let choice = |parser| StreamChoice { parser, calls: 0, logprobs: Vec::new() };
        let choices = parsers.into_iter().map(choice).collect();
        let (ready, ended) = (VecDeque::new(), false);
        let mut stream = Self { head, model, options, with_logprobs, events, usage, choices, unfinished, ready, ended };
        for index in 0..unfinished {
            stream.push(index, &json!({"role": "assistant", "content": ""}), None);
        }
        stream.apply(first);
        stream
    }
}

impl EventStream for ChatStream {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(bytes));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(self.events.poll_recv(context)) {
                Some(event) => self.apply(event),
                None => self.fail(),
            }
        }
    }
}

impl ChatStream {
    fn apply(&mut self, event: Event) {
        let index = event.choice;
        match event.progress {
            Progress::Piece { text, logprobs, tokens } => {
                self.usage.update(index, tokens);
                self.push_text(index, text, logprobs);
            }
            Progress::Finished { reason, text, logprobs, tokens } => {
                self.usage.update(index, tokens);
                self.push_text(index, text, logprobs);
                self.end(index, reason);
            }
            Progress::Scored { .. } => {}
            Progress::Failed => self.fail(),
        }
    }

    fn push_text(&mut self, index: usize, text: String, logprobs: Vec<Logprob>) {
        self.choices[index].logprobs.extend(logprobs);
        let parts = self.choices[index].parser.push(text);
        self.push_parts(index, parts);
    }

    fn push_parts(&mut self, index: usize, parts: Vec<OutputPart>) {
        for part in parts {
            let delta = match part {
                OutputPart::Text(text) => json!({"content": text}),
                OutputPart::Call(call) => {
                    let mut record = choice_parser::call(&call);
                    record["index"] = self.choices[index].calls.into();
                    self.choices[index].calls += 1;
                    json!({"tool_calls": [record]})
                }
            };
            self.push(index, &delta, None);
        }
    }

    fn end(&mut self, index: usize, reason: FinishReason) {
        let parts = self.choices[index].parser.finish();
        self.push_parts(index, parts);
        if !self.choices[index].logprobs.is_empty() {
            self.push(index, &json!({"content": ""}), None);
        }
        let reason = self.choices[index].parser.finish_reason(reason);
        self.push(index, &json!({}), Some(reason));
        self.unfinished -= 1;
        if self.unfinished == 0 {
            self.finish();
        }
    }

    fn push(&mut self, index: usize, delta: &Value, finish: Option<&str>) {
        let logprobs = std::mem::take(&mut self.choices[index].logprobs);
        let logprobs = chunks::logprobs(&self.model, self.with_logprobs && !logprobs.is_empty(), &logprobs);
        let usage = match (self.options.include_usage, self.options.continuous_usage) {
            (false, _) => None,
            (true, false) => Some(Value::Null),
            (true, true) => Some(self.usage.json_of(index)),
        };
        self.ready.push_back(self.head.chunk(&chunks::delta(index, delta, &logprobs, finish), usage));
    }

    fn finish(&mut self) {
        if self.options.include_usage {
            self.ready.push_back(self.head.chunk(&json!([]), Some(self.usage.json())));
        }
        self.ready.push_back(Bytes::from_static(b"data: [DONE]\n\n"));
        self.ended = true;
    }

    /// Ends the stream with an error event and without `[DONE]`.
    fn fail(&mut self) {
        self.ready.push_back(chunks::event(&envelope(&RequestError::Failed)));
        self.ended = true;
    }
}
