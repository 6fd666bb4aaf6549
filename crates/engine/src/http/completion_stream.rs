//! Completions as server-sent events: the prompts if they are echoed, text, finish reasons, usage, `[DONE]`.

use super::chunks::{self, ResponseHead};
use super::error::envelope;
use super::response::EventStream;
use super::text_choice::{TextLogprobs, TextOptions, choice};
use super::usage::Usage;
use crate::chat::StreamOptions;
use crate::decode::{Event, FinishReason, Logprob, Progress};
use crate::error::RequestError;
use crate::model::Model;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

/// Converts events of the decoding thread into events for the client.
pub(super) struct CompletionStream {
    head: ResponseHead,
    model: Arc<Model>,
    stream: StreamOptions,
    options: TextOptions,
    events: mpsc::Receiver<Event>,
    usage: Usage,
    logprobs: Vec<TextLogprobs>,
    unfinished: usize,
    ready: VecDeque<Bytes>,
    ended: bool,
}

impl CompletionStream {
    /// `first` is the event that showed that generation has started.
    pub(super) fn new(
        head: ResponseHead,
        model: Arc<Model>,
        stream: StreamOptions,
        options: TextOptions,
        first: Event,
        events: mpsc::Receiver<Event>,
    ) -> Self {
        let unfinished = options.all_choices();
        let usage = Usage::of_prompts(options.prompts, options.choices);
        let logprobs = (0..unfinished).map(|_| TextLogprobs::default()).collect();
        let (ready, ended) = (VecDeque::new(), false);
        let mut this = Self { head, model, stream, options, events, usage, logprobs, unfinished, ready, ended };
        if !this.options.with_logprobs {
            for index in 0..unfinished {
                this.push_echo(index, &[]);
            }
        }
        this.apply(first);
        this
    }

    fn apply(&mut self, event: Event) {
        let index = event.choice;
        match event.progress {
            Progress::Scored { logprobs } => self.push_echo(index, &logprobs),
            Progress::Piece { text, logprobs, tokens } => {
                self.usage.update(index, tokens);
                self.push_text(index, &text, &logprobs, None);
            }
            Progress::Finished { reason, text, logprobs, tokens } => {
                self.usage.update(index, tokens);
                self.push_text(index, &text, &logprobs, Some(reason));
                self.unfinished -= 1;
                if self.unfinished == 0 {
                    self.finish();
                }
            }
            Progress::Failed => self.fail(),
        }
    }

    fn push_echo(&mut self, index: usize, logprobs: &[Logprob]) {
        let Some(echo) = self.options.echo(index).cloned() else { return };
        if self.options.with_logprobs {
            self.logprobs[index].add_prompt(&echo, logprobs, &self.model);
        }
        self.push_text(index, &echo.text, &[], None);
    }

    fn push_text(&mut self, index: usize, text: &str, logprobs: &[Logprob], finish: Option<FinishReason>) {
        let waiting = &mut self.logprobs[index];
        waiting.add(logprobs, &self.model);
        let is_shown = self.options.with_logprobs && !waiting.is_empty();
        let logprobs = if is_shown { waiting.take() } else { Value::Null };
        let usage = match (self.stream.include_usage, self.stream.continuous_usage) {
            (false, _) => None,
            (true, false) => Some(Value::Null),
            (true, true) => Some(self.usage.json_of(index)),
        };
        self.ready.push_back(self.head.chunk(&json!([choice(index, text, &logprobs, finish)]), usage));
    }

    fn finish(&mut self) {
        if self.stream.include_usage {
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

impl EventStream for CompletionStream {
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
