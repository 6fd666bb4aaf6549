//! A chat answer as server-sent events, in the order that clients rely on: roles, text, ends, usage, `[DONE]`.

use super::chunks::{self, Head};
use super::error::envelope;
use super::usage::Usage;
use crate::chat::StreamOptions;
use crate::decode::{Event, Finish, Logprob, Progress};
use crate::model::Model;
use crate::refusal::Refusal;
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
    unfinished: usize,
    ready: VecDeque<Bytes>,
    ended: bool,
}

impl ChatStream {
    /// `first` is the event that showed that the answer has begun.
    pub(super) fn new(
        head: Head,
        model: Arc<Model>,
        options: StreamOptions,
        (choices, with_logprobs): (usize, bool),
        first: Event,
        events: mpsc::Receiver<Event>,
    ) -> Self {
        let usage = Usage::new(choices);
        let (ready, ended) = (VecDeque::new(), false);
        let mut stream = Self { head, model, options, with_logprobs, events, usage, unfinished: choices, ready, ended };
        for index in 0..choices {
            stream.push(index, &json!({"role": "assistant", "content": ""}), &[], None);
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
                self.push(index, &json!({"content": text}), &logprobs, None);
            }
            Progress::Finished { reason, text, logprobs, tokens } => {
                self.usage.note(index, tokens);
                if !text.is_empty() || !logprobs.is_empty() {
                    self.push(index, &json!({"content": text}), &logprobs, None);
                }
                self.push(index, &json!({}), &[], Some(reason));
                self.unfinished -= 1;
                if self.unfinished == 0 {
                    self.finish();
                }
            }
            Progress::Failed => self.break_off(),
        }
    }

    fn push(&mut self, index: usize, delta: &Value, logprobs: &[Logprob], finish: Option<Finish>) {
        let logprobs = chunks::logprobs(&self.model, self.with_logprobs && !logprobs.is_empty(), logprobs);
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
