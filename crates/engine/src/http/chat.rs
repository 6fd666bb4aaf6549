//! `POST /v1/chat/completions`.

use super::Shared;
use super::choice_parser::{self, ChoiceParser};
use super::chunks::{self, ResponseHead, ResponseKind};
use super::response::{self, HttpResponse};
use super::stream::ChatStream;
use super::usage::Usage;
use crate::chat::{self, ChatRequest};
use crate::decode::{Event, FinishReason, Logprob, Progress};
use crate::error::RequestError;
use crate::loading::Workload;
use crate::model::Model;
use crate::tools::{OutputPart, ToolCall};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

pub(super) async fn complete(shared: &Arc<Shared>, body: Bytes) -> Result<HttpResponse, RequestError> {
    let preparing = Arc::clone(shared);
    let (request, mut events) = shared.preparation.run(body.len(), move || submit(&preparing, &body)).await?;
    let serving = shared.state.serving()?;
    let head = ResponseHead::new(ResponseKind::Chat, request.model.clone());
    let with_logprobs = request.logprobs.is_some();
    let parsers = parsers(&request, &serving.model);
    let Some(options) = request.stream else {
        let unary = UnaryResponse::collect(&mut events, parsers, &serving.model, with_logprobs).await?;
        return Ok(response::json(StatusCode::OK, &head.completion(&unary.choices(), &unary.usage.json())));
    };
    // A failure before the first token is an HTTP error, even for a stream.
    let first = events.recv().await.filter(|event| event.progress != Progress::Failed).ok_or(RequestError::Failed)?;
    let model = Arc::clone(&serving.model);
    Ok(response::events(ChatStream::new(head, model, options, (parsers, with_logprobs), first, events)))
}

/// Reads a request and queues its generations.
fn submit(shared: &Shared, body: &[u8]) -> Result<(ChatRequest, mpsc::Receiver<Event>), RequestError> {
    let request = ChatRequest::read(body)?;
    if request.model != shared.identity.model {
        return Err(RequestError::UnknownModel { model: request.model });
    }
    let serving = shared.state.serving()?;
    let Workload::Chat(decoder) = &serving.workload else {
        return Err(RequestError::unsupported("model", "this is an embedding model; call /v1/embeddings"));
    };
    if request.choices > decoder.max_choices() {
        let problem = format!("must be at most {}, the capacity of this engine", decoder.max_choices());
        return Err(RequestError::invalid("n", problem));
    }
    let events = decoder.submit(chat::generation_requests(&request, &serving.model)?)?;
    Ok((request, events))
}

fn parsers(request: &ChatRequest, model: &Model) -> Vec<ChoiceParser> {
    (0..request.choices).map(|_| ChoiceParser::new(chat::reader(request, model))).collect()
}

/// A response that is not streamed.
struct UnaryResponse<'a> {
    model: &'a Model,
    with_logprobs: bool,
    choices: Vec<ChoiceOutput>,
    usage: Usage,
}

struct ChoiceOutput {
    parser: ChoiceParser,
    text: String,
    calls: Vec<ToolCall>,
    logprobs: Vec<Logprob>,
    finish: Option<FinishReason>,
}

impl ChoiceOutput {
    fn new(parser: ChoiceParser) -> Self {
        Self { parser, text: String::new(), calls: Vec::new(), logprobs: Vec::new(), finish: None }
    }

    fn append(&mut self, parts: Vec<OutputPart>) {
        for part in parts {
            match part {
                OutputPart::Text(text) => self.text.push_str(&text),
                OutputPart::Call(call) => self.calls.push(call),
            }
        }
    }

    fn message(&self) -> Value {
        if self.calls.is_empty() {
            return json!({"role": "assistant", "content": self.text, "refusal": null});
        }
        let content = (!self.text.is_empty()).then_some(&self.text);
        let calls: Vec<Value> = self.calls.iter().map(choice_parser::call).collect();
        json!({"role": "assistant", "content": content, "refusal": null, "tool_calls": calls})
    }
}

impl<'a> UnaryResponse<'a> {
    async fn collect(
        events: &mut mpsc::Receiver<Event>,
        parsers: Vec<ChoiceParser>,
        model: &'a Model,
        with_logprobs: bool,
    ) -> Result<Self, RequestError> {
        let usage = Usage::new(parsers.len());
        let choices = parsers.into_iter().map(ChoiceOutput::new).collect();
        let mut unary = Self { model, with_logprobs, choices, usage };
        while unary.choices.iter().any(|choice| choice.finish.is_none()) {
            let event = events.recv().await.ok_or(RequestError::Failed)?;
            unary.apply(event)?;
        }
        Ok(unary)
    }

    fn apply(&mut self, event: Event) -> Result<(), RequestError> {
        let (text, logprobs, tokens, finish) = match event.progress {
            Progress::Piece { text, logprobs, tokens } => (text, logprobs, tokens, None),
            Progress::Finished { reason, text, logprobs, tokens } => (text, logprobs, tokens, Some(reason)),
            Progress::Scored { .. } => return Ok(()),
            Progress::Failed => return Err(RequestError::Failed),
        };
        let choice = &mut self.choices[event.choice];
        let parts = choice.parser.push(text);
        choice.append(parts);
        if finish.is_some() {
            let parts = choice.parser.finish();
            choice.append(parts);
        }
        choice.logprobs.extend(logprobs);
        choice.finish = finish;
        self.usage.update(event.choice, tokens);
        Ok(())
    }

    fn choices(&self) -> Value {
        let choice = |(index, choice): (usize, &ChoiceOutput)| {
            json!({
                "index": index,
                "message": choice.message(),
                "logprobs": chunks::logprobs(self.model, self.with_logprobs, &choice.logprobs),
                "finish_reason": choice.finish.map(|finish| choice.parser.finish_reason(finish)),
            })
        };
        self.choices.iter().enumerate().map(choice).collect()
    }
}
