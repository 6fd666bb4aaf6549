//! Completions of prompts: each prompt has `n` choices, and each choice the text of the script.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::Step;
use super::chat::CREATED;
use super::personality::usage;
use super::script::{MAX_CHUNKS, Script};

const RESPONSE_ID: &str = "cmpl-fake";
/// As in OpenAI's API.
const USUAL_TOKENS: usize = 16;

/// Members of a completions request that affect the response.
#[derive(Deserialize)]
pub(super) struct CompletionCall {
    prompt: Value,
    n: Option<usize>,
    max_tokens: Option<usize>,
    echo: Option<bool>,
    logprobs: Option<usize>,
    stream: Option<bool>,
    stream_options: Option<Value>,
}

impl CompletionCall {
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let call: Self = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if call.stream_options.is_some() && !call.is_stream() {
            return Err("Stream options can only be defined when `stream=True`.".to_owned());
        }
        Ok(call)
    }

    pub(super) fn is_stream(&self) -> bool {
        self.stream.unwrap_or(false)
    }

    /// The body of a unary response.
    pub(super) fn render(&self, script: &Script) -> Bytes {
        if let Some(raw) = &script.raw_body {
            return Bytes::from(raw.clone());
        }
        let choice = |index: usize| {
            let text: String = (0..self.chunks(script)).map(|chunk| script.content(chunk)).collect();
            self.choice(index, &format!("{}{text}", self.echoed(index)), &json!(script.finish_reason))
        };
        let mut response = head(script, &(0..self.choices()).map(choice).collect::<Vec<Value>>());
        if !script.no_usage {
            response["usage"] = self.usage(script);
        }
        Bytes::from(response.to_string())
    }

    /// The events of a stream.
    pub(super) fn render_stream(&self, script: &Script) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut send = |payload: &str| {
            steps.push(Step::Send(Bytes::from(format!("data: {payload}\n\n"))));
            steps.push(Step::Flush);
        };
        if let Some(payloads) = &script.raw_events {
            payloads.iter().for_each(|payload| send(payload));
        } else {
            for index in (0..self.choices()).filter(|_| self.echo.unwrap_or(false)) {
                send(&head(script, &[self.choice(index, &self.echoed(index), &Value::Null)]).to_string());
            }
            for chunk in 0..self.chunks(script) {
                for index in 0..self.choices() {
                    send(&head(script, &[self.choice(index, script.content(chunk), &Value::Null)]).to_string());
                }
            }
            for index in 0..self.choices() {
                send(&head(script, &[self.choice(index, "", &json!(script.finish_reason))]).to_string());
            }
            let wants_usage = self.stream_options.as_ref().is_some_and(|options| options["include_usage"] == true);
            if wants_usage && !script.no_usage {
                let mut last = head(script, &[]);
                last["usage"] = self.usage(script);
                send(&last.to_string());
            }
        }
        if !script.no_done {
            send("[DONE]");
        }
        steps
    }

    fn choice(&self, index: usize, text: &str, finish_reason: &Value) -> Value {
        let logprobs = self.logprobs.filter(|_| !text.is_empty()).map(
            |_| json!({"tokens": [text], "token_logprobs": [-0.5], "top_logprobs": [{text: -0.5}], "text_offset": [0]}),
        );
        json!({"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish_reason})
    }

    /// The prompt of a choice, if it is repeated.
    fn echoed(&self, choice: usize) -> String {
        let prompt = match &self.prompt {
            Value::Array(prompts) if !prompts.iter().any(Value::is_number) => &prompts[choice / self.n.unwrap_or(1)],
            one => one,
        };
        if self.echo.unwrap_or(false) { prompt.as_str().unwrap_or("tokens").to_owned() } else { String::new() }
    }

    fn prompts(&self) -> usize {
        match &self.prompt {
            Value::Array(prompts) if !prompts.iter().any(Value::is_number) => prompts.len(),
            _ => 1,
        }
    }

    fn choices(&self) -> usize {
        self.prompts() * self.n.unwrap_or(1)
    }

    fn chunks(&self, script: &Script) -> usize {
        script.chunks.min(MAX_CHUNKS).min(self.max_tokens.unwrap_or(USUAL_TOKENS))
    }

    /// The script's tokens for each prompt.
    fn usage(&self, script: &Script) -> Value {
        let script = Script { prompt_tokens: script.prompt_tokens * self.prompts() as u64, ..script.clone() };
        usage(&script, (self.chunks(&script) * self.choices()) as u64)
    }
}

fn head(script: &Script, choices: &[Value]) -> Value {
    json!({
        "id": RESPONSE_ID, "object": "text_completion", "created": CREATED, "model": script.model, "choices": choices,
    })
}
