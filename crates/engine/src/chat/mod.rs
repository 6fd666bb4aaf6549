//! Chat calls: request parsing, and conversion into generation requests for the decoding thread.

mod messages;
mod request;

pub(crate) use request::{ChatRequest, OutputFormat, StreamOptions, count, object, sampling, stops, stream};

use crate::decode::GenerationRequest;
use crate::error::RequestError;
use crate::long_text::least_tokens;
use crate::model::Model;
use crate::model::constraint::Constraints;
use crate::sampling::{Sampler, Sampling};
use crate::tools::{Syntax, ToolCallReader, ToolChoice};
use llama_cpp_2::token::LlamaToken;

/// The member with the prompt.
const PROMPT: &str = "messages";

/// One generation request per choice. Rejects calls that do not fit, before any computation.
pub(crate) fn generation_requests(
    request: &ChatRequest,
    model: &Model,
) -> Result<Vec<GenerationRequest>, RequestError> {
    let syntax = model.template.syntax();
    let prompt = prompt_tokens(request, model)?;
    let max_new = max_new_tokens(prompt.len(), request.max_tokens, model.context_length, PROMPT)?;
    let constraint = match &request.format {
        OutputFormat::Text if request.tools.choice == ToolChoice::Forced => {
            Some(constraints(model, "tool_choice")?.call(syntax, &request.tools.functions)?)
        }
        OutputFormat::Text => None,
        OutputFormat::JsonObject => Some(constraints(model, "response_format")?.object()?),
        OutputFormat::JsonSchema(schema) => {
            let constraints = constraints(model, "response_format")?;
            Some(constraints.schema(schema, "response_format.json_schema.schema")?)
        }
    };
    check_biases(&request.sampling, model)?;
    let request_for = |prompt: Vec<LlamaToken>, index| GenerationRequest {
        sampler: Sampler::new(&request.sampling, model.llama(), &prompt, constraint.as_ref(), index),
        prompt,
        salt: request.cache_salt.clone(),
        max_new,
        stops: stop_strings(request, syntax),
        logprobs: request.logprobs,
        scores_prompt: false,
        scores_end: false,
    };
    Ok((0..request.choices).map(|index| request_for(prompt.clone(), index)).collect())
}

/// The tokens of the prompt.
pub(crate) fn prompt_tokens(request: &ChatRequest, model: &Model) -> Result<Vec<LlamaToken>, RequestError> {
    if !request.tools.is_empty() && !model.template.supports_tools() {
        return Err(RequestError::unsupported("tools", "the chat template of this model does not support them"));
    }
    check_length(request, model.context_length)?;
    let mut prompt = model.template.render(&request.messages, &request.tools.definitions, &request.template_extras)?;
    if request.tools.choice == ToolChoice::Forced {
        prompt.push_str(model.template.syntax().opening());
    }
    // After the generation prompt, so that the model is in the state in which it wrote the beginning.
    prompt.push_str(&request.beginning);
    fits(least_tokens(prompt.len()), model.context_length)?;
    if model.has_long_run(&prompt) {
        return Err(RequestError::long_run("messages"));
    }
    Ok(model.tokenize_prompt(&prompt))
}

/// Rejects a prompt that cannot fit, before it is rendered and tokenized.
fn check_length(request: &ChatRequest, limit: usize) -> Result<(), RequestError> {
    let bytes: usize = request.messages.iter().filter_map(|message| message["content"].as_str()).map(str::len).sum();
    fits(least_tokens(bytes).max(request.messages.len()), limit)
}

fn fits(prompt: usize, limit: usize) -> Result<(), RequestError> {
    if prompt > limit { Err(RequestError::PromptTooLong { limit, prompt, param: PROMPT }) } else { Ok(()) }
}

/// Reader for tool calls in the output; `None` without tools.
pub(crate) fn reader(request: &ChatRequest, model: &Model) -> Option<ToolCallReader> {
    let tools = &request.tools;
    let max_calls = if tools.parallel { usize::MAX } else { 1 };
    match tools.choice {
        ToolChoice::Free if tools.is_empty() => None,
        ToolChoice::Free => Some(ToolCallReader::new(model.template.syntax(), &tools.functions, max_calls)),
        // The opening tag is part of the prompt.
        ToolChoice::Forced => Some(ToolCallReader::new(Syntax::Bare, &tools.functions, 1)),
    }
}

/// Stop strings: those of the caller, and the end of the first call if parallel calls are disabled.
fn stop_strings(request: &ChatRequest, syntax: Syntax) -> Vec<String> {
    let mut stops = request.stops.clone();
    if !request.tools.is_empty() && !request.tools.parallel {
        stops.extend(syntax.closing().map(str::to_owned));
    }
    stops
}

fn constraints<'model>(model: &'model Model, param: &str) -> Result<&'model Constraints, RequestError> {
    let reason = "the vocabulary of this model does not support constrained output";
    model.constraints().ok_or_else(|| RequestError::unsupported(param, reason))
}

/// Maximum tokens to generate. A limit that does not fit after the prompt, the member `param`, is rejected, not lowered.
pub(crate) fn max_new_tokens(
    prompt: usize,
    requested: Option<usize>,
    limit: usize,
    param: &'static str,
) -> Result<usize, RequestError> {
    let room = limit.saturating_sub(prompt);
    if prompt > limit || (room == 0 && requested != Some(0)) {
        return Err(RequestError::PromptTooLong { limit, prompt, param });
    }
    match requested {
        None => Ok(room),
        Some(requested) if requested <= room => Ok(requested),
        Some(requested) => Err(RequestError::CompletionTooLong { limit, prompt, requested }),
    }
}

pub(crate) fn check_biases(sampling: &Sampling, model: &Model) -> Result<(), RequestError> {
    let vocabulary = model.llama().n_vocab();
    match sampling.logit_bias.iter().find(|(token, _)| *token >= vocabulary) {
        None => Ok(()),
        Some((token, _)) => {
            let problem = format!("is not a token of this model, which has {vocabulary} tokens");
            Err(RequestError::invalid(format!("logit_bias.{token}"), problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::error::RequestError;

    #[test]
    fn a_limit_that_does_not_fit_after_the_prompt_is_rejected() {
        let max_new_tokens = |prompt, requested, limit| super::max_new_tokens(prompt, requested, limit, "prompt");
        assert_eq!(max_new_tokens(10, None, 100), Ok(90));
        assert_eq!(max_new_tokens(100, Some(0), 100), Ok(0));
        assert_eq!(max_new_tokens(10, Some(90), 100), Ok(90));
        assert_eq!(
            max_new_tokens(10, Some(91), 100),
            Err(RequestError::CompletionTooLong { limit: 100, prompt: 10, requested: 91 })
        );
        let too_long = |prompt| Err(RequestError::PromptTooLong { limit: 100, prompt, param: "prompt" });
        assert_eq!(max_new_tokens(100, None, 100), too_long(100));
        assert_eq!(max_new_tokens(101, Some(0), 100), too_long(101));
    }
}
