//! `POST /v1/chat/completions`.

use super::Shared;
use super::answer::{self, Answer};
use super::chunks::{self, Head};
use super::speech::{self, Speech};
use super::stream::ChatStream;
use super::usage::Usage;
use crate::chat::{self, ChatRequest};
use crate::decode::{Event, Finish, Logprob, Progress};
use crate::loading::Work;
use crate::model::Model;
use crate::refusal::Refusal;
use crate::tools::{Said, ToolCall};
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
    let head = Head::new(request.model.clone());
    let with_logprobs = request.logprobs.is_some();
    let speeches = speeches(&request, &serving.model);
    let Some(options) = request.stream else {
        let whole = Whole::collect(&mut events, speeches, &serving.model, with_logprobs).await?;
        return Ok(answer::json(StatusCode::OK, &head.answer(&whole.choices(), &whole.usage.json())));
    };
    // What fails before the first token is an HTTP error, also for a stream.
    let first = events.recv().await.filter(|event| event.progress != Progress::Failed).ok_or(Refusal::Failed)?;
    let model = Arc::clone(&serving.model);
    Ok(answer::events(ChatStream::new(head, model, options, (speeches, with_logprobs), first, events)))
}

fn speeches(request: &ChatRequest, model: &Model) -> Vec<Speech> {
    (0..request.choices).map(|_| Speech::new(chat::reader(request, model))).collect()
}

/// The choices of an answer that is given at once.
struct Whole<'a> {
    model: &'a Model,
    with_logprobs: bool,
    choices: Vec<Choice>,
    usage: Usage,
}

struct Choice {
    speech: Speech,
    text: String,
    calls: Vec<ToolCall>,
    logprobs: Vec<Logprob>,
    finish: Option<Finish>,
}

impl Choice {
    fn new(speech: Speech) -> Self {
        Self { speech, text: String::new(), calls: Vec::new(), logprobs: Vec::new(), finish: None }
    }

    fn hear(&mut self, said: Vec<Said>) {
        for said in said {
            match said {
                Said::Text(text) => self.text.push_str(&text),
                Said::Call(call) => self.calls.push(call),
            }
        }
    }

    fn message(&self) -> Value {
        if self.calls.is_empty() {
            return json!({"role": "assistant", "content": self.text, "refusal": null});
        }
        let content = (!self.text.is_empty()).then_some(&self.text);
        let calls: Vec<Value> = self.calls.iter().map(speech::call).collect();
        json!({"role": "assistant", "content": content, "refusal": null, "tool_calls": calls})
    }
}

impl<'a> Whole<'a> {
    async fn collect(
        events: &mut mpsc::Receiver<Event>,
        speeches: Vec<Speech>,
        model: &'a Model,
        with_logprobs: bool,
    ) -> Result<Self, Refusal> {
        let usage = Usage::new(speeches.len());
        let choices = speeches.into_iter().map(Choice::new).collect();
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
        let said = choice.speech.push(text);
        choice.hear(said);
        if finish.is_some() {
            let said = choice.speech.finish();
            choice.hear(said);
        }
        choice.logprobs.extend(logprobs);
        choice.finish = finish;
        self.usage.note(event.choice, tokens);
        Ok(())
    }

    fn choices(&self) -> Value {
        let choice = |(index, choice): (usize, &Choice)| {
            json!({
                "index": index,
                "message": choice.message(),
                "logprobs": chunks::logprobs(self.model, self.with_logprobs, &choice.logprobs),
                "finish_reason": choice.finish.map(|finish| choice.speech.finish_reason(finish)),
            })
        };
        self.choices.iter().enumerate().map(choice).collect()
    }
}
