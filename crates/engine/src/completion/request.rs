//! Parses and validates a completions request.

use crate::chat::{StreamOptions, count, object, sampling, stops, stream};
use crate::decode::Salt;
use crate::error::RequestError;
use crate::members::Members;
use crate::sampling::Sampling;
use serde_json::Value;

const MAX_PROMPTS: usize = 2048;
const MAX_CHOICES: i64 = 128;
const MAX_LOGPROBS: i64 = 20;
/// As in OpenAI's API.
const USUAL_TOKENS: usize = 16;

/// A prompt as the client sent it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    Text(String),
    Tokens(Vec<i32>),
}

/// A valid completions request. Whether it fits the context is checked later.
#[derive(Debug, PartialEq)]
pub(crate) struct CompletionRequest {
    pub model: String,
    pub prompts: Vec<Prompt>,
    /// Text after the completion, which fills in what is between.
    pub suffix: Option<String>,
    /// Only calls with the same salt share cached prefixes.
    pub cache_salt: Salt,
    pub sampling: Sampling,
    pub stops: Vec<String>,
    pub max_tokens: usize,
    /// Choices per prompt.
    pub choices: usize,
    /// Number of top alternatives per token; `None` disables log probabilities.
    pub logprobs: Option<usize>,
    /// The text begins with the prompt.
    pub echo: bool,
    /// `None` for a response that is not streamed.
    pub stream: Option<StreamOptions>,
}

impl CompletionRequest {
    pub(crate) fn read(body: &[u8]) -> Result<Self, RequestError> {
        let body = object(body)?;
        let members = Members::new(&body);
        let model = members.text("model")?.ok_or_else(|| RequestError::Missing { param: "model".to_owned() })?;
        let request = Self {
            model: model.to_owned(),
            prompts: prompts(members)?,
            suffix: members.text("suffix")?.filter(|suffix| !suffix.is_empty()).map(str::to_owned),
            cache_salt: members.text("cache_salt")?.map(Into::into),
            sampling: sampling(members)?,
            stops: stops(members)?,
            max_tokens: max_tokens(members)?,
            choices: count(members, "n", MAX_CHOICES)?.unwrap_or(1),
            logprobs: members.integer("logprobs", 0..=MAX_LOGPROBS)?.and_then(|count| usize::try_from(count).ok()),
            echo: members.flag("echo")?,
            stream: stream(members)?,
        };
        if count(members, "best_of", MAX_CHOICES)?.is_some_and(|best_of| best_of != request.choices) {
            return Err(RequestError::unsupported("best_of", "all choices are returned"));
        }
        if request.suffix.is_some() && request.echo {
            return Err(RequestError::unsupported("echo", "text that is filled in does not follow its prompt"));
        }
        if request.sampling.min_tokens > request.max_tokens {
            return Err(RequestError::invalid("min_tokens", "must not be greater than the maximum number of tokens"));
        }
        Ok(request)
    }

    /// Whether the tokens of prompts get log probabilities.
    pub(crate) fn scores_prompts(&self) -> bool {
        self.echo && self.logprobs.is_some()
    }
}

fn max_tokens(members: Members<'_>) -> Result<usize, RequestError> {
    let old = members.integer("max_tokens", 0..=i64::MAX)?;
    let limit = members.integer("max_completion_tokens", 1..=i64::MAX)?.or(old);
    Ok(limit.map_or(USUAL_TOKENS, |limit| usize::try_from(limit).unwrap_or(usize::MAX)))
}

/// A text, texts, one list of token ids, or several.
fn prompts(members: Members<'_>) -> Result<Vec<Prompt>, RequestError> {
    match members.required("prompt")? {
        Value::String(text) => Ok(vec![Prompt::Text(text.clone())]),
        Value::Array(list) if list.first().is_some_and(Value::is_number) => {
            Ok(vec![Prompt::Tokens(token_ids(list, "prompt", members)?)])
        }
        Value::Array(list) if (1..=MAX_PROMPTS).contains(&list.len()) => {
            let prompt = |(index, value): (usize, &Value)| match value {
                Value::String(text) => Ok(Prompt::Text(text.clone())),
                Value::Array(ids) if !ids.is_empty() => {
                    Ok(Prompt::Tokens(token_ids(ids, &format!("prompt[{index}]"), members)?))
                }
                _ => Err(members.invalid(&format!("prompt[{index}]"), "must be a text or a list of token ids")),
            };
            list.iter().enumerate().map(prompt).collect()
        }
        _ => Err(members.invalid("prompt", format!("must be a text, token ids, or 1 to {MAX_PROMPTS} of either"))),
    }
}

pub(crate) fn token_ids(ids: &[Value], path: &str, members: Members<'_>) -> Result<Vec<i32>, RequestError> {
    let id = |(index, id): (usize, &Value)| {
        let number = id.as_i64().and_then(|number| i32::try_from(number).ok());
        number.ok_or_else(|| members.invalid(&format!("{path}[{index}]"), "must be a token id"))
    };
    ids.iter().enumerate().map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(members: &Value) -> Result<CompletionRequest, RequestError> {
        let mut body = json!({"model": "m", "prompt": "hi"});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        CompletionRequest::read(body.to_string().as_bytes())
    }

    #[test]
    fn prompts_are_texts_or_token_ids() {
        let prompts = |prompt: Value| read(&json!({"prompt": prompt})).map(|request| request.prompts);
        assert_eq!(prompts(json!("a")), Ok(vec![Prompt::Text("a".into())]));
        assert_eq!(prompts(json!([1, 2])), Ok(vec![Prompt::Tokens(vec![1, 2])]));
        assert_eq!(prompts(json!([[1], [2]])), Ok(vec![Prompt::Tokens(vec![1]), Prompt::Tokens(vec![2])]));
        for (bad, param) in [(json!([]), "prompt"), (json!(["a", 1]), "prompt[1]"), (json!([1, "a"]), "prompt[1]")] {
            assert_eq!(prompts(bad).unwrap_err().param(), param);
        }
    }

    #[test]
    fn what_cannot_be_done_is_rejected() {
        assert_eq!(read(&json!({})).unwrap().max_tokens, USUAL_TOKENS);
        assert_eq!(read(&json!({"max_tokens": 0, "echo": true, "logprobs": 5})).unwrap().max_tokens, 0);
        for (members, param) in [
            (json!({"best_of": 2}), "best_of"),
            (json!({"echo": true, "suffix": "x"}), "echo"),
            (json!({"logprobs": true}), "logprobs"),
            (json!({"logprobs": 21}), "logprobs"),
            (json!({"max_tokens": -1}), "max_tokens"),
            (json!({"prompt": null}), "prompt"),
        ] {
            assert_eq!(read(&members).unwrap_err().param(), param);
        }
    }
}
