//! `POST /v1/chat/completions`.

use super::Shared;
use super::answer::{self, Answer};
use super::chunks::{self, Head};
use super::stream::ChatStream;
use super::usage::Usage;
use crate::chat::{self, ChatRequest};
use crate::decode::{Event, Finish, Logprob, Progress};
use crate::loading::Work;
use crate::model::Model;
use crate::refusal::Refusal;
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

pub(super) async fn complete(shared: &Shared, body: &[u8]) -> Result<Answer, Refusal> {
    let request = ChatRequest::read(body)?;
    if request.model != shared.identity.model {
        return Err(Refusal::UnknownModel { model: request.model });
    }
    let serving = shared.stage.serving()?;
    let Work::Chat(decoder) = &serving.work else {
        return Err(Refusal::unsupported("model", "this model makes embeddings, at /v1/embeddings"));
    };
    if request.choices > decoder.most_choices() {
        let problem = format!("must be at most {}, the places of this engine", decoder.most_choices());
        return Err(Refusal::invalid("n", problem));
    }
    let mut events = decoder.submit(chat::orders(&request, &serving.model)?)?;
    let head = Head::new(request.model);
    let (choices, with_logprobs) = (request.choices, request.logprobs.is_some());
    let Some(options) = request.stream else {
        let whole = Whole::collect(&mut events, choices, &serving.model, with_logprobs).await?;
        return Ok(answer::json(StatusCode::OK, &head.answer(&whole.choices(), &whole.usage.json())));
    };
    // What fails before the first token is an HTTP error, also for a stream.
    let first = events.recv().await.filter(|event| event.progress != Progress::Failed).ok_or(Refusal::Failed)?;
    let model = Arc::clone(&serving.model);
    Ok(answer::events(ChatStream::new(head, model, options, (choices, with_logprobs), first, events)))
}

/// The choices of an answer that is given at once.
struct Whole<'a> {
    model: &'a Model,
    with_logprobs: bool,
    choices: Vec<Choice>,
    usage: Usage,
}

#[derive(Default)]
struct Choice {
    text: String,
    logprobs: Vec<Logprob>,
    finish: Option<Finish>,
}

impl<'a> Whole<'a> {
    async fn collect(
        events: &mut mpsc::Receiver<Event>,
        choices: usize,
        model: &'a Model,
        with_logprobs: bool,
    ) -> Result<Self, Refusal> {
        let usage = Usage::new(choices);
        let choices = (0..choices).map(|_| Choice::default()).collect();
        let mut whole = Self { model, with_logprobs, choices, usage };
        while whole.choices.iter().any(|choice| choice.finish.is_none()) {
            let event = events.recv().await.ok_or(Refusal::Failed)?;
            whole.take(event)?;
        }
        Ok(whole)
    }

    fn take(&mut self, event: Event) -> Result<(), Refusal> {
        let (text, logprobs, tokens, finish) = match event.progress {
            Progress::Piece { text, logprobs, tokens } => (text, logprobs, tokens, None),
            Progress::Finished { reason, text, logprobs, tokens } => (text, logprobs, tokens, Some(reason)),
            Progress::Failed => return Err(Refusal::Failed),
        };
        let choice = &mut self.choices[event.choice];
        choice.text.push_str(&text);
        choice.logprobs.extend(logprobs);
        choice.finish = finish;
        self.usage.note(event.choice, tokens);
        Ok(())
    }

    fn choices(&self) -> Value {
        let choice = |(index, choice): (usize, &Choice)| {
            json!({
                "index": index,
                "message": {"role": "assistant", "content": choice.text, "refusal": null},
                "logprobs": chunks::logprobs(self.model, self.with_logprobs, &choice.logprobs),
                "finish_reason": choice.finish.map(chunks::finish_reason),
            })
        };
        self.choices.iter().enumerate().map(choice).collect()
    }
}
