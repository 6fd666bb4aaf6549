//! Completions of prompts: request parsing, and conversion into generation requests for the decoding thread.

mod request;

pub(crate) use request::{CompletionRequest, Prompt, token_ids};

use crate::chat::{check_biases, max_new_tokens};
use crate::decode::GenerationRequest;
use crate::error::RequestError;
use crate::long_text::least_tokens;
use crate::model::Model;
use crate::sampling::Sampler;
use llama_cpp_2::token::LlamaToken;

/// The member with the prompts.
const PROMPT: &str = "prompt";

/// The tokens of each prompt.
pub(crate) fn prompts(request: &CompletionRequest, model: &Model) -> Result<Vec<Vec<LlamaToken>>, RequestError> {
    let suffix = request.suffix.as_deref();
    request.prompts.iter().map(|prompt| prompt_tokens(prompt, suffix, model)).collect()
}

/// One generation request per choice, prompt after prompt. Rejects calls that do not fit, before any computation.
pub(crate) fn generation_requests(
    request: &CompletionRequest,
    prompts: &[Vec<LlamaToken>],
    model: &Model,
) -> Result<Vec<GenerationRequest>, RequestError> {
    check_biases(&request.sampling, model)?;
    let mut requests = Vec::with_capacity(prompts.len() * request.choices);
    for prompt in prompts {
        let max_new = max_new_tokens(prompt.len(), Some(request.max_tokens), model.context_length, PROMPT)?;
        for index in 0..request.choices {
            requests.push(GenerationRequest {
                sampler: Sampler::new(&request.sampling, model.llama(), prompt, None, index),
                prompt: prompt.clone(),
                salt: request.cache_salt.clone(),
                max_new,
                stops: request.stops.clone(),
                logprobs: request.logprobs,
                scores_prompt: request.scores_prompts(),
                scores_end: true,
            });
        }
    }
    Ok(requests)
}

fn prompt_tokens(prompt: &Prompt, suffix: Option<&str>, model: &Model) -> Result<Vec<LlamaToken>, RequestError> {
    let tokens = match prompt {
        Prompt::Text(text) => text_tokens(text, PROMPT, model)?,
        Prompt::Tokens(tokens) => known_tokens(tokens, PROMPT, model)?,
    };
    let tokens = match suffix {
        None => tokens,
        Some(suffix) => around(&tokens, &text_tokens(suffix, "suffix", model)?, model)?,
    };
    if tokens.is_empty() {
        return Err(RequestError::invalid(PROMPT, "has no tokens"));
    }
    Ok(tokens)
}

/// The tokens of a text, with the special ones that the model expects.
pub(crate) fn text_tokens(text: &str, param: &'static str, model: &Model) -> Result<Vec<LlamaToken>, RequestError> {
    let (limit, least) = (model.context_length, least_tokens(text.len()));
    if least > limit {
        return Err(RequestError::PromptTooLong { limit, prompt: least, param });
    }
    if model.has_long_run(text) {
        return Err(RequestError::long_run(param));
    }
    Ok(model.tokenize_prompt(text))
}

/// Token ids of a client, if the model has them.
pub(crate) fn known_tokens(ids: &[i32], param: &str, model: &Model) -> Result<Vec<LlamaToken>, RequestError> {
    let count = model.llama().n_vocab();
    match ids.iter().find(|id| !(0..count).contains(*id)) {
        None => Ok(ids.iter().copied().map(LlamaToken).collect()),
        Some(id) => Err(RequestError::invalid(param, format!("has the id {id}, but the model has {count} tokens"))),
    }
}

/// The prompt of a model that fills in what is between a prefix and a suffix.
fn around(prefix: &[LlamaToken], suffix: &[LlamaToken], model: &Model) -> Result<Vec<LlamaToken>, RequestError> {
    let vocabulary = model.vocabulary();
    let marks = [vocabulary.fim_pre(), vocabulary.fim_suf(), vocabulary.fim_mid()];
    if marks.iter().any(|mark| mark.0 < 0) {
        return Err(RequestError::unsupported("suffix", "the vocabulary of this model has no tokens to fill in text"));
    }
    let [before, after, middle] = marks;
    let bos = vocabulary.bos();
    let without_bos = |tokens: &[LlamaToken]| tokens.strip_prefix(&[bos]).unwrap_or(tokens).to_vec();
    let start: &[LlamaToken] = if vocabulary.should_add_bos() { &[bos] } else { &[] };
    Ok([start, &[before], &without_bos(prefix), &[after], &without_bos(suffix), &[middle]].concat())
}
