//! `POST /v1/completions`.

use super::Shared;
use super::chunks::{ResponseHead, ResponseKind};
use super::completion_stream::CompletionStream;
use super::response::{self, HttpResponse};
use super::text_choice::{TextLogprobs, TextOptions, choice};
use super::usage::Usage;
use crate::completion::{self, CompletionRequest};
use crate::decode::{Event, FinishReason, Progress};
use crate::error::RequestError;
use crate::loading::Workload;
use crate::model::Model;
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;

pub(super) async fn complete(shared: &Arc<Shared>, body: Bytes) -> Result<HttpResponse, RequestError> {
    let preparing = Arc::clone(shared);
    let submitted = shared.preparation.run(body.len(), move || submit(&preparing, &body)).await?;
    let Submitted { request, options, mut events } = submitted;
    let serving = shared.state.serving()?;
    let head = ResponseHead::new(ResponseKind::Completion, request.model.clone());
    let Some(stream) = request.stream else {
        let mut texts = UnaryTexts::collect(&mut events, &options, &serving.model).await?;
        let choices = texts.choices();
        return Ok(response::json(StatusCode::OK, &head.completion(&choices, &texts.usage.json())));
    };
    // A failure before the first token is an HTTP error, even for a stream.
    let first = events.recv().await.filter(|event| event.progress != Progress::Failed).ok_or(RequestError::Failed)?;
    let model = Arc::clone(&serving.model);
    Ok(response::events(CompletionStream::new(head, model, stream, options, first, events)))
}

struct Submitted {
    request: CompletionRequest,
    options: TextOptions,
    events: mpsc::Receiver<Event>,
}

/// Reads a request and queues its generations.
fn submit(shared: &Shared, body: &[u8]) -> Result<Submitted, RequestError> {
    let request = CompletionRequest::read(body)?;
    if request.model != shared.identity.model {
        return Err(RequestError::UnknownModel { model: request.model });
    }
    let serving = shared.state.serving()?;
    let Workload::Chat(decoder) = &serving.workload else {
        return Err(RequestError::unsupported("model", "this is an embedding model; call /v1/embeddings"));
    };
    let most = decoder.max_choices();
    if request.prompts.len() * request.choices > most {
        let param = if request.choices > 1 { "n" } else { "prompt" };
        let problem = format!("makes more than {most} choices over all prompts, the capacity of this engine");
        return Err(RequestError::invalid(param, problem));
    }
    let prompts = completion::prompts(&request, &serving.model)?;
    let events = decoder.submit(completion::generation_requests(&request, &prompts, &serving.model)?)?;
    let options = TextOptions::new(&request, &prompts, &serving.model);
    Ok(Submitted { request, options, events })
}

/// A response that is not streamed.
struct UnaryTexts<'a> {
    model: &'a Model,
    options: &'a TextOptions,
    texts: Vec<TextOutput>,
    usage: Usage,
}

#[derive(Default)]
struct TextOutput {
    text: String,
    logprobs: TextLogprobs,
    finish: Option<FinishReason>,
}

impl<'a> UnaryTexts<'a> {
    async fn collect(
        events: &mut mpsc::Receiver<Event>,
        options: &'a TextOptions,
        model: &'a Model,
    ) -> Result<Self, RequestError> {
        let output = |index| TextOutput {
            text: options.echo(index).map(|echo| echo.text.clone()).unwrap_or_default(),
            ..TextOutput::default()
        };
        let texts = (0..options.all_choices()).map(output).collect();
        let usage = Usage::of_prompts(options.prompts, options.choices);
        let mut unary = Self { model, options, texts, usage };
        while unary.texts.iter().any(|text| text.finish.is_none()) {
            let event = events.recv().await.ok_or(RequestError::Failed)?;
            unary.apply(event)?;
        }
        Ok(unary)
    }

    fn apply(&mut self, Event { choice, progress }: Event) -> Result<(), RequestError> {
        let output = &mut self.texts[choice];
        let (text, logprobs, tokens, finish) = match progress {
            Progress::Scored { logprobs } => {
                if let Some(echo) = self.options.echo(choice) {
                    output.logprobs.add_prompt(echo, &logprobs, self.model);
                }
                return Ok(());
            }
            Progress::Piece { text, logprobs, tokens } => (text, logprobs, tokens, None),
            Progress::Finished { reason, text, logprobs, tokens } => (text, logprobs, tokens, Some(reason)),
            Progress::Failed => return Err(RequestError::Failed),
        };
        output.text.push_str(&text);
        output.logprobs.add(&logprobs, self.model);
        output.finish = finish;
        self.usage.update(choice, tokens);
        Ok(())
    }

    fn choices(&mut self) -> Value {
        let with_logprobs = self.options.with_logprobs;
        let write = |(index, output): (usize, &mut TextOutput)| {
            let logprobs = if with_logprobs { output.logprobs.take() } else { Value::Null };
            choice(index, &output.text, &logprobs, output.finish)
        };
        self.texts.iter_mut().enumerate().map(write).collect()
    }
}
