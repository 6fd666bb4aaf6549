//! A chat answer as server-sent events, in the order that clients rely on: roles, text, ends, usage, `[DONE]`.

use super::chunks::{self, Head};
use super::error::envelope;
use super::speech::{self, Speech};
use super::usage::Usage;
use crate::chat::StreamOptions;
use crate::decode::{Event, Finish, Logprob, Progress};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::tools::Said;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

/// Turns events of the decoding thread into events for the client. Dropping it ends the answer.
pub(super) struct ChatStream {
    head: Head,
    model: Arc<Model>,
    options: StreamOptions,
    with_logprobs: bool,
    events: mpsc::Receiver<Event>,
    usage: Usage,
    choices: Vec<Choice>,
    unfinished: usize,
    ready: VecDeque<Bytes>,
    ended: bool,
}

struct Choice {
    speech: Speech,
    calls: usize,
    /// Probabilities of tokens of which nothing has been told yet.
    logprobs: Vec<Logprob>,
}

impl ChatStream {
    /// `first` is the event that showed that the answer has begun.
    pub(super) fn new(
        head: Head,
        model: Arc<Model>,
        options: StreamOptions,
        (speeches, with_logprobs): (Vec<Speech>, bool),
        first: Event,
        events: mpsc::Receiver<Event>,
    ) -> Self {
        let (usage, unfinished) = (Usage::new(speeches.len()), speeches.len());
        let choice = |speech| Choice { speech, calls: 0, logprobs: Vec::new() };
        let choices = speeches.into_iter().map(choice).collect();
        let (ready, ended) = (VecDeque::new(), false);
        let mut stream = Self { head, model, options, with_logprobs, events, usage, choices, unfinished, ready, ended };
        for index in 0..unfinished {
            stream.push(index, &json!({"role": "assistant", "content": ""}), None);
        }
        stream.take(first);
        stream
    }

    /// The bytes of the next event; `None` at the end.
    pub(super) fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(bytes));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(self.events.poll_recv(context)) {
                Some(event) => self.take(event),
                None => self.break_off(),
            }
        }
    }

    fn take(&mut self, event: Event) {
        let index = event.choice;
        match event.progress {
            Progress::Piece { text, logprobs, tokens } => {
                self.usage.note(index, tokens);
                self.tell(index, text, logprobs);
            }
            Progress::Finished { reason, text, logprobs, tokens } => {
                self.usage.note(index, tokens);
                self.tell(index, text, logprobs);
                self.end(index, reason);
            }
            Progress::Failed => self.break_off(),
        }
    }

    fn tell(&mut self, index: usize, text: String, logprobs: Vec<Logprob>) {
        self.choices[index].logprobs.extend(logprobs);
        let said = self.choices[index].speech.push(text);
        self.pass_on(index, said);
    }

    fn pass_on(&mut self, index: usize, said: Vec<Said>) {
        for said in said {
            let delta = match said {
                Said::Text(text) => json!({"content": text}),
                Said::Call(call) => {
                    let mut record = speech::call(&call);
                    record["index"] = self.choices[index].calls.into();
                    self.choices[index].calls += 1;
                    json!({"tool_calls": [record]})
                }
            };
            self.push(index, &delta, None);
        }
    }

    fn end(&mut self, index: usize, reason: Finish) {
        let said = self.choices[index].speech.finish();
        self.pass_on(index, said);
        if !self.choices[index].logprobs.is_empty() {
            self.push(index, &json!({"content": ""}), None);
        }
        let reason = self.choices[index].speech.finish_reason(reason);
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
            (true, true) => Some(self.usage.json()),
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

    /// A stream that broke tells so, and never says that it is done.
    fn break_off(&mut self) {
        self.ready.push_back(chunks::event(&envelope(&Refusal::Failed)));
        self.ended = true;
    }
}
